"""Lists the public items of a crate from rustdoc's JSON, one a line, and compares the list with a file.

Usage: public_api.py JSON LIST [--update]

A line has the item's path and its signature as the source has it. An item with several paths is listed once, and its
other paths as `use` lines. Items that are `#[doc(hidden)]` are not in the JSON.
"""

import difflib
import json
import re
import sys
from pathlib import Path

MAX_TYPES = 42
TYPES = ("struct", "enum", "trait", "union", "type_alias")
MEMBERS = {"function", "assoc_const", "assoc_type", "struct_field", "variant", "constant"}


class Crate:
    def __init__(self, path):
        self.data = json.loads(Path(path).read_text())
        self.index = self.data["index"]
        self.lines, self.paths, self.types, self.macros = [], {}, {}, []
        self.module(self.item(self.data["root"]), [])

    def item(self, number):
        return self.index.get(str(number))

    def module(self, item, path):
        path = [*path, item["name"]]
        self.lines.append("mod " + "::".join(path))
        for number in item["inner"]["module"]["items"]:
            self.public(self.item(number), path)

    def public(self, item, path, name=None):
        if item is None or item["visibility"] != "public" and "use" not in item["inner"]:
            return
        (kind, inner), = item["inner"].items()
        if kind == "module":
            return self.module(item, path)
        if kind == "use":
            target = self.item(inner["id"])
            if inner["is_glob"] and target:
                for number in target["inner"]["module"]["items"]:
                    self.public(self.item(number), path)
            elif target:
                self.public(target, path, inner["name"])
            else:
                self.lines.append(f"use {'::'.join([*path, inner['name']])} = {inner['source']}")
                if inner["source"].startswith("tenure_derive"):
                    self.macros.append(inner["name"])
            return
        full = "::".join([*path, name or item["name"]])
        if item["id"] in self.paths:
            return self.lines.append(f"use {full} = {self.paths[item['id']]}")
        self.paths[item["id"]] = full
        if kind in TYPES:
            self.types.setdefault(full.rsplit("::", 1)[1], []).append(full)
        if "macro" in kind:
            self.macros.append(full)
        self.lines.append(f"{full}: {kind} {signature(item)}".rstrip())
        self.members(full, kind, inner)

    def members(self, full, kind, inner):
        numbers = []
        if kind == "struct":
            fields = inner["kind"]
            numbers = fields["plain"]["fields"] if isinstance(fields, dict) and "plain" in fields else []
        elif kind in ("enum", "union"):
            numbers = inner.get("variants") or inner.get("fields") or []
        elif kind == "trait":
            numbers = inner["items"]
        for number in numbers:
            self.member(full, self.item(number), kind)
        for number in inner.get("impls", []) if kind in ("struct", "enum", "union") else []:
            implementation = self.item(number)
            if implementation is None:
                continue
            of = implementation["inner"]["impl"]
            if of["is_synthetic"] or of["blanket_impl"]:
                continue
            if of["trait"]:
                header = signature(implementation)
                derived = f"impl {of['trait']['path']}"
                self.lines.append(f"{full}: {header if ' for ' in header and '$' not in header else derived}")
                continue
            for number in of["items"]:
                self.member(full, self.item(number), "impl")

    def member(self, full, item, of):
        if item and (item["visibility"] == "public" or of in ("trait", "enum")):
            (kind, _), = item["inner"].items()
            assert kind in MEMBERS, kind
            self.lines.append(f"{full}::{item['name']}: {signature(item)}")


def signature(item):
    """What the source has in front of the body."""
    span = item["span"]
    if span is None:
        return ""
    lines = Path(span["filename"]).read_text().splitlines()[span["begin"][0] - 1 : span["end"][0]]
    lines[0] = lines[0][span["begin"][1] - 1 :]
    text = " ".join(re.sub(r"//.*", "", line).strip() for line in lines)
    depth = 0
    for at, letter in enumerate(text):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if depth == 0 and letter in "{;":
            text = text[:at]
            break
    text = re.sub(r"^(#\[[^]]*\] ?)*", "", text)
    text = re.sub(r"\s+", " ", text).strip()
    return text.replace("( ", "(").replace(", )", ")").removesuffix(" where T: , ").rstrip(", ")


def main():
    source, listing, *options = sys.argv[1:]
    crate, listing = Crate(source), Path(listing)
    new = "".join(line + "\n" for line in sorted(set(crate.lines)))
    if "--update" in options:
        listing.write_text(new)
    old = listing.read_text() if listing.exists() else ""
    sys.stdout.writelines(difflib.unified_diff(old.splitlines(True), new.splitlines(True), str(listing), "now"))
    count = sum(len(paths) for paths in crate.types.values())
    # Each module may have its `Stats`.
    twice = {name: paths for name, paths in crate.types.items() if len(paths) > 1 and name != "Stats"}
    print(f"public_api: {count} types (at most {MAX_TYPES}), {len(set(crate.macros))} macros, {new.count(chr(10))} lines")
    for name, paths in sorted(twice.items()):
        print(f"public_api: two types are called {name}: {', '.join(paths)}")
    if "--types" in options:
        print(*sorted(path for paths in crate.types.values() for path in paths), sep="\n")
    if new != old:
        print("public_api: the face has changed; if that is wanted, run ci/public_api.sh --update and commit the list")
    sys.exit(new != old or count > MAX_TYPES or bool(twice))


main()
