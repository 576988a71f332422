//! Keys in base64: the standard alphabet, decoded as tolerantly as by memcached.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

const VALUES: [Option<u8>; 256] = {
    let mut values = [None; 256];
    let mut at = 0;
    while at < 64 {
        values[ALPHABET[at] as usize] = Some(at as u8);
        at += 1;
    }
    values[b'=' as usize] = Some(0);
    values
};

/// Calls `write` with the four characters of each three bytes.
pub(super) fn encode(bytes: &[u8], mut write: impl FnMut(&[u8])) {
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        let mut four = [18, 12, 6, 0].map(|shift| ALPHABET[(bits >> shift) as usize & 63]);
        four[three.len() + 1..].fill(b'=');
        write(&four);
    }
}

/// Decodes `text` into `bytes`, and returns their number. Characters outside the alphabet are ignored; `None` if the
/// rest is empty or no multiple of four.
pub(super) fn decode(text: &[u8], bytes: &mut [u8]) -> Option<usize> {
    let known =
        || text.iter().filter_map(|byte| Some((VALUES[usize::from(*byte)]?, *byte == b'=')));
    let count = known().count();
    if count == 0 || count % 4 != 0 || count / 4 * 3 > bytes.len() {
        return None;
    }
    let (mut bits, mut padding, mut len) = (0_u32, 0, 0);
    for (at, (value, pads)) in known().enumerate() {
        bits = bits << 6 | u32::from(value);
        padding += usize::from(pads);
        if at % 4 == 3 {
            bytes[len..len + 3].copy_from_slice(&bits.to_be_bytes()[1..]);
            bits = 0;
            if padding > 2 {
                return None;
            }
            len += 3 - padding;
            if padding > 0 {
                break;
            }
        }
    }
    (len > 0).then_some(len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_back_and_what_is_none_does_not() {
        for (plain, text) in
            [("a", "YQ=="), ("ab", "YWI="), ("abc", "YWJj"), ("\u{ff}~?", "w79+Pw==")]
        {
            let mut encoded = Vec::new();
            encode(plain.as_bytes(), |four| encoded.extend_from_slice(four));
            assert_eq!(encoded, text.as_bytes());
            let mut bytes = [0; 250];
            let len = decode(text.as_bytes(), &mut bytes).unwrap();
            assert_eq!(&bytes[..len], plain.as_bytes());
        }
        let mut bytes = [0; 250];
        assert_eq!(decode(b"Y-W_J!j", &mut bytes), Some(3), "others are left out");
        for text in ["", "Y", "YQ=", "!!!!", "Y===", "===="] {
            assert_eq!(decode(text.as_bytes(), &mut bytes), None, "{text}");
        }
        assert_eq!(decode(b"YWJj", &mut [0; 2]), None);
    }
}
