"""Checks that imports run downward: of two modules with the same parent, at most one uses the other.

Reads the source: module declarations, `use`, and paths that start with `crate`, `self` or `super`. Names that a module
re-exports count as the module that defines them. Test modules are left out. `ci/imports.sh` says how it is run.

Not seen: what comes by a glob (`use b::*`), through an inherent method, a type alias of the parent, or a macro.
"""

import re
import sys
from pathlib import Path

COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|r#"(.*?)"#|b?"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', re.S)
TEST = re.compile(r"#\[cfg\((?:test|all\(test[^\]]*)\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*([;{])")
MOD = re.compile(r'(?:#\[path\s*=\s*"([^"]+)"\]\s*)?(?:pub(?:\([^)]*\))?\s+)?\bmod\s+(\w+)\s*;')
USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);", re.S)
PATH = re.compile(r"\b((?:crate|self|super)(?:::\w+)+)")


def braces(text, start):
    """The index behind the block that opens at `start`."""
    depth = 0
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return at + 1
    return len(text)


def without_tests(text):
    """The text without test modules."""
    while found := TEST.search(text):
        end = found.end() if found[2] == ";" else braces(text, found.end() - 1)
        text = text[: found.start()] + text[end:]
    return text


def leaves(tree):
    """The paths of a `use` tree, each with the name that it gets."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        path, _, name = tree.partition(" as ")
        path = path.strip().split("::")
        if path[-1] == "self":
            path.pop()
        return [(path, name.strip() or path[-1])]
    prefix = [part for part in tree[:brace].split("::") if part]
    result, depth, start = [], 0, brace + 1
    for at in range(brace, len(tree)):
        depth += {"{": 1, "}": -1}.get(tree[at], 0)
        if (tree[at] == "," and depth == 1) or depth == 0:
            if part := tree[start:at].strip():
                result += [(prefix + path, name) for path, name in leaves_of(part, prefix)]
            start = at + 1
            if depth == 0:
                break
    return result


def leaves_of(part, prefix):
    if part == "self" or part.startswith("self as "):
        return [([], part.partition(" as ")[2].strip() or prefix[-1])]
    return leaves(part)


class Crate:
    def __init__(self, root):
        self.texts, self.exports, self.uses = {}, {}, {}
        self.read(root, root.parent, ())

    def read(self, file, directory, module):
        text = COMMENT.sub(lambda found: '""' if found[0][0] in "\"'br" else " ", file.read_text())
        paths = {name: path for path, name in MOD.findall(file.read_text())}
        text = without_tests(text)
        self.texts[module] = (file, text)
        for _, name in MOD.findall(text):
            if path := paths.get(name):
                self.read(file.parent / path, (file.parent / path).parent, (*module, name))
            elif (plain := directory / f"{name}.rs").exists():
                self.read(plain, directory / name, (*module, name))
            elif (inner := directory / name / "mod.rs").exists():
                self.read(inner, directory / name, (*module, name))
            else:
                sys.exit(f"imports: {file} declares `mod {name}`, and there is no such file")

    def absolute(self, module, path):
        """The path from the crate's root, or `None` if it leads out of the crate."""
        base = module
        if path[0] == "crate":
            base, path = (), path[1:]
        elif path[0] == "self":
            path = path[1:]
        elif path[0] == "super":
            while path and path[0] == "super":
                base, path = base[:-1], path[1:]
        elif (*module, path[0]) not in self.texts:
            return None
        return (*base, *path)

    def find_exports(self):
        for module, (_, text) in self.texts.items():
            names = self.exports.setdefault(module, {})
            self.uses[module] = []
            for _, tree in USE.findall(text):
                for path, name in leaves(tree):
                    target = self.absolute(module, path)
                    if target is not None:
                        self.uses[module].append(target)
                        names[name] = target
            for path in PATH.findall(USE.sub(" ", text)):
                self.uses[module].append(self.absolute(module, path.split("::")))

    def defines(self, path, depth=0):
        """The module that defines what the path names."""
        module = ()
        for at, name in enumerate(path):
            if (*module, name) in self.texts:
                module = (*module, name)
                continue
            target = self.exports.get(module, {}).get(name)
            if target is None or depth > 8 or target == path:
                return module
            return self.defines((*target, *path[at + 1 :]), depth + 1)
        return module

    def edges(self):
        """Which module uses which, of those with the same parent, and where."""
        edges = {}
        for module, targets in self.uses.items():
            for target in targets:
                target = self.defines(target)
                common = 0
                while common < min(len(module), len(target)) and module[common] == target[common]:
                    common += 1
                if common < len(module) and common < len(target):
                    pair = (module[: common + 1], target[: common + 1])
                    edges.setdefault(pair, []).append((module, target))
        return edges


def cycles(edges):
    """Groups of modules each of which uses the others, at one remove or more."""
    graph = {}
    for user, used in edges:
        graph.setdefault(user, set()).add(used)

    def reach(start):
        seen, left = set(), [start]
        while left:
            for following in graph.get(left.pop(), ()):
                if following not in seen:
                    seen.add(following)
                    left.append(following)
        return seen

    reached = {module: reach(module) for module in graph}
    groups = {
        frozenset(other for other in reached[module] if module in reached.get(other, ()))
        for module in graph
        if module in reached[module]
    }
    return sorted(sorted(group) for group in groups)


def main():
    bad = 0
    for root in sorted(Path("crates").glob("*/src/lib.rs")) + sorted(Path("crates").glob("*/src/main.rs")):
        if root.name == "main.rs" and (root.parent / "lib.rs").exists():
            continue
        crate = Crate(root)
        crate.find_exports()
        edges = crate.edges()
        for group in cycles(edges):
            bad += 1
            name = root.parent.parent.name
            print(f"{name}: {', '.join('::'.join(module) for module in group)} use each other:")
            for (user, used), found in sorted(edges.items()):
                if user in group and used in group:
                    where = sorted({f"{crate.texts[m][0].relative_to(root.parent)} -> {'::'.join(t)}" for m, t in found})
                    more = f" and {len(where) - 3} more" if len(where) > 3 else ""
                    print(f"    {user[-1]} -> {used[-1]}: {'; '.join(where[:3])}{more}")
    sys.exit(1 if bad else 0)


main()
