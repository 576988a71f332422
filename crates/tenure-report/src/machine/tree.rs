use std::ops::RangeInclusive;
use std::path::PathBuf;

pub(super) struct Tree(PathBuf);

impl Tree {
    /// The running system's.
    pub(super) fn root() -> Self {
        Self(PathBuf::from("/"))
    }

    #[cfg(test)]
    pub(super) fn with<R>(
        files: impl IntoIterator<Item = (impl AsRef<str>, impl AsRef<str>)>,
        read: impl FnOnce(&Self) -> R,
    ) -> R {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path.as_ref());
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.as_ref()).unwrap();
        }
        read(&Self(folder.path().to_owned()))
    }

    /// Trimmed; `None` if missing or empty.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        let bytes = std::fs::read(self.0.join(path)).ok()?;
        let text = String::from_utf8_lossy(&bytes);
        // Device-tree files end in NUL.
        let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    pub(super) fn number<N: std::str::FromStr>(&self, path: &str) -> Option<N> {
        self.text(path)?.parse().ok()
    }

    /// The first `key: value` in a file.
    pub(super) fn field(&self, path: &str, key: &str) -> Option<String> {
        field(&self.text(path)?, key).map(str::to_owned)
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.0.join(path).exists()
    }
}

pub(super) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, value)| value.trim())
        .filter(|value| !value.is_empty())
}

/// `0-3,8`, in ascending order. Skips parts that are no numbers.
pub(super) fn cpu_list(text: &str) -> Vec<usize> {
    let mut cpus: Vec<usize> = text.trim().split(',').filter_map(range).flatten().collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

fn range(part: &str) -> Option<RangeInclusive<usize>> {
    /// A file with a longer range lists something else.
    const MAX_CPUS: usize = 1 << 20;
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    let (first, last) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    (last < MAX_CPUS).then_some(first..=last)
}

/// `48K` in bytes, by its binary unit.
pub(super) fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_have_ranges_and_gaps() {
        assert_eq!(cpu_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert_eq!(cpu_list("5"), [5]);
        assert_eq!(cpu_list("4,0"), [0, 4]);
        assert!(cpu_list("").is_empty());
        assert!(cpu_list("0-99999999999").is_empty());
    }

    #[test]
    fn sizes_have_binary_units() {
        assert_eq!(size("48K"), Some(48 * 1024));
        assert_eq!(size("32M"), Some(32 << 20));
        assert_eq!(size("512"), Some(512));
        assert_eq!(size("12Q"), None);
        assert_eq!(size("18446744073709551615G"), None);
    }

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = "cpu cores\t: 2\ncpu\t\t: POWER9, altivec supported\n";
        assert_eq!(field(text, "cpu"), Some("POWER9, altivec supported"));
        assert_eq!(field(text, "cp"), None);
    }
}
