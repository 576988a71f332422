//! Authentication: a file with `NAME:PASSWORD` in each line.

use std::fmt;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// Names and passwords from a file. Clones share them and see a reload.
#[derive(Clone)]
pub struct Passwords(Arc<Inner>);

struct Inner {
    path: PathBuf,
    /// `NAME PASSWORD`, as clients send it.
    tokens: RwLock<Vec<Vec<u8>>>,
}

impl Passwords {
    /// Reads a file.
    ///
    /// # Errors
    ///
    /// One line: why the file cannot be read, or which line is not `NAME:PASSWORD`.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, String> {
        let path = path.into();
        let tokens = RwLock::new(read(&path)?);
        Ok(Self(Arc::new(Inner { path, tokens })))
    }

    /// Reads the file again. Authenticated connections stay.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open). The old names and passwords then stay.
    pub fn reload(&self) -> Result<(), String> {
        let tokens = read(&self.0.path)?;
        *self.0.tokens.write().unwrap_or_else(PoisonError::into_inner) = tokens;
        Ok(())
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Compares in a time that does not depend on which bytes are wrong.
    pub(super) fn admit(&self, token: &[u8]) -> bool {
        let tokens = self.0.tokens.read().unwrap_or_else(PoisonError::into_inner);
        // Not `any`, which stops at the first match.
        tokens.iter().fold(false, |found, known| found | is_same(known, token))
    }
}

/// Compares in a time that depends only on the length of the known token.
fn is_same(known: &[u8], given: &[u8]) -> bool {
    let differ = known.iter().enumerate().fold(known.len() ^ given.len(), |differ, (at, byte)| {
        let other = given.get(at).copied().unwrap_or_default();
        // Keeps the compiler from stopping early.
        black_box(differ | usize::from(byte ^ other))
    });
    differ == 0
}

fn read(path: &Path) -> Result<Vec<Vec<u8>>, String> {
    let file = std::fs::read(path)
        .map_err(|error| format!("cannot read the passwords in {}: {error}", path.display()))?;
    let mut tokens = Vec::new();
    for (at, line) in file.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end).enumerate() {
        if !line.is_empty() {
            let error = || format!("line {} of {} is not NAME:PASSWORD", at + 1, path.display());
            tokens.push(token(line).ok_or_else(error)?);
        }
    }
    if tokens.is_empty() {
        return Err(format!("{} has no line with NAME:PASSWORD", path.display()));
    }
    Ok(tokens)
}

/// What a client sends for a line. A space would end a name, so names have none.
fn token(line: &[u8]) -> Option<Vec<u8>> {
    let end = line.iter().position(|byte| *byte == b':')?;
    let mut token = line.to_vec();
    token[end] = b' ';
    (!line[..end].contains(&b' ') && token.len() <= MOST_TOKEN).then_some(token)
}

pub(super) const MOST_TOKEN: usize = 1024;

impl PartialEq for Passwords {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Passwords {}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passwords").field("path", &self.0.path).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passwords(text: &str) -> (tempfile::NamedTempFile, Result<Passwords, String>) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let passwords = Passwords::open(file.path());
        (file, passwords)
    }

    #[test]
    fn a_name_is_admitted_with_its_own_password_alone() {
        let (_file, passwords) = passwords("ann:one\r\nbob:two words:and more\n\nno:\ncat:last");
        let passwords = passwords.unwrap();
        for token in ["ann one", "bob two words:and more", "no ", "cat last"] {
            assert!(passwords.admit(token.as_bytes()), "{token}");
        }
        for token in
            ["", "ann", "ann ", "ann on", "ann onE", "ann one ", "ann two", "ann:one", "bob", " "]
        {
            assert!(!passwords.admit(token.as_bytes()), "{token}");
        }
    }

    #[test]
    fn a_file_that_is_read_again_takes_passwords_away_unless_it_is_bad() {
        let (file, passwords) = passwords("ann:one\n");
        let passwords = passwords.unwrap();
        std::fs::write(file.path(), "bob").unwrap();
        let error = passwords.clone().reload().unwrap_err();
        assert!(error.starts_with("line 1 of ") && error.ends_with(" is not NAME:PASSWORD"));
        assert!(passwords.admit(b"ann one"));
        std::fs::write(file.path(), "bob:two").unwrap();
        passwords.clone().reload().unwrap();
        assert!(passwords.admit(b"bob two") && !passwords.admit(b"ann one"));
    }

    #[test]
    fn a_file_without_names_opens_nothing_and_no_password_is_shown() {
        for bad in ["", "\n\n", "ann one", "ann:one\nbob\n", "an n:one"] {
            assert!(passwords(bad).1.is_err(), "{bad:?}");
        }
        assert!(Passwords::open("/nowhere").unwrap_err().contains("/nowhere"));
        let (_file, passwords) = passwords("ann:secret");
        assert!(!format!("{:?}", passwords.unwrap()).contains("secret"));
    }
}
