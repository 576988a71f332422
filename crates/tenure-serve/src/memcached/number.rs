//! Numbers of the protocol: words of digits, and values that are numbers.

pub(super) use crate::number::{Decimal, unsigned};

/// A number that may have a minus.
pub(super) fn signed(word: &[u8]) -> Option<i32> {
    let value = match word {
        [b'-', magnitude @ ..] => -i64::try_from(unsigned(magnitude)?).ok()?,
        magnitude => i64::try_from(unsigned(magnitude)?).ok()?,
    };
    value.try_into().ok()
}

pub(super) fn unsigned_32(word: &[u8]) -> Option<u32> {
    unsigned(word)?.try_into().ok()
}

/// A value's number for arithmetic, as C's `strtoull` reads it: after white space, and before white space (which `decr`
/// leaves) and anything else.
pub(super) fn value(data: &[u8]) -> Option<u64> {
    let data = data.trim_ascii_start();
    let data = data.strip_prefix(b"+").unwrap_or(data);
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t'..=b'\r' | 0);
    unsigned(&data[..data.iter().position(is_space).unwrap_or(data.len())])
}

pub(super) fn value_length(word: &[u8]) -> Option<usize> {
    const MOST: u32 = i32::MAX as u32 - 2;
    unsigned_32(word).filter(|len| *len <= MOST).map(|len| len as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_number_if_all_of_it_is_and_it_fits() {
        for (word, value) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("007", Some(7)),
            ("2147483647", Some(i32::MAX)),
            ("-2147483648", Some(i32::MIN)),
            ("2147483648", None),
            ("+7", None),
            ("\t12", None),
            ("12x", None),
            ("", None),
            ("-", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(signed(word.as_bytes()), value, "{word:?}");
        }
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616"), None);
        assert_eq!(unsigned(b"-1"), None);
        assert_eq!(unsigned_32(b"4294967295"), Some(u32::MAX));
        assert_eq!(unsigned_32(b"4294967296"), None);
    }

    #[test]
    fn a_value_is_a_number_with_anything_behind_white_space() {
        for (data, number) in [
            ("12", Some(12)),
            ("9   ", Some(9)),
            (" +12\tx", Some(12)),
            ("5\0x", Some(5)),
            ("12x", None),
            ("-1", None),
            ("   ", None),
            ("", None),
        ] {
            assert_eq!(value(data.as_bytes()), number, "{data:?}");
        }
    }
}
