//! Sentences of which parts are code, for terminals and HTML.

/// A sentence's parts; true marks code: a name, or something to type.
pub type Parts = Vec<(String, bool)>;

/// A part of a sentence.
pub fn plain(text: impl Into<String>) -> (String, bool) {
    (text.into(), false)
}

/// A name in a sentence.
pub fn code(name: impl Into<String>) -> (String, bool) {
    (name.into(), true)
}

/// The parts as text.
#[must_use]
pub fn text_of(parts: &[(String, bool)]) -> String {
    parts.iter().map(|(part, _)| part.as_str()).collect()
}

/// Cuts a text at its backticks, which enclose code.
#[must_use]
pub fn marked(text: &str) -> Parts {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return vec![plain(text)];
    }
    parts.into_iter().enumerate().map(|(at, part)| (part.to_owned(), at % 2 == 1)).collect()
}

/// Names as `a`, `a and b`, `a, b and c`, or `a, b, c and 3 more`.
#[must_use]
pub fn list(names: &[String]) -> Parts {
    const MAX_LISTED: usize = 4;
    let cut = if names.len() > MAX_LISTED { &names[..MAX_LISTED - 1] } else { names };
    let more = names.len() - cut.len();
    let mut parts = Parts::new();
    for (index, name) in cut.iter().enumerate() {
        match index {
            0 => {}
            _ if more == 0 && index + 1 == cut.len() => parts.push(plain(" and ")),
            _ => parts.push(plain(", ")),
        }
        parts.push(code(name));
    }
    if more > 0 {
        parts.push(plain(format!(" and {more} more")));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_end_in_and_or_in_how_many_more() {
        let names: Vec<String> = ["a", "b", "c", "d", "e"].map(str::to_owned).to_vec();
        let list = |names| text_of(&list(names));
        assert_eq!(list(&names[..1]), "a");
        assert_eq!(list(&names[..2]), "a and b");
        assert_eq!(list(&names[..4]), "a, b, c and d");
        assert_eq!(list(&names[..]), "a, b, c and 2 more");
    }

    #[test]
    fn what_is_between_backticks_is_code() {
        assert_eq!(marked("run `it` now"), [plain("run "), code("it"), plain(" now")]);
        assert_eq!(marked("an odd ` is none"), [plain("an odd ` is none")]);
    }
}
