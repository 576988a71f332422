//! Finds the instruction before an address. Where it begins is not written anywhere: all places before it are tried, and those from which
//! decoding arrives at its end vote. The code falls into step within a few instructions.

use iced_x86::{Decoder, DecoderOptions, Instruction as Decoded};
use rustc_hash::FxHashMap;

use crate::arch::Read;

/// Bytes before an instruction's end from which decoding is tried.
const WINDOW: usize = 64;

/// Code begins and ends with a page.
pub(super) const PAGE: u64 = 4096;

/// The instruction before an address.
pub(super) fn before(end: u64, read: Read<'_>) -> Option<Decoded> {
    let mut bytes = [0; WINDOW];
    // What is mapped begins at a page: less can be had there.
    let inside = usize::try_from(end % PAGE).ok()?.clamp(1, WINDOW);
    let bytes = &mut bytes[WINDOW - inside..];
    read(end.wrapping_sub(inside as u64), bytes).then(|| last(bytes, end))?
}

/// The instruction that ends with these bytes, by vote.
fn last(bytes: &[u8], end: u64) -> Option<Decoded> {
    let start = end - bytes.len() as u64;
    // For each place: where the last instruction begins if decoding starts there.
    let mut last: Vec<Option<usize>> = vec![None; bytes.len()];
    let mut votes: FxHashMap<usize, usize> = FxHashMap::default();
    for at in (0..bytes.len()).rev() {
        let instruction = decoded(&bytes[at..], start + at as u64);
        if instruction.is_invalid() {
            continue;
        }
        let next = at + instruction.len();
        last[at] = if next == bytes.len() { Some(at) } else { last.get(next).copied().flatten() };
        if let Some(begin) = last[at] {
            *votes.entry(begin).or_default() += 1;
        }
    }
    // Of as many votes the longest: a prefix belongs to its instruction.
    let (begin, _) = votes.into_iter().max_by_key(|(begin, votes)| (*votes, usize::MAX - begin))?;
    Some(decoded(&bytes[begin..], start + begin as u64))
}

pub(super) fn decoded(bytes: &[u8], address: u64) -> Decoded {
    Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instruction_before_an_address_is_found_by_vote() {
        // A function as compilers write it: each of its instructions is found by its end.
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x7d, 0xf8, 0x48, 0x8b,
            0x45, 0xf8, 0xf0, 0x48, 0xff, 0x00, 0x48, 0x8b, 0x45, 0xf8, 0x48, 0x8b, 0x40, 0x08,
            0x48, 0x01, 0xc3, 0xf0, 0x48, 0x83, 0x40, 0x40, 0x01, 0xeb, 0xe9,
        ];
        let mut decoder = Decoder::with_ip(64, &code, 0x40_0000, DecoderOptions::NONE);
        let mut checked = 0;
        while decoder.can_decode() {
            let instruction = decoder.decode();
            let end = usize::try_from(instruction.next_ip() - 0x40_0000).unwrap();
            if end < 16 {
                continue;
            }
            let found = last(&code[..end], instruction.next_ip()).unwrap();
            assert_eq!(found.ip(), instruction.ip(), "{:?}", instruction.mnemonic());
            checked += 1;
        }
        assert!(checked > 5);
        assert_eq!(last(&[0x06; 8], 0x40_0000), None);
    }
}
