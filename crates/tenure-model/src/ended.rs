use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Ended {
    /// It exited.
    Exited {
        /// The exit status.
        status: i32,
    },
    /// A signal ended it.
    Killed {
        /// The signal: its name in JSON, such as `SIGTERM`.
        #[serde(with = "name")]
        #[schemars(with = "String")]
        signal: i32,
    },
    /// It had not ended when the report was made.
    Running,
    /// It ended; how is not known.
    Unknown,
}

impl Ended {
    /// The exit status of a command that stands for the program: 128 and the signal's number, as in shells.
    #[must_use]
    pub fn status(self) -> u8 {
        let number = match self {
            Self::Exited { status } => status,
            Self::Killed { signal } => 128 + signal,
            Self::Running | Self::Unknown => 0,
        };
        // A status has eight bits.
        number.to_le_bytes()[0]
    }
}

/// The name of a signal: `SIGTERM`; `signal 40` of one that has none here.
#[must_use]
pub fn signal_name(number: i32) -> String {
    let name = SIGNALS.iter().find(|(known, _)| *known == number);
    name.map_or_else(|| format!("{OTHER}{number}"), |(_, name)| (*name).to_owned())
}

const OTHER: &str = "signal ";

const SIGNALS: [(i32, &str); 9] = [
    (1, "SIGHUP"),
    (2, "SIGINT"),
    (3, "SIGQUIT"),
    (4, "SIGILL"),
    (6, "SIGABRT"),
    (8, "SIGFPE"),
    (9, "SIGKILL"),
    (11, "SIGSEGV"),
    (15, "SIGTERM"),
];

mod name {
    use super::{OTHER, SIGNALS, signal_name};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(signal: &i32, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&signal_name(*signal))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
        let name = String::deserialize(from)?;
        let known = SIGNALS.iter().find(|(_, known)| *known == name).map(|(number, _)| *number);
        let number = known.or_else(|| name.strip_prefix(OTHER)?.parse().ok());
        number.ok_or_else(|| D::Error::custom(format!("{name:?} is no signal")))
    }
}
