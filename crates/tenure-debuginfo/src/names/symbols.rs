//! Functions and variables: from symbols to what people say.

use std::fmt;

use cpp_demangle::{BorrowedSymbol, DemangleOptions};

/// Names are cut after this many bytes: a mangled one can stand for one of any length.
const MAX_NAME_BYTES: usize = 1 << 14;

/// A symbol's name as the source has it; what is not mangled stays.
#[must_use]
pub fn demangled(symbol: &str) -> String {
    let mut text = Cut(String::new());
    // What is left when it becomes too long is what is shown.
    if let Ok(rust) = rustc_demangle::try_demangle(symbol) {
        let _ = fmt::write(&mut text, format_args!("{rust:#}"));
    } else if symbol.starts_with("_Z")
        && let Ok((cpp, _)) = BorrowedSymbol::with_tail(symbol.as_bytes())
    {
        let _ = cpp.structured_demangle(&mut text, &DemangleOptions::new().no_params());
    }
    if text.0.is_empty() {
        return cut(without_mark(symbol)).to_owned();
    }
    text.0
}

/// Compilers mark copies of a function, and variables of functions: `step.constprop.0`, `count.1`. Go has dots in names.
fn without_mark(symbol: &str) -> &str {
    let marks = ["cold", "constprop", "isra", "llvm", "localalias", "lto_priv", "part"];
    let is_mark = |part: &str| {
        marks.contains(&part) || part.starts_with(|first: char| first.is_ascii_digit())
    };
    let dots = symbol.match_indices('.').map(|(at, _)| at).filter(|at| *at > 0);
    let behind = |at: usize| symbol[at + 1..].split('.').next().unwrap_or_default();
    dots.into_iter().find(|at| is_mark(behind(*at))).map_or(symbol, |at| &symbol[..at])
}

/// A function by its symbol, with the type it is a method of: `Session::get`, `accept`, `run::{closure}`.
#[must_use]
pub fn function(symbol: &str) -> String {
    let is_rust = rustc_demangle::try_demangle(symbol).is_ok();
    let name = without_arguments(&demangled(symbol));
    let parts: Vec<&str> = name.split("::").filter(|part| !part.is_empty()).collect();
    // Behind the function are the closures in it.
    let closures = parts.iter().rev().take_while(|part| part.starts_with('{')).count();
    let Some(at) = (parts.len() - closures).checked_sub(1) else { return name };
    let is_type = |part: &str| !is_rust || part.starts_with(char::is_uppercase);
    let first = match at.checked_sub(1) {
        Some(before) if is_type(parts[before]) && !parts[before].starts_with('{') => before,
        _ => at,
    };
    let mut short: Vec<&str> = parts[first..=at].to_vec();
    short.extend(
        parts[at + 1..].iter().map(
            |part| {
                if part.contains("closure") { "{closure}" } else { *part }
            },
        ),
    );
    short.join("::")
}

/// A variable without its modules and functions.
#[must_use]
pub fn variable(path: &str) -> String {
    let path = cut(path).replace("(anonymous namespace)::", "");
    let parts: Vec<&str> = path.split("::").collect();
    let last = parts.len() - 1;
    // A class's own.
    let of_class = last > 0 && parts[last - 1].starts_with(char::is_uppercase);
    parts[if of_class { last - 1 } else { last }..].join("::")
}

/// A name without generic arguments; `<A as B>` and `<impl B for A>` become `A`.
fn without_arguments(name: &str) -> String {
    let mut name = name.replace("(anonymous namespace)::", "");
    // Innermost brackets first, each once: as many turns as there are brackets.
    let mut from = 0;
    while let Some(close) = name[from..].find('>').map(|at| at + from) {
        let before = &name[..close];
        let Some(open) = before.rfind('<').filter(|_| !before.ends_with(['-', '=', '<'])) else {
            from = close + 1;
            continue;
        };
        let is_type = open == 0 || before[..open].ends_with(['<', '&', '(', ' ']) || {
            let inner = &before[open + 1..];
            before[..open].ends_with("::") && (inner.starts_with("impl ") || inner.contains(" as "))
        };
        let inner = before[open + 1..].to_owned();
        let inner = match inner.strip_prefix("impl ") {
            Some(of) => of.rsplit(" for ").next().unwrap_or(of),
            None => inner.split(" as ").next().unwrap_or(&inner),
        };
        let inner = if is_type { inner.to_owned() } else { String::new() };
        let open = if is_type {
            open
        } else {
            open - "::".len() * usize::from(before[..open].ends_with("::"))
        };
        name.replace_range(open..=close, &inner);
        from = open.min(name.len());
    }
    name
}

pub(super) fn cut(text: &str) -> &str {
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= MAX_NAME_BYTES);
    &text[..end.unwrap_or(text.len())]
}

/// Text up to a length; more is an error.
struct Cut(String);

impl fmt::Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.0.len() + text.len() > MAX_NAME_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_named_with_its_type_and_without_modules() {
        for (symbol, expected) in [
            ("_ZN1s7Session3get17heaa4e760709a3775E", "Session::get"),
            ("_ZN37_$LT$s..Session$u20$as$u20$s..Act$GT$3act17h281cb038693b1785E", "Session::act"),
            (
                "_ZN37_$LT$s..Session$u20$as$u20$s..Act$GT$3act28_$u7b$$u7b$closure$u7d$$u7d$17hb01b97014e8b7dbaE",
                "Session::act::{closure}",
            ),
            (
                "_ZN4core3ptr55drop_in_place$LT$alloc..sync..Arc$LT$s..Session$GT$$GT$17h24bf8570ea47ee93E",
                "drop_in_place",
            ),
            ("_ZN5alloc4sync16Arc$LT$T$C$A$GT$9drop_slow17h2f0a1b7b0a0b7c1dE", "Arc::drop_slow"),
            ("_ZN7Session3getEv", "Session::get"),
            ("_ZN3app5Queue4pushERKi", "Queue::push"),
            ("_Z6acceptv", "accept"),
            ("main", "main"),
            ("step.constprop.0", "step"),
            ("main.(*Server).handle", "main.(*Server).handle"),
            ("main.run.func1", "main.run.func1"),
            ("_ZNSt6atomicIiE9fetch_addEiSt12memory_order", "atomic::fetch_add"),
        ] {
            assert_eq!(function(symbol), expected, "{symbol}");
        }
    }

    #[test]
    fn names_that_no_compiler_writes_end() {
        for name in [
            "",
            "::",
            "<",
            ">",
            "<<<>>>",
            "a<b",
            "a>b<",
            "_Z",
            "_ZN",
            "->",
            "<impl >::<>",
            ", Global, Globalx",
        ] {
            let _ = (function(name), variable(name));
        }
        let deep = "<".repeat(50_000) + &">".repeat(50_000);
        let _ = function(&deep);
    }
}
