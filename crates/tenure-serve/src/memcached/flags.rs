//! The flags of the meta commands, and their keys.

use tenure::count::RefCount;
use tenure::registry::RegistryCount;

use super::answer::BAD_LINE;
use super::base64;
use super::clock::Seconds;
use super::item::MOST_KEY;
use super::number;
use super::request::Request;

const BAD_TOKEN: &[u8] = b"CLIENT_ERROR bad token in command line format\r\n";
const BAD_KEY: &[u8] = b"CLIENT_ERROR error decoding key\r\n";
const BAD_INITIAL: &[u8] = b"CLIENT_ERROR invalid numeric initial value\r\n";
const BAD_DELTA: &[u8] = b"CLIENT_ERROR invalid numeric delta value\r\n";

/// What the flags of a command say. The words say which are answered, and in which order.
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
    /// Removes the value and keeps the item.
    pub(super) empty: bool,
    pub(super) client: u32,
    pub(super) cas: Option<u64>,
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
    /// Reads the flags. The error is the last one, as in memcached.
    pub(super) fn flags(
        &self,
        words: &[&[u8]],
        key: &mut KeyBytes,
    ) -> Result<Flags, &'static [u8]> {
        let mut flags = Flags::default();
        let mut seen = [false; 127];
        let mut error = Ok(());
        for word in words {
            let token = &word[1..];
            match seen.get_mut(usize::from(word[0])) {
                Some(seen) if !*seen => *seen = true,
                _ => return Err(b"CLIENT_ERROR duplicate flag\r\n"),
            }
            let expiry = || number::signed(token).map(|expiry| self.expiry(expiry));
            let unsigned = || number::unsigned(token);
            let good = match word[0] {
                b'b' => {
                    flags.binary = true;
                    key.decode().then_some(()).ok_or(BAD_KEY)
                }
                b'N' => set(&mut flags.vivify, expiry(), BAD_TOKEN),
                b'T' => set(&mut flags.expiry, expiry(), BAD_TOKEN),
                b'R' => set(&mut flags.recache, expiry(), BAD_TOKEN),
                b'C' => set(&mut flags.cas, unsigned(), BAD_TOKEN),
                b'E' => set(&mut flags.number, unsigned(), BAD_TOKEN),
                b'D' => set(&mut flags.delta, unsigned(), BAD_DELTA),
                b'J' => unsigned().map(|initial| flags.initial = initial).ok_or(BAD_INITIAL),
                // As in memcached: the error of an earlier flag stays.
                b'F' => match number::unsigned_32(token) {
                    Some(client) => {
                        flags.client = client;
                        Ok(())
                    }
                    None => Err(error.err().unwrap_or(BAD_LINE)),
                },
                b'M' => {
                    flags.mode = Some(token.first().copied().unwrap_or_default());
                    Ok(())
                }
                b'v' | b'u' | b'q' | b'I' | b'x' => {
                    *match word[0] {
                        b'v' => &mut flags.value,
                        b'u' => &mut flags.no_bump,
                        b'q' => &mut flags.quiet,
                        b'I' => &mut flags.invalidate,
                        _ => &mut flags.empty,
                    } = true;
                    Ok(())
                }
                b'l' | b'O' | b'P' | b'L' | b'k' | b's' | b't' | b'c' | b'f' | b'h' => Ok(()),
                _ => return Err(b"CLIENT_ERROR invalid flag\r\n"),
            };
            if good.is_err() {
                error = good;
            }
        }
        error.map(|()| flags)
    }
}

/// Sets a flag to its number. A word that is none leaves it unset.
fn set<T>(
    flag: &mut Option<T>,
    number: Option<T>,
    error: &'static [u8],
) -> Result<(), &'static [u8]> {
    *flag = number;
    flag.as_ref().map(|_| ()).ok_or(error)
}
