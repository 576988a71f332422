//! Decimal numbers in protocols, read and written without an allocation.

/// The number of a word that is all digits.
#[inline]
pub(crate) fn unsigned(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0_u64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| byte - b'0')?;
        value.checked_mul(10)?.checked_add(digit.into())
    })
}

pub(crate) struct Decimal {
    digits: [u8; 20],
    start: usize,
}

impl Decimal {
    #[inline]
    pub(crate) fn new(mut value: u64) -> Self {
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
    fn numbers_have_their_digits() {
        for value in [0, 7, 9, 10, 99, 100, 1_234_567_890, 4_294_967_295, u64::MAX] {
            assert_eq!(*Decimal::new(value), *value.to_string().as_bytes());
        }
    }
}
