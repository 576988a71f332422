"""What can be wrong with one place of a Rust source: mutations, found in the text, and written into it so that a running
program switches to one of them.

A mutation is text before a place and text after it, in which SWITCH stands for a condition: whether this one is on. Those
of a file nest, so all of them are in it at once, in one build (`written`). `SELECT` is the function that the
condition calls; it goes by the environment variable TENURE_MUTANT. Where that cannot be called, as in a `const fn`, a
mutation has a build of its own, in which its condition is `true`.
"""

import re
from typing import NamedTuple

SWITCH = "\0"
VARIABLE = "TENURE_MUTANT"

# Allocates nothing and takes no lock: it runs in allocators, signal handlers and the children of forks.
SELECT = f"""
#[doc(hidden)]
#[allow(missing_docs, clippy::all)]
#[inline(always)]
pub fn __mutant(number: u32) -> bool {{
    use core::sync::atomic::{{AtomicU32, Ordering::Relaxed}};
    /// The number; 0: not asked yet.
    static SELECTED: AtomicU32 = AtomicU32::new(0);
    #[cold]
    fn ask() -> u32 {{
        unsafe extern "C" {{
            fn getenv(name: *const u8) -> *const u8;
        }}
        let mut selected = 0;
        unsafe {{
            let mut digit = getenv(c"{VARIABLE}".as_ptr().cast());
            while !digit.is_null() && *digit != 0 {{
                selected = selected * 10 + (*digit - b'0') as u32;
                digit = digit.add(1);
            }}
        }}
        let selected = if selected == 0 {{ u32::MAX }} else {{ selected }};
        SELECTED.store(selected, Relaxed);
        selected
    }}
    let selected = SELECTED.load(Relaxed);
    number == if selected == 0 {{ ask() }} else {{ selected }}
}}
"""


class Mutation(NamedTuple):
    start: int
    end: int
    before: str
    after: str
    how: str


# --- text ---


def blanked(text):
    """The text with comments, strings and characters replaced by spaces, and without unit tests."""
    token = re.compile(
        r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|\'(?:\\.[^\']*|[^\'\\])\'', re.S
    )
    text = token.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    unit_tests = re.search(r"#\[cfg\([^]]*\btest\b[^]]*\)\]\s*mod \w+ \{", text)
    return text[: unit_tests.start()] if unit_tests else text


OPENS, CLOSES = "([{", ")]}"


def matching(code, start, closes):
    """Where the brackets that are open at `start` are closed, or `closes` is found outside of any."""
    depth = 0
    for at in range(start, len(code)):
        if depth == 0 and code[at] in closes:
            return at
        depth += (code[at] in OPENS) - (code[at] in CLOSES)
    return len(code)


def operands(condition):
    """The operands of `&&` or `||` at the top of a condition: the operator, and where each of them is."""
    for operator in ("||", "&&"):
        ends, at, depth = [], 0, 0
        while at < len(condition):
            depth += (condition[at] in OPENS) - (condition[at] in CLOSES)
            if depth == 0 and condition.startswith(operator, at):
                ends.append(at)
                at += 1
            at += 1
        if ends:
            return operator, list(zip([0] + [end + 2 for end in ends], ends + [len(condition)]))
    return None, []


def stripped(code, start, end):
    text = code[start:end]
    return start + len(text) - len(text.lstrip()), end - len(text) + len(text.rstrip())


# --- mutations ---


def of_orderings(code):
    for found in re.finditer(r"\bOrdering::(Acquire|Release|AcqRel|SeqCst)\b", code):
        statement = re.search(r"\b(?:compiler_)?fence\(\s*$", code[: found.start()])
        if statement:
            end = matching(code, found.end(), ")") + 1
            yield Mutation(statement.start(), end, f"if !{SWITCH} {{ ", " }", "no fence")
        elif re.search(r"(?:=>|\|)\s*$", code[: found.start()]):
            continue
        else:
            weaker = ("Acquire", "Release") if found[1] == "AcqRel" else ("Relaxed",)
            for to in weaker:
                before = f"if {SWITCH} {{ Ordering::{to} }} else {{ "
                yield Mutation(*found.span(), before, " }", f"{found[1]} to {to}")


def of_condition(code, start, end, can_hold=True):
    """Never and always; and without each operand."""
    start, end = stripped(code, start, end)
    yield Mutation(start, end, "((", f") && !{SWITCH})", "never")
    if can_hold:
        yield Mutation(start, end, "((", f") || {SWITCH})", "always")
    operator, parts = operands(code[start:end])
    for number, (first, last) in enumerate(parts, 1):
        neutral = f"({SWITCH} || (" if operator == "&&" else f"(!{SWITCH} && ("
        span = stripped(code, start + first, start + last)
        yield Mutation(*span, neutral, "))", f"without operand {number}")


def of_checks(code):
    """Of `if`, `while` and guards of matches."""
    for found in re.finditer(r"\b(if|while)\s+(?!let\b)", code):
        start, end = found.end(), matching(code, found.end(), "{")
        while re.search(r"\bunsafe\s*$", code[start:end]):
            end = matching(code, matching(code, end + 1, "}") + 1, "{")
        # What the match arm's arrow comes after is a guard, whose body may have no brackets.
        arrow = code.find("=>", start, end)
        end = arrow if arrow >= 0 else end
        if not code[start:end].strip() or "let " in code[start:end]:
            continue
        body = code[end : matching(code, end + 1, "}")]
        # A loop that nothing else ends would only hang.
        can_hold = found[1] == "if" or bool(re.search(r"\b(return|break)\b", body))
        yield from of_condition(code, start, end, can_hold)


COMPARISON = r"(?<=[\w)\]}] )(?:==|!=|<=|>=|<|>|&&|\|\|)(?= )|^\s*(?:==|!=|<=|>=|&&|\|\|) "


def of_values(code, checks):
    """Of comparisons, `&&` and `||` that are a value: of a closure, say, or of a function."""
    covered = [(found.start, found.end) for found in checks]
    for asserted in re.finditer(r"\b\w*assert\w*!\(", code):
        covered.append((asserted.end(), matching(code, asserted.end(), ")")))
    seen = set()
    for found in re.finditer(COMPARISON, code, re.M):
        at = found.start() if found[0].strip() == found[0] else found.end() - 2
        if any(start <= at < end for start, end in covered):
            continue
        start, depth = at, 0
        while start > 0:
            before = code[start - 1]
            depth += (before in CLOSES) - (before in OPENS)
            ends = before in ";,|" and not code.startswith("||", start - 1) and code[start - 2] != "|"
            if depth < 0 or depth == 0 and (ends or re.search(r"(?<![=!<>])=>?\s$|\breturn\s$", code[start - 4 : start])):
                break
            if depth == 0 and before == "}" and code[start] == "\n":
                break
            start -= 1
        end = matching(code, at + 2, ";,)]}")
        start, end = stripped(code, start, end)
        text = code[start:end]
        if any(first >= last for first, last in operands(text)[1]) or text.startswith("||"):
            continue
        header = code[max(code.rfind(mark, 0, start) for mark in ";{}") + 1 : start]
        if (start, end) in seen or re.search(r"\blet\b|\bif\b|\bwhile\b|\bmatch\b|\bwhere\b|=>|\bfn\b", text):
            continue
        if re.search(r"\b(const|static|impl|fn|type|trait)\b", header):
            continue
        seen.add((start, end))
        yield from of_condition(code, start, end)


KEYWORD = re.compile(
    r"(?:let|return|use|if|match|while|for|loop|unsafe|pub|fn|const|static|type|mod|impl|struct|enum|trait|extern|break"
    r"|continue|else|where|macro_rules)\b|(?:crate::)?(?!assert)\w+!"
)


def of_statements(code):
    """Calls, assignments to parts, and guards, that are gone."""
    for found in re.finditer(r"(?<=[;{}\]])\s*\n[ ]+(?=[\w*(<])", code):
        start = found.end()
        guard = re.compile(r"let (?:mut )?_\w*(?:: [^=]+)? = ").match(code, start)
        if not guard and KEYWORD.match(code, start):
            continue
        begins = guard.end() if guard else start
        end = matching(code, begins, ";{}")
        text = code[begins:end]
        if code[end : end + 1] != ";":
            continue
        if guard:
            yield Mutation(begins, end, f"(!{SWITCH}).then(|| ", ")", "no guard")
        elif re.search(r"\)\s*$", text) or re.match(r"[\w*.()\[\]]*[.*][\w*.()\[\]]* [-+|&]?= ", text):
            yield Mutation(start, end + 1, f"if !{SWITCH} {{ ", " }", "no statement")


def mutations(code, weakens):
    """Of blanked code; orderings too if `weakens`."""
    checks = list(of_checks(code))
    found = [*checks, *of_values(code, checks), *of_statements(code)]
    found += of_orderings(code) if weakens else []
    # The outer ones first.
    return sorted(found, key=lambda mutation: (mutation.start, -mutation.end, mutation.how))


def written(text, switched):
    """The text with those mutations, from `mutations`, each with its condition."""
    insertions = []
    for rank, (mutation, condition) in enumerate(switched):
        length = mutation.end - mutation.start
        before, after = (part.replace(SWITCH, condition) for part in (mutation.before, mutation.after))
        # At one position: what ends there, the inner ones first; then what begins there, the outer ones first.
        insertions.append((mutation.end, 0, length, -rank, after))
        insertions.append((mutation.start, 1, -length, rank, before))
    parts, at = [], 0
    for position, *_, inserted in sorted(insertions):
        parts += [text[at:position], inserted]
        at = position
    return "".join(parts) + text[at:]
