"""Edits of others' sources, which name no more of them than finds the place.

An edit that does not match as often as it says fails; a line of a sed script fails if it changes nothing.
"""

import difflib
import re
import shutil

from parts.shell import ROOT, call, fail


class Source:
    """A copy of a source that is edited."""

    def __init__(self, folder):
        self.folder = folder
        self.before = {}

    def substitute(self, path, pattern, text, count=1):
        """Puts `text` in place of what the pattern matches, `count` times in the file."""
        file = self.folder / path
        old = file.read_text()
        self.before.setdefault(path, old)
        new, found = re.subn(pattern, text, old, flags=re.MULTILINE)
        if found != count:
            fail(f"{path}: {pattern!r} matches {found} times, not {count}")
        file.write_text(new)

    def after(self, path, pattern, text):
        """Adds lines behind the line that the pattern matches in."""
        self.substitute(path, rf"^(?=.*{pattern}).*\n", lambda match: match[0] + text)

    def sed(self, script, *paths):
        """Runs a script of sed's extended expressions, one a line."""
        for path in paths:
            self.before.setdefault(path, (self.folder / path).read_text())
        for line in script.read_text().splitlines():
            if line.strip() and not line.startswith("#"):
                old = [(self.folder / path).read_text() for path in paths]
                call("sed", "-E", "-i", line, *paths, cwd=self.folder)
                if old == [(self.folder / path).read_text() for path in paths]:
                    fail(f"{', '.join(paths)}: {line!r} changes nothing")

    def add(self, file, path):
        """Adds a file of ours."""
        self.before.setdefault(path, "")
        shutil.copyfile(file, self.folder / path)

    def remove(self, *paths):
        """Removes files that the crate no longer has as modules."""
        for path in paths:
            self.before.setdefault(path, (self.folder / path).read_text())
            (self.folder / path).unlink()

    def depend(self, features=()):
        """Has the crate depend on the library."""
        listed = ", ".join(f'"{it}"' for it in features)
        text = f'\n[dependencies.tenure]\npath = "{ROOT}/crates/tenure"\nfeatures = [{listed}]\n'
        self.before.setdefault("Cargo.toml", (self.folder / "Cargo.toml").read_text())
        with open(self.folder / "Cargo.toml", "a") as file:
            file.write(text)

    def counts(self):
        """Lines added and removed."""
        added = removed = 0
        for path, old in self.before.items():
            file = self.folder / path
            new = file.read_text() if file.exists() else ""
            lines = difflib.unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm="")
            lines = [line for line in lines if not line.startswith(("---", "+++", "@@"))]
            added += sum(line.startswith("+") for line in lines)
            removed += sum(line.startswith("-") for line in lines)
        return added, removed
