# SPDX-License-Identifier: Apache-2.0
"""The initial RAM file system of a test machine.

It has two parts, which the kernel unpacks one over the other:
 - the base: Debian's programs and the kernel's modules. Slow to make, so it is
   kept in the cache under a hash of everything that went in;
 - the build: ds.ko, our programs, libraries and tests.
A third archive is a disk of the machine: programs with so many libraries that
each boot would take half a second longer. A stub unpacks it on first use.
"""
import contextlib
import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile

from cpio import Cpio
from kernel import add_modules

HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY_FOLDER = "/usr/lib/x86_64-linux-gnu"

PROGRAMS = """
    bash dash ip rdma tc bridge ss kmod nvme timeout sha256sum sha1sum md5sum
    cmp numfmt stdbuf taskset flock ethtool strace ps pgrep pkill
    ibv_devices ibv_devinfo ib_write_bw ib_read_bw ib_send_bw ib_read_lat ib_write_lat
    ib_send_lat ib_atomic_bw ib_atomic_lat rping
""".split()
HEAVY_PROGRAMS = ["fio", "redis-check-rdb", "redis-benchmark", "redis-cli"]

# Names of modules, or folders of them below kernel/. What they need comes along.
MODULES = """
    virtio_pci virtio_net virtio_console virtio_rng virtio_blk 9pnet_virtio 9p
    crc32-pclmul crc32_generic libcrc32c crc32c-intel crc32c_generic rdma_rxe rdma_ucm ib_uverbs ib_umad
    drivers/infiniband/core/ drivers/infiniband/sw/
    nvme-rdma nvmet-rdma nvme-fabrics nvmet loop brd null_blk
    sch_netem sch_tbf sch_prio configfs
    sha256_generic sha256-ssse3 hmac crypto_user
""".split()


class ImageError(Exception):
    """A message for the user, with a remedy."""


def key_of(paths, *words):
    """A hash that changes when a file's size or time or one of the words does.
    Files of the cache go in as words: their names are hashes, their times change."""
    digest = hashlib.sha256("\0".join(words).encode())
    for path in sorted(set(paths)):
        info = os.stat(path)
        digest.update(f"\0{path} {info.st_size} {info.st_mtime_ns}".encode())
    return digest.hexdigest()[:24]


@contextlib.contextmanager
def locked(folder):
    """Nobody else makes or forgets files of the folder meanwhile."""
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def cached(path, make):
    """The file at path; make(temporary path) produces it if it is not there.
    Its time says when it was last used."""
    while True:
        try:
            os.utime(path)
            return path
        except FileNotFoundError:   # or just forgotten by somebody else
            with locked(os.path.dirname(path)):
                if not os.path.exists(path):
                    make(path + ".new")
                    os.rename(path + ".new", path)


def forget_old(folder, pattern, keep=6):
    """Keep only the files of a kind that were used last."""
    with locked(folder):
        files = glob.glob(os.path.join(folder, pattern))
        for path in sorted(files, key=os.path.getmtime)[:-keep]:
            os.unlink(path)


def libraries(programs, search=None):
    """The shared libraries that these programs load."""
    env = dict(os.environ, LC_ALL="C")
    if search:
        env["LD_LIBRARY_PATH"] = search
    found = set()
    for program in programs:
        with open(program, "rb") as file:
            if file.read(4) != b"\x7fELF":
                continue
        text = subprocess.run(["ldd", program], env=env, text=True, stderr=subprocess.STDOUT,
                              stdout=subprocess.PIPE).stdout
        missing = re.findall(r"^\s*(\S+) => not found", text, re.M)
        if missing:
            raise ImageError(f"{program} needs {missing[0]}, which is not on this machine: "
                             "run scripts/deps, then make")
        found.update(re.findall(r"(/\S+) \(0x", text))
    return found


def place(path):
    """Where a file of the host goes: its folder without links, as /lib is one."""
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))


def find_programs(names):
    """These programs and their libraries: {guest path: host path}."""
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/bin:/bin"
    files = {}
    for name in names:
        program = shutil.which(name, path=path)
        if not program:
            raise ImageError(f"the program {name} is missing: run 'scripts/deps vm'")
        files[f"/usr/bin/{name}"] = os.path.realpath(program)
    return files


def find_system_files():
    """What the machines copy from this host: two of {guest path: host path},
    for the base and for the heavy programs."""
    base = find_programs(PROGRAMS)
    for source in glob.glob("/etc/libibverbs.d/*") + glob.glob(LIBRARY_FOLDER + "/libibverbs/lib*rdmav*.so"):
        if re.search(r"/(rxe|siw)\.driver$|lib(rxe|siw)-", source):
            base[place(source)] = source
    heavy = find_programs(HEAVY_PROGRAMS)
    for files in base, heavy:
        files.update({place(library): library for library in libraries(list(files.values()))})
    return base, {path: source for path, source in heavy.items() if path not in base}


def system_files(cache):
    """The same, from the cache: ldd of dozens of programs takes a second.
    The answer holds until a package is installed."""
    key = key_of(["/var/lib/dpkg/status", os.path.join(HERE, "image.py")], os.environ.get("PATH", ""))

    def make(target):
        with open(target, "w", encoding="utf-8") as file:
            json.dump(find_system_files(), file)
    with open(cached(os.path.join(cache, "images", f"files-{key}.json"), make), encoding="utf-8") as file:
        return json.load(file)


def add_busybox(cpio, taken):
    """busybox under all its names but those of the real programs."""
    busybox = shutil.which("busybox")
    if not busybox:
        raise ImageError("busybox is missing: run 'scripts/deps vm'")
    cpio.copy("usr/bin/busybox", busybox)
    applets = subprocess.run([busybox, "--list"], check=True, text=True, stdout=subprocess.PIPE).stdout
    for applet in sorted(set(applets.split()) - taken - {"busybox"}):
        cpio.link("usr/bin/" + applet, "busybox")


def make_base(kernel, files, chosen, agent, client, target):
    with open(target, "wb") as out:
        cpio = Cpio(out)
        for name in ("bin", "sbin", "lib", "lib64"):
            cpio.link(name, "usr/" + name)
        for name in ("dev", "proc", "sys", "run", "tmp", "root", "mnt", "etc", "usr/sbin", "var/tmp"):
            cpio.folder(name)
        for path, source in sorted(files.items()):
            cpio.copy(path, source)
        tools = ("modprobe", "insmod", "rmmod", "lsmod", "modinfo", "depmod")
        for name in tools:
            cpio.link("usr/sbin/" + name, "../bin/kmod")
        cpio.copy("usr/bin/lost-memory", os.path.join(HERE, "lost-memory.sh"))
        # The shell must not be busybox's, which prefers its applets to the real programs.
        cpio.link("usr/bin/sh", "dash")
        for name in HEAVY_PROGRAMS:
            cpio.copy("usr/bin/" + name, os.path.join(HERE, "heavy.sh"))
        add_busybox(cpio, {os.path.basename(path) for path in files} | {"sh", *tools, *HEAVY_PROGRAMS})
        add_modules(cpio, kernel, chosen)
        cpio.copy("boot/vmlinuz", kernel.image)
        cpio.link("vmlinuz", "boot/vmlinuz")
        cpio.copy("usr/sbin/dsagent", agent)
        for name in ("on", "vm"):
            cpio.copy("usr/bin/" + name, client)
        cpio.copy("init", os.path.join(HERE, "init.sh"))
        cpio.close()


def make_heavy(files, target):
    with open(target, "wb") as out:
        cpio = Cpio(out)
        # Programs come last: when one is there, its libraries are.
        for path in sorted(files, key=lambda path: path.startswith("/usr/bin/")):
            cpio.copy(path, files[path])
        cpio.close()


def images(cache, kernel, agent, client, extra_modules):
    """Paths of the base and of the heavy programs, made if they are not in the cache."""
    files, heavy = system_files(cache)
    chosen = kernel.modules(MODULES + extra_modules)
    sources = list(files.values()) + [kernel.image]
    sources += [os.path.join(HERE, name) for name in ("image.py", "kernel.py", "cpio.py")]
    sources += glob.glob(os.path.join(HERE, "*.sh"))
    sources += [os.path.join(kernel.tree, path) for path in chosen]
    folder = os.path.join(cache, "images")
    base = cached(f"{folder}/base-{kernel.release}-{key_of(sources, agent, client, *sorted(files), *chosen)}.cpio",
                  lambda target: make_base(kernel, files, chosen, agent, client, target))
    disk = cached(f"{folder}/heavy-{key_of(heavy.values(), *sorted(heavy))}.cpio",
                  lambda target: make_heavy(heavy, target))
    for pattern in (f"base-{kernel.release}-*.cpio", "heavy-*.cpio", "files-*.json"):
        forget_old(folder, pattern)
    return base, disk


def build_products(build):
    """Our own programs, libraries and tests: {guest path: host path}. Unit tests stay out: they need no machine."""
    files = {}
    for part in ("bin", "lib", "tests"):
        for folder, folders, names in os.walk(os.path.join(build, part)):
            folders[:] = [name for name in folders if not name.startswith("unit")]
            for name in names:
                source = os.path.join(folder, name)
                if os.path.isfile(source) and (os.access(source, os.X_OK) or ".so" in name):
                    files["/ds/" + os.path.relpath(source, build)] = source
    return files


def stripped(source, target):
    """A copy of a program without debug information, which would fill a machine's memory."""
    done = subprocess.run(["strip", "--strip-debug", "-o", target, source],
                          stderr=subprocess.DEVNULL, check=False)
    return target if done.returncode == 0 else source  # a script, say


def initrd(cache, base, build, module):
    """The cached file that a machine starts from: the base and what the build made."""
    files = build_products(build)
    sources = list(files.values()) + ([module] if module else [])

    def make(target):
        own = os.path.join(build, "lib")
        libs = {place(path): path for path in libraries(files.values(), own)
                if not path.startswith(os.path.abspath(build) + "/")}
        shutil.copyfile(base, target)
        with open(target, "ab") as out:
            cpio = Cpio(out)
            for path, source in sorted(libs.items()):
                cpio.copy(path, source)
            with tempfile.TemporaryDirectory() as folder:
                for path, source in sorted(({**files, "/ds/ds.ko": module} if module else files).items()):
                    cpio.copy(path, stripped(source, os.path.join(folder, "stripped")))
            cpio.close()

    path = cached(os.path.join(cache, "images", f"initrd-{key_of(sources, base, *sorted(files))}.cpio"), make)
    forget_old(os.path.dirname(path), "initrd-*.cpio")
    return path
