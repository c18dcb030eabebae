# SPDX-License-Identifier: Apache-2.0
"""Archives that the kernel unpacks as its first file system."""
import os
import stat


class Cpio:
    """Writes an archive in the `newc` format."""

    def __init__(self, file):
        self.file = file
        self.inode = 0
        self.folders = {""}

    def _entry(self, name, mode, data=b"", length=None):
        self.inode += 1
        size = len(data) if length is None else length
        encoded = name.encode() + b"\0"
        fields = (self.inode, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, len(encoded), 0)
        self._put(b"070701" + b"".join(b"%08x" % field for field in fields) + encoded)
        self._put(data)

    def _put(self, data):
        self.file.write(data)
        self.file.write(b"\0" * (-len(data) % 4))

    def folder(self, name):
        name = name.strip("/")
        if name in self.folders:
            return
        self.folder(os.path.dirname(name))
        self.folders.add(name)
        self._entry(name, stat.S_IFDIR | 0o755)

    def link(self, name, target):
        self.folder(os.path.dirname(name))
        self._entry(name.strip("/"), stat.S_IFLNK | 0o777, target.encode())

    def data(self, name, data, mode=0o644):
        self.folder(os.path.dirname(name))
        self._entry(name.strip("/"), stat.S_IFREG | mode, data)

    def copy(self, name, source):
        with open(source, "rb") as file:
            self.data(name, file.read(), os.stat(source).st_mode & 0o777)

    def close(self):
        self._entry("TRAILER!!!", 0)
