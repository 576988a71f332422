//! Numbers as the protocol has them: what C's `strtol` and `strtoul` make of a word, and decimal digits.

/// Sign and magnitude of the number that `word` starts with.
///
/// White space may stand before it, and white space or a NUL must follow it, unless it ends the word.
fn parse(word: &[u8]) -> Option<(bool, u64)> {
    let mut at = word.iter().position(|byte| !is_space(*byte))?;
    let negative = word[at] == b'-';
    if negative || word[at] == b'+' {
        at += 1;
    }
    let digits = word[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let magnitude = word[at..at + digits].iter().try_fold(0_u64, |value, digit| {
        value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
    })?;
    let ends = word.get(at + digits).is_none_or(|byte| is_space(*byte) || *byte == 0);
    (digits > 0 && ends).then_some((negative, magnitude))
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// A number with a sign.
pub(super) fn signed(word: &[u8]) -> Option<i64> {
    let (negative, magnitude) = parse(word)?;
    if negative { 0_i64.checked_sub_unsigned(magnitude) } else { magnitude.try_into().ok() }
}

/// A number with a sign, cut to 32 bits as memcached cuts it.
pub(super) fn signed_32(word: &[u8]) -> Option<i32> {
    signed(word).map(|value| value as i32)
}

/// A number without a sign. A negative one is taken for its complement, unless that is large: C does so.
pub(super) fn unsigned(word: &[u8]) -> Option<u64> {
    let (negative, magnitude) = parse(word)?;
    if !negative {
        return Some(magnitude);
    }
    let complement = magnitude.wrapping_neg();
    (complement <= i64::MAX as u64).then_some(complement)
}

/// A number without a sign, cut to 32 bits as memcached cuts it.
pub(super) fn unsigned_32(word: &[u8]) -> Option<u32> {
    unsigned(word).map(|value| value as u32)
}

/// A number in decimal digits.
pub(super) struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    #[inline]
    pub(super) fn new(mut value: u64) -> Self {
        let mut decimal = Self { digits: [0; 20], start: 20 };
        loop {
            decimal.start -= 1;
            decimal.digits[decimal.start] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                return decimal;
            }
        }
    }
}

impl std::ops::Deref for Decimal {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.digits[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_numbers_as_c_reads_them() {
        for (word, value) in [
            ("0", Some(0)),
            ("-1", Some(-1)),
            ("+7", Some(7)),
            ("\t 12", Some(12)),
            ("12\tx", Some(12)),
            ("12x", None),
            ("", None),
            ("-", None),
            (" ", None),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("99999999999999999999", None),
        ] {
            assert_eq!(signed(word.as_bytes()), value, "{word:?}");
        }
        assert_eq!(signed_32(b"4294967297"), Some(1));
        assert_eq!(unsigned(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(unsigned(b"18446744073709551616"), None);
        assert_eq!(unsigned(b"-1"), None);
        assert_eq!(unsigned(b"-18446744073709551615"), Some(1));
        assert_eq!(unsigned_32(b"4294967298"), Some(2));
        assert_eq!(unsigned(b"5\0x"), Some(5));
    }

    #[test]
    fn numbers_have_their_digits() {
        for value in [0, 9, 10, 1_234_567_890, u64::MAX] {
            assert_eq!(*Decimal::new(value), *value.to_string().as_bytes());
        }
    }
}
