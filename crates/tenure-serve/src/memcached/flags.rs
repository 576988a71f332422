//! The flags of the meta commands, and their keys.

use tenure::count::RefCount;
use tenure::registry::RegistryCount;

use super::base64;
use super::clock::Seconds;
use super::item::MOST_KEY;
use super::number;
use super::reply::BAD_LINE;
use super::request::Request;

const BAD_TOKEN: &[u8] = b"CLIENT_ERROR bad token in command line format\r\n";

/// What the flags of a command say. Which are to be answered, and in which order, is in the words.
#[derive(Default)]
pub(super) struct Flags {
    pub(super) vivify: Option<Seconds>,
    pub(super) expiry: Option<Seconds>,
    pub(super) recache: Option<Seconds>,
    pub(super) value: bool,
    pub(super) quiet: bool,
    pub(super) binary: bool,
    pub(super) no_bump: bool,
    pub(super) invalidate: bool,
    /// The value goes, and the item stays.
    pub(super) empty: bool,
    pub(super) client: u32,
    pub(super) cas: Option<u64>,
    /// The number that what is stored gets.
    pub(super) number: Option<u64>,
    pub(super) mode: Option<u8>,
    pub(super) initial: u64,
    pub(super) delta: Option<u64>,
}

/// A key, decoded if it came in base64.
pub(super) struct KeyBytes {
    bytes: [u8; MOST_KEY],
    len: usize,
}

impl KeyBytes {
    /// # Panics
    ///
    /// If the key is too long.
    pub(super) fn new(word: &[u8]) -> Self {
        let mut key = Self { bytes: [0; MOST_KEY], len: word.len() };
        key.bytes[..word.len()].copy_from_slice(word);
        key
    }

    pub(super) fn decode(&mut self) -> bool {
        let mut bytes = [0; MOST_KEY];
        let len = base64::decode(self, &mut bytes);
        *self = Self { bytes, len: len.unwrap_or(0) };
        len.is_some()
    }
}

impl std::ops::Deref for KeyBytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl<C: RefCount + 'static, P: RegistryCount> Request<'_, C, P> {
    /// What the flags say. The error is the last that was found, as in memcached.
    pub(super) fn flags(
        &self,
        words: &[&[u8]],
        key: &mut KeyBytes,
    ) -> Result<Flags, &'static [u8]> {
        let mut flags = Flags::default();
        let mut seen = [false; 127];
        let mut error: Option<&'static [u8]> = None;
        let mut last = BAD_LINE;
        for word in words {
            let token = &word[1..];
            match seen.get_mut(usize::from(word[0])) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(b"CLIENT_ERROR duplicate flag\r\n"),
            }
            let expiry = || number::signed(token).map(|expiry| self.expiry(expiry));
            let failed = match word[0] {
                b'b' => {
                    flags.binary = true;
                    (!key.decode()).then_some(&b"CLIENT_ERROR error decoding key\r\n"[..])
                }
                b'N' => {
                    flags.vivify = expiry();
                    flags.vivify.is_none().then_some(BAD_TOKEN)
                }
                b'T' => {
                    flags.expiry = expiry();
                    flags.expiry.is_none().then_some(BAD_TOKEN)
                }
                b'R' => {
                    flags.recache = expiry();
                    flags.recache.is_none().then_some(BAD_TOKEN)
                }
                b'C' => {
                    flags.cas = number::unsigned(token);
                    flags.cas.is_none().then_some(BAD_TOKEN)
                }
                b'E' => {
                    flags.number = number::unsigned(token);
                    flags.number.is_none().then_some(BAD_TOKEN)
                }
                b'F' => match number::unsigned_32(token) {
                    Some(client) => {
                        flags.client = client;
                        None
                    }
                    None => Some(last),
                },
                b'M' => {
                    flags.mode = Some(token.first().copied().unwrap_or_default());
                    None
                }
                b'J' => match number::unsigned(token) {
                    Some(initial) => {
                        flags.initial = initial;
                        None
                    }
                    None => Some(&b"CLIENT_ERROR invalid numeric initial value\r\n"[..]),
                },
                b'D' => {
                    flags.delta = number::unsigned(token);
                    let error = b"CLIENT_ERROR invalid numeric delta value\r\n";
                    flags.delta.is_none().then_some(&error[..])
                }
                b'v' => {
                    flags.value = true;
                    None
                }
                b'u' => {
                    flags.no_bump = true;
                    None
                }
                b'q' => {
                    flags.quiet = true;
                    None
                }
                b'I' => {
                    flags.invalidate = true;
                    None
                }
                b'x' => {
                    flags.empty = true;
                    None
                }
                b'l' | b'O' | b'P' | b'L' | b'k' | b's' | b't' | b'c' | b'f' | b'h' => None,
                _ => return Err(b"CLIENT_ERROR invalid flag\r\n"),
            };
            if let Some(failed) = failed {
                last = failed;
                error = Some(failed);
            }
        }
        error.map_or(Ok(flags), Err)
    }
}
