//! The machines that come with this crate: the files in `machines/`.

use super::Machine;
use crate::error::Error;
use std::sync::OnceLock;

const FILES: [&str; 10] = [
    include_str!("../../machines/xeon-2s-112.toml"),
    include_str!("../../machines/epyc-2s-256.toml"),
    include_str!("../../machines/graviton-64.toml"),
    include_str!("../../machines/power8-16s-192.toml"),
    // Those of which published measurements exist that the simulator is compared with.
    include_str!("../../machines/skylake-4.toml"),
    include_str!("../../machines/graviton2-16.toml"),
    include_str!("../../machines/x86-32.toml"),
    include_str!("../../machines/xeon-2s-80.toml"),
    include_str!("../../machines/epyc-vm-near.toml"),
    include_str!("../../machines/epyc-vm-far.toml"),
];

/// All of them, read once.
pub(super) fn all() -> &'static [Machine] {
    static ALL: OnceLock<Vec<Machine>> = OnceLock::new();
    let read = |text: &&str| Machine::from_toml(text).expect("a test reads every file");
    ALL.get_or_init(|| FILES.iter().map(read).collect())
}

pub(super) fn find(name: &str) -> Result<Machine, Error> {
    let found = all().iter().find(|machine| machine.name == name);
    found.cloned().ok_or_else(|| Error::UnknownMachine {
        name: name.to_owned(),
        known: all().iter().map(|machine| machine.name.clone()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_sound_says_its_sources_and_has_a_name_of_its_own() {
        let mut names: Vec<String> = all()
            .iter()
            .map(|machine| {
                assert!(!machine.sources.is_empty(), "{}", machine.name);
                assert_eq!(Machine::from_toml(&machine.to_toml()).unwrap(), *machine);
                machine.name.clone()
            })
            .collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), FILES.len());
    }
}
