//! A revision of the user's repository in a folder of its own. The repository and its work tree stay as they are.

use std::path::{Path, PathBuf};

use crate::command::RunError;
use crate::git::{self, git};
use crate::mirror;

/// A copy of a revision, which is removed when this is dropped.
#[derive(Debug)]
pub struct Checkout {
    folder: tempfile::TempDir,
    /// The folder that stands for the user's.
    here: PathBuf,
}

impl Checkout {
    /// Makes one of the repository that `here` is in. Objects are shared with it, not copied.
    ///
    /// # Errors
    ///
    /// There is no repository or no such revision, or git fails.
    pub fn of(revision: &str, here: &Path) -> Result<Self, RunError> {
        let top = git::top(here).map_err(|_| {
            format!("a revision takes a git repository, and {} is in none", here.display())
        })?;
        let below = git(here, &["rev-parse", "--show-prefix"])?;
        let commit = git(
            here,
            &[
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                &format!("{revision}^{{commit}}"),
            ],
        )
        .map_err(|_| format!("there is no revision `{revision}`"))?;
        let folder = tempfile::Builder::new().prefix("tenure-").tempdir();
        let folder =
            folder.map_err(|error| format!("cannot make a folder for `{revision}`: {error}"))?;
        let root = folder.path().join("root");
        let tree = mirror::clone(&root, &top, &commit)?;
        mirror::link_dependencies(&root, &top)?;
        Ok(Self { folder, here: tree.join(below) })
    }

    /// The folder that stands for the user's.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.here
    }

    /// A folder for what is built from it.
    #[must_use]
    pub fn target(&self) -> PathBuf {
        self.folder.path().join("target")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        fs::create_dir(path.join("sub")).unwrap();
        git(path, &["init", "--quiet"]).unwrap();
        for text in ["old", "new"] {
            fs::write(path.join("sub/file"), text).unwrap();
            git(path, &["add", "."]).unwrap();
            let who = ["-c", "user.name=a", "-c", "user.email=a@b"];
            git(path, &[&who[..], &["commit", "--quiet", "-m", text]].concat()).unwrap();
        }
        fs::write(path.join("sub/file"), "changed").unwrap();
        folder
    }

    #[test]
    fn a_revision_is_in_a_folder_that_goes_and_the_users_tree_stays() {
        let repository = repository();
        let here = repository.path().join("sub");
        let checkout = Checkout::of("HEAD~1", &here).unwrap();
        let path = checkout.path().to_owned();
        assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "old");
        assert_eq!(fs::read_to_string(here.join("file")).unwrap(), "changed");
        drop(checkout);
        assert!(!path.exists());
        assert_eq!(git(&here, &["worktree", "list"]).unwrap().lines().count(), 1);
    }

    #[test]
    fn what_is_no_revision_or_no_repository_is_one_line() {
        let line = |revision: &str, path: &Path| match Checkout::of(revision, path) {
            Err(RunError::Failed(line)) => line,
            other => panic!("{other:?}"),
        };
        let repository = repository();
        assert_eq!(line("nothing", repository.path()), "there is no revision `nothing`");
        assert_eq!(line("--help", repository.path()), "there is no revision `--help`");
        let folder = tempfile::tempdir().unwrap();
        assert!(line("HEAD", folder.path()).starts_with("a revision takes a git repository"));
    }
}
