//! A hash of 128 bits over words and names, by which types are the same.
//!
//! Not against adversaries: a file with colliding types only gets its own types merged.

pub(super) type Digest = u128;

/// Takes content word by word. Each step (add a word, multiply by an odd number, turn by half the width) is one-to-one,
/// so contents collide only if a later word undoes an earlier difference; a single word cannot, as the difference has
/// reached the other half by then.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hasher(u128);

/// The factor of PCG's 128-bit generators.
const FACTOR: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

impl Hasher {
    /// Contents of different kinds have different hashes.
    pub(super) fn new(kind: u64) -> Self {
        let mut hasher = Self(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
        hasher.word(kind);
        hasher
    }

    #[inline]
    pub(super) fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ u128::from(word)).wrapping_mul(FACTOR).rotate_left(64);
    }

    #[inline]
    pub(super) fn digest(&mut self, digest: Digest) {
        self.word(low(digest));
        self.word(low(digest >> 64));
    }

    /// Adds a name with its length, so that consecutive names do not run together.
    #[inline]
    pub(super) fn name(&mut self, name: &[u8]) {
        self.word(name.len() as u64);
        let (words, rest) = name.as_chunks::<8>();
        for word in words {
            self.word(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            self.word(u64::from_le_bytes(word));
        }
    }

    /// Never 0, which stands for "not known yet".
    #[inline]
    pub(super) fn finish(mut self) -> Digest {
        self.word(0);
        self.word(0);
        self.0 | 1
    }
}

#[inline]
pub(super) fn low(digest: Digest) -> u64 {
    (digest & u128::from(u64::MAX)) as u64
}

/// The hasher of maps whose keys are hashes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AsIs(u64);

impl std::hash::Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = low(key) ^ low(key >> 64);
    }
}

pub(super) type DigestMap<T> =
    std::collections::HashMap<Digest, T, std::hash::BuildHasherDefault<AsIs>>;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Digest {
        let mut hasher = Hasher::new(1);
        for name in names {
            hasher.name(name.as_bytes());
        }
        hasher.finish()
    }

    #[test]
    fn names_do_not_run_together() {
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["abcdefgh", ""]), of(&["abcdefgh"]));
        assert_ne!(of(&["a\0"]), of(&["a"]));
    }

    #[test]
    fn a_million_near_equal_contents_have_different_hashes() {
        let mut seen = std::collections::HashSet::new();
        for a in 0..1000_u64 {
            for b in 0..1000_u64 {
                let mut hasher = Hasher::new(0);
                hasher.word(a);
                hasher.word(b << 40);
                // Maps use the halves.
                let digest = hasher.finish();
                assert!(seen.insert((digest >> 64) as u64), "{a} {b}");
            }
        }
    }
}
