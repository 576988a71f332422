//! From the target of a request to the name of a file below the root.
//!
//! A name has no `.`, `..` or empty segment, no NUL and no leading slash; a directory's ends with a slash, or is empty.
//! Escapes are decoded once, before the segments are checked.

use super::status::Status;

/// `scratch` holds the name if it differs from the target.
pub(super) fn name<'a>(target: &'a [u8], scratch: &'a mut Vec<u8>) -> Result<&'a [u8], Status> {
    let path = path(target).ok_or(Status::BAD_REQUEST)?;
    let plain = path.iter().zip(path.iter().skip(1).chain(b"x")).all(|(&byte, &next)| {
        byte != b'%' && byte != 0 && !(byte == b'/' && (next == b'/' || next == b'.'))
    });
    if plain {
        return Ok(&path[1..]);
    }
    scratch.clear();
    decode(path, scratch).ok_or(Status::BAD_REQUEST)?;
    join(scratch).ok_or(Status::BAD_REQUEST)?;
    Ok(scratch)
}

/// The `?` and what follows.
pub(super) fn query(target: &[u8]) -> &[u8] {
    target.iter().position(|byte| *byte == b'?').map_or(&[], |at| &target[at..])
}

/// The path of a target in origin or absolute form.
fn path(target: &[u8]) -> Option<&[u8]> {
    let path = target.split(|byte| *byte == b'?').next()?;
    if path.contains(&b'#') {
        return None;
    }
    if path.starts_with(b"/") {
        return Some(path);
    }
    let scheme = path.windows(3).position(|three| three == b"://")?;
    if !(path[..scheme].eq_ignore_ascii_case(b"http")
        || path[..scheme].eq_ignore_ascii_case(b"https"))
    {
        return None;
    }
    let rest = &path[scheme + 3..];
    match rest.iter().position(|byte| *byte == b'/') {
        Some(0) => None,
        Some(slash) => Some(&rest[slash..]),
        None => (!rest.is_empty()).then_some(b"/"),
    }
}

/// `None` for a bad escape or NUL.
fn decode(path: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let mut rest = path;
    while let Some((&byte, after)) = rest.split_first() {
        let (byte, after) = match (byte, after) {
            (b'%', [high, low, after @ ..]) => ((nibble(*high)? << 4) | nibble(*low)?, after),
            (b'%', _) => return None,
            _ => (byte, after),
        };
        if byte == 0 {
            return None;
        }
        into.push(byte);
        rest = after;
    }
    Some(())
}

fn nibble(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}

/// Removes empty and `.` segments, in place. `None` for a path with `..`.
fn join(path: &mut Vec<u8>) -> Option<()> {
    let directory = path.ends_with(b"/") || path.ends_with(b"/.");
    let mut len = 0;
    let mut at = 0;
    while at < path.len() {
        let end =
            path[at..].iter().position(|byte| *byte == b'/').map_or(path.len(), |slash| at + slash);
        match &path[at..end] {
            b"" | b"." => {}
            b".." => return None,
            _ => {
                if len > 0 {
                    path[len] = b'/';
                    len += 1;
                }
                path.copy_within(at..end, len);
                len += end - at;
            }
        }
        at = end + 1;
    }
    path.truncate(len);
    if directory && len > 0 {
        path.push(b'/');
    }
    Some(())
}

pub(super) fn encode(name: &[u8], into: &mut Vec<u8>) {
    for &byte in name {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            into.push(byte);
        } else {
            let digit = |value: u8| b"0123456789ABCDEF"[usize::from(value)];
            into.extend([b'%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn named(target: &str) -> Result<String, Status> {
        let mut scratch = Vec::new();
        name(target.as_bytes(), &mut scratch).map(|name| String::from_utf8_lossy(name).into_owned())
    }

    #[test]
    fn a_name_is_a_path_without_detours() {
        for (target, name) in [
            ("/", ""),
            ("/?a=/../b", ""),
            ("/a", "a"),
            ("/a/b/", "a/b/"),
            ("//a///b", "a/b"),
            ("/./a/./b/.", "a/b/"),
            ("/.", ""),
            ("/%2e/a", "a"),
            ("/a%2Fb%20c", "a/b c"),
            ("/%61%252e", "a%2e"),
            ("/.well-known/x", ".well-known/x"),
            ("/..a/b..", "..a/b.."),
            ("/...", "..."),
            ("/%C3%A4", "ä"),
            ("/ä", "ä"),
            ("http://host", ""),
            ("HTTP://host:80/a?b", "a"),
            ("https://host/a//b", "a/b"),
        ] {
            assert_eq!(named(target).as_deref(), Ok(name), "{target}");
        }
    }

    #[test]
    fn a_target_that_leaves_the_root_or_is_none_is_refused() {
        let targets = "/.. /../ /a/.. /a/../b /%2e%2e/a /.%2E/a /a%2f..%2fb /..%2f //.. /%00 /a% /a%4 /a%zz /%+1 * a ? \
                       ftp://host/a http:// http:///a http:/a /a#b ..";
        for target in targets.split(' ').chain([""]) {
            assert_eq!(named(target), Err(Status::BAD_REQUEST), "{target}");
        }
    }

    proptest! {
        #[test]
        fn every_name_stays_below_the_root(target in "(/|%2[eEfF]|\\.|%|[a-z]|\\PC){0,40}") {
            if let Ok(name) = named(&target) {
                prop_assert!(!name.starts_with('/') && !name.contains('\0'));
                let inner = name.strip_suffix('/').unwrap_or(&name);
                if !inner.is_empty() {
                    prop_assert!(inner.split('/').all(|segment| !["", ".", ".."].contains(&segment)), "{name}");
                }
            }
        }

        #[test]
        fn a_name_that_is_escaped_comes_back(name in "[^/\0.][^/\0]{0,20}(/[^/\0.][^/\0]{0,5}){0,3}/?") {
            let mut target = b"/".to_vec();
            encode(name.as_bytes(), &mut target);
            prop_assert!(target.is_ascii());
            prop_assert_eq!(named(std::str::from_utf8(&target).unwrap()), Ok(name));
        }
    }
}
