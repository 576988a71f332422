//! Names in cells: broken where a reader would break them, and cut where there is no room.

/// A name in at most `lines` lines of `columns` letters each; what does not fit ends in `…`.
///
/// It is broken after `_`, `.`, `:` and spaces, and anywhere if a part is longer than a line.
pub(super) fn fitted(name: &str, columns: usize, lines: usize) -> Vec<String> {
    if columns == 0 || lines == 0 {
        return Vec::new();
    }
    let mut broken: Vec<String> = vec![String::new()];
    let mut taken = 0;
    for part in parts(name) {
        let length = part.chars().count();
        if taken > 0 && taken + length > columns && length <= columns {
            broken.push(String::new());
            taken = 0;
        }
        for letter in part.chars() {
            if taken == columns {
                broken.push(String::new());
                taken = 0;
            }
            if let Some(last) = broken.last_mut() {
                last.push(letter);
            }
            taken += 1;
        }
        if broken.len() > lines {
            break;
        }
    }
    if broken.len() > lines {
        broken.truncate(lines);
        if let Some(last) = broken.last_mut() {
            *last = last.chars().take(columns - 1).chain(['…']).collect();
        }
    }
    broken.iter().map(|line| line.trim().to_owned()).collect()
}

/// The parts of a name, each with what ends it.
fn parts(name: &str) -> impl Iterator<Item = &str> {
    let mut rest = name;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        // A name may begin with some of them.
        let start = rest.find(|each| !ends(each)).unwrap_or(rest.len());
        let end = rest[start..].find(ends).map_or(rest.len(), |at| {
            let at = start + at;
            at + rest[at..]
                .chars()
                .take_while(|each| ends(*each))
                .map(char::len_utf8)
                .sum::<usize>()
        });
        let (part, left) = rest.split_at(end);
        rest = left;
        Some(part)
    })
}

fn ends(letter: char) -> bool {
    matches!(letter, '_' | '.' | ':' | ' ' | '|' | ',')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_fits_is_left_alone() {
        assert_eq!(fitted("dev", 8, 3), ["dev"]);
        assert_eq!(fitted("__refcnt", 8, 3), ["__refcnt"]);
    }

    #[test]
    fn a_name_is_broken_where_it_has_a_joint() {
        assert_eq!(fitted("rt_uses_gateway", 8, 3), ["rt_uses_", "gateway"]);
        assert_eq!(fitted("callback_head", 20, 3), ["callback_head"]);
        assert_eq!(fitted("ndisc::ops", 7, 3), ["ndisc::", "ops"]);
    }

    #[test]
    fn a_part_longer_than_a_line_is_broken_anywhere_and_too_much_is_cut() {
        assert_eq!(fitted("obsolete", 3, 3), ["obs", "ole", "te"]);
        assert_eq!(fitted("header_length_of_all", 6, 2), ["header", "_leng…"]);
        assert_eq!(fitted("abc", 1, 1), ["…"]);
        assert!(fitted("abc", 0, 1).is_empty());
    }
}
