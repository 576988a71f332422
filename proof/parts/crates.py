"""Crates as they were released, copies of them, and programs that use a copy."""

import json
import os
import re
import shutil
import subprocess

from parts.edit import Source
from parts.shell import TARGET, TENURE, call, fail, once

WORK = TARGET / "proof"
PROFILE = "[workspace]\n[profile.release]\ndebug = true\n"


def released(name, version):
    """The source of a crate, which cargo fetches."""
    def make(folder):
        (folder / "src").mkdir(parents=True)
        (folder / "src/lib.rs").write_text("")
        (folder / "Cargo.toml").write_text(
            f'[package]\nname = "fetch"\nedition = "2021"\n[dependencies]\n{name} = "={version}"\n[workspace]\n')
        listed = json.loads(call("cargo", "metadata", "--format-version", "1", cwd=folder))
        ours = next(it for it in listed["packages"] if it["name"] == name and it["version"] == version)
        shutil.copytree(os.path.dirname(ours["manifest_path"]), folder / "released")

    return once(WORK / f"released/{name}-{version}", make) / "released"


def copied(name, version, folder, edit=None, key=""):
    """A copy that is a workspace of its own, and what an edit with that key changed there: lines added and removed."""
    counts = folder.with_name(f"{folder.name}.counts")

    def make(folder):
        shutil.copytree(released(name, version), folder)
        # The compiler is this machine's, not the one that the crate asks for.
        for file in ("Cargo.lock", "rust-toolchain", "rust-toolchain.toml"):
            (folder / file).unlink(missing_ok=True)
        source = Source(folder)
        if edit:
            edit(source)
        counts.write_text(json.dumps(source.counts()))
        # Cargo caps the lints of what it has fetched, but not of a copy: newer compilers refuse what those of the time did not.
        manifest = re.sub(r"^\[lints(?:\..*)?\]\n(?:[^\[\n].*\n|\n)*", "", (folder / "Cargo.toml").read_text(), flags=re.MULTILINE)
        manifest += '\n[lints.rust]\ndangerous_implicit_autorefs = "allow"\n[workspace]\n'
        (folder / "Cargo.toml").write_text(manifest)

    once(folder, make, f"{name} {version} {key}")
    return json.loads(counts.read_text())


def program(folder, name, source, dependencies):
    """A package with this main file."""
    (folder / "src").mkdir(parents=True, exist_ok=True)
    for file, to in [(source, "main.rs"), (source.parent.parent / "parts/timed.rs", "timed.rs")]:
        place = folder / "src" / to
        if not place.exists() or place.read_text() != file.read_text():
            shutil.copyfile(file, place)
    text = f'[package]\nname = "{name}"\nedition = "2021"\n[dependencies]\n{dependencies}\n{PROFILE}'
    (folder / "Cargo.toml").write_text(text)


def build(folder, name, instrumented=False, env=None):
    """The program of a package."""
    words = ["cargo", "build", "--quiet", "--release", "--target-dir", WORK / "target"]
    if not instrumented:
        call(*words, cwd=folder, env=env)
        return WORK / "target/release" / name
    done = subprocess.run([TENURE, "run", "--", *map(str, words)], cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        fail(f"{folder} cannot be built with its accesses instrumented:\n{done.stderr[-3000:]}")
    host = next(line.split()[1] for line in call("rustc", "-vV").splitlines() if line.startswith("host:"))
    return WORK / "target" / host / "release" / name


def bench(folder, name, features=()):
    """The program of a crate's own benchmark."""
    words = ["cargo", "bench", "--no-run", "--bench", name, "--message-format", "json", "--target-dir", WORK / "target"]
    words += ["--features", ",".join(features)]
    messages = [json.loads(line) for line in call(*words, cwd=folder).splitlines() if line.startswith("{")]
    # A copy, since another way's has the same name.
    made = next(it["executable"] for it in messages if it.get("executable") and it["target"]["name"] == name)
    kept = folder.parent / f"bench-{name}"
    shutil.copyfile(made, kept)
    kept.chmod(0o755)
    return kept
