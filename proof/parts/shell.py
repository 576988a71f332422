"""Commands, servers, and what is built once."""

import contextlib
import hashlib
import importlib.util
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
GIVEN = os.environ.get("TENURE")
# A name without a slash is looked for in PATH.
TENURE = os.path.abspath(shutil.which(GIVEN) or GIVEN) if GIVEN else str(TARGET / "release/tenure")
JOBS = f"-j{os.cpu_count()}"


def fail(message):
    sys.exit(f"{pathlib.Path(sys.argv[0]).stem}: {message}")


def call(*command, **options):
    """What a command prints. If it fails, so does the script."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", **options)
    except OSError as error:
        fail(f"{error.filename or words[0]}: {error.strerror}; proof/README.md says what a proof needs")
    if done.returncode != 0:
        fail(f"{' '.join(words)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def tenure():
    """The command; without TENURE a release build of this checkout."""
    if not GIVEN:
        call("cargo", "build", "--quiet", "--release", "--package", "tenure-cli", cwd=ROOT)
    return TENURE


def loaded(file):
    """The module of a folder's proof.py."""
    spec = importlib.util.spec_from_file_location(f"proof_{file.parent.name}", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def machine():
    """The machine that figures are of: its CPUs, and the compiler."""
    said = dict(line.split(":", 1) for line in call("lscpu", env={**os.environ, "LC_ALL": "C"}).splitlines() if ":" in line)
    model, over = (said.get(key, "").strip() for key in ("Model name", "Hypervisor vendor"))
    rustc = call("rustc", "--version").split()[1]
    kind = f"{os.cpu_count()} virtual CPUs" if over else f"{os.cpu_count()} CPUs"
    return f"{kind} ({', '.join(it for it in (model, over) if it)}), rustc {rustc}"


def need(*packages):
    """Installs packages of Debian's."""
    is_missing = lambda package: subprocess.run(["dpkg", "-s", package], capture_output=True).returncode != 0
    if missing := [package for package in packages if is_missing(package)]:
        # A fresh machine has no lists, or old ones.
        call("apt-get", "-qq", "update")
        call("apt-get", "install", "-qq", "--yes", "-oDPkg::Lock::Timeout=600", *missing)


def once(folder, make, key=""):
    """The folder, which `make` has filled. What an earlier call did not finish, or did with another key, is made anew."""
    done = folder.with_name(f"{folder.name}.done")
    if not done.exists() or done.read_text() != key:
        done.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        make(folder)
        done.write_text(key)
    return folder


def digest(*files):
    """A key that changes with the files."""
    return hashlib.sha256(b"".join(pathlib.Path(file).read_bytes() for file in files)).hexdigest()


def own_sources(folder):
    """What a proof consists of, but its page."""
    return sorted(file for file in folder.iterdir() if file.suffix in (".py", ".rs", ".sed"))


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def load_program():
    """The load generator of ci/programs."""
    source, program = ROOT / "ci/programs/load.rs", TARGET / "programs/load"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        program.parent.mkdir(parents=True, exist_ok=True)
        call("rustc", "--edition=2021", "-O", "-o", program, source)
    return program


def load(protocol, port, *options):
    """How many answers a server gives a second."""
    return float(call(load_program(), protocol, f"127.0.0.1:{port}", *options))


def processor_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def running(*command, port=None, **options):
    """A program, until the block ends. If it is a server, it listens."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([str(word) for word in command], **{**quiet, **options})
    try:
        while port:
            if process.poll() is not None:
                fail(f"{command[0]} did not start")
            with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield process.pid
    finally:
        process.kill()
        process.wait()
