"""Programs in C and C++, from the sources of Debian's packages. Each function builds one in a folder that has its source."""

import os
import pathlib
import re
import shutil
import subprocess

from parts.shell import JOBS, call, digest, fail, need, once


def source(package, folder, version=""):
    """The source that a package of Debian's was made of, without Debian's changes, if its version begins so. SOURCES names a directory
    to take it from."""
    fits = lambda name: name == version or name.startswith(f"{version}." if version else "")
    given = os.environ.get("SOURCES")
    if given and (found := sorted(pathlib.Path(given).glob(f"{package}-*/"))):
        if not fits(found[0].name.removeprefix(f"{package}-")):
            fail(f"{found[0]} is not of {package} {version}")
        shutil.copytree(found[0], folder, symlinks=True)
        return
    need("ca-certificates", "xz-utils")
    work = folder.parent
    lists = work / "lists"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    release = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.MULTILINE)[1]
    mirror = "deb-src http://deb.debian.org/debian"
    listed = work / "sources.list"
    listed.write_text(f"{mirror} {release} main\n{mirror}-security {release}-security main\n")
    apt = ["apt-get", "-qq", f"-oDir::Etc::SourceList={listed}", "-oDir::Etc::SourceParts=/dev/null"]
    apt += [f"-oDir::State::Lists={lists}", "-oAPT::Sandbox::User=root"]
    download = work / f"{package}.download"
    shutil.rmtree(download, ignore_errors=True)
    download.mkdir()
    call(*apt, "update")
    call(*apt, "source", "--download-only", "--only-source", package, cwd=download)
    packed = next(download.glob("*.orig.tar.*"))
    if not fits(packed.name.removeprefix(f"{package}_").split(".orig.")[0]):
        fail(f"{packed.name} is not of {package} {version}: the proof is for Debian 12")
    folder.mkdir(parents=True)
    call("tar", "xf", packed, "-C", folder, "--strip-components=1")


def built(package, folder, make, edit=None, key="", version=""):
    """The folder, with the package's source, which `make` has built there once. An edit is given the folder before. The key is that of
    the edit, and of a command that `make` runs the compiler under."""
    def fill(folder):
        source(package, folder, version)
        if edit:
            edit(folder)
        make(folder)

    # The compilers' flags are in this file.
    return once(folder, fill, f"{version} {digest(__file__)} {key}")


def make_memcached(folder, *under):
    need("gcc", "make", "libevent-dev")
    call("./configure", "CFLAGS=-O2 -g", cwd=folder)
    call("make", "clean", cwd=folder)
    call(*under, "make", JOBS, "memcached", cwd=folder)


def test_memcached(folder):
    """Runs those of its own tests that take seconds and want items and lists."""
    need("perl")
    call("make", JOBS, "memcached-debug", "timedrun", "testapp", "sizes", cwd=folder)
    tests = [f"t/{it}.t" for it in ("basic", "cas", "expirations", "flags", "incrdecr", "lru", "lru-crawler", "touch", "item_size_max")]
    tests = [it for it in tests if (folder / it).exists()]
    output = subprocess.run(["prove", "-Q", *tests], cwd=folder, capture_output=True, text=True, errors="replace").stdout
    ran, result = re.search(r"Tests=(\d+)", output), re.search(r"Result: (\w+)", output)
    return f"{ran[1] if ran else 0} tests in {len(tests)} files: {result[1] if result else 'no result'}"


def make_redis(folder):
    need("gcc", "make")
    call("make", JOBS, "MALLOC=libc", "BUILD_TLS=no", "redis-server", "redis-benchmark", cwd=folder / "src")


LEVELDB = ["-std=c++17", "-O2", "-g", "-DNDEBUG", "-DLEVELDB_PLATFORM_POSIX=1", "-I.", "-Iinclude", "-pthread"]


def make_leveldb(folder, *under):
    """db_bench, by a command that make runs under. Its own way builds the tests as well, which need more sources."""
    need("g++", "libgmock-dev")
    is_used = lambda path: not re.search(r"_test\.cc|leveldbutil|windows|^util/testutil", str(path))
    sources = [path for part in ("db", "table", "util") for path in (folder / part).glob("*.cc")]
    sources = [path.relative_to(folder) for path in sources]
    sources = [*filter(is_used, sources), "util/testutil.cc", "benchmarks/db_bench.cc"]
    objects = [f"{str(path).replace('/', '-')}.o" for path in sources]
    rules = "".join(f"{one}: {path}\n\tg++ {' '.join(LEVELDB)} -c -o $@ $<\n" for one, path in zip(objects, sources))
    (folder / "bench.mk").write_text(f"db_bench: {' '.join(objects)}\n\tg++ -pthread -o $@ $^\n{rules}")
    call(*under, "make", JOBS, "-f", "bench.mk", cwd=folder)


def test_leveldb(folder):
    """Runs those of its own tests that use tables in memory, but the longest."""
    need("libgtest-dev")
    objects = [it.name for it in sorted(folder.glob("*.o")) if not it.name.startswith("benchmarks")]
    passed = failed = 0
    for test in ("write_batch", "skiplist", "recovery", "corruption", "fault_injection"):
        program = folder / f"{test}_test"
        if not program.exists():
            call("g++", *LEVELDB, "-o", program, f"db/{test}_test.cc", "helpers/memenv/memenv.cc", *objects, "-lgmock", "-lgtest", cwd=folder)
        output = subprocess.run([program], cwd=folder, capture_output=True, text=True, errors="replace").stdout
        counts = [re.search(rf"\[  {word}  \] (\d+) test", output) for word in ("PASSED", "FAILED")]
        if not any(counts):
            fail(f"{program} has no totals:\n{output[-2000:]}")
        passed, failed = (sum_ + int(it[1] if it else 0) for sum_, it in zip((passed, failed), counts))
    return f"{passed} passed, {failed} failed"
