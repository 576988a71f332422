use std::fmt;

use crate::model::Malformed;

#[derive(Debug)]
pub(super) struct DwarfFault(String);

impl DwarfFault {
    pub(super) fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }

    pub(super) fn at(self, of: &str, offset: u64) -> Self {
        Self(format!("{of} offset {offset:#x}: {}", self.0))
    }

    pub(super) fn within(self, name: &str) -> Self {
        match name.is_empty() {
            true => self,
            false => Self(format!("{name}: {}", self.0)),
        }
    }
}

impl From<gimli::Error> for DwarfFault {
    fn from(error: gimli::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<DwarfFault> for Malformed {
    fn from(fault: DwarfFault) -> Self {
        Self::new(fault.0)
    }
}

impl fmt::Display for DwarfFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
