# SPDX-License-Identifier: Apache-2.0
"""Takes the kernel out of its compressed image.

QEMU can start an uncompressed kernel that has a PVH entry. That spares each
boot the decompression, seconds of it under TCG.
"""
import lzma
import shutil
import struct
import subprocess

XEN_ELFNOTE_PHYS32_ENTRY = 18
PT_NOTE = 4


def payload(image):
    """The decompressed payload of a bzImage, or None when we cannot tell or decompress it."""
    if image[0x202:0x206] != b"HdrS" and image[0x1fe:0x200] != b"\x55\xaa":
        return None
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = ((image[0x1f1] or 4) + 1) * 512 + offset
    data = image[start:start + length]
    if data[:6] == b"\xfd7zXZ\0":
        return lzma.LZMADecompressor().decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd" and shutil.which("zstd"):
        # The last four bytes are the size, not part of the stream.
        done = subprocess.run(["zstd", "-dcq"], input=data[:-4], stdout=subprocess.PIPE)
        return done.stdout if done.returncode == 0 else None
    return None


def has_pvh_entry(elf):
    """Whether QEMU can start this ELF kernel."""
    if elf[:5] != b"\x7fELF\x02":
        return False
    table, = struct.unpack_from("<Q", elf, 32)
    size, count = struct.unpack_from("<HH", elf, 54)
    for header in range(table, table + size * count, size):
        kind, = struct.unpack_from("<I", elf, header)
        offset, = struct.unpack_from("<Q", elf, header + 8)
        length, = struct.unpack_from("<Q", elf, header + 32)
        end = offset + length
        while kind == PT_NOTE and offset + 12 <= end:
            name_size, desc_size, note = struct.unpack_from("<III", elf, offset)
            if note == XEN_ELFNOTE_PHYS32_ENTRY and elf[offset + 12:offset + 15] == b"Xen":
                return True
            offset += 12 + (name_size + 3 & ~3) + (desc_size + 3 & ~3)
    return False


def extract(source, target):
    """Write what QEMU shall start: the kernel itself, or the image as it is."""
    with open(source, "rb") as file:
        image = file.read()
    kernel = payload(image)
    with open(target, "wb") as file:
        file.write(kernel if kernel and has_pvh_entry(kernel) else image)
