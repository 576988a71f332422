//! Prototypes of functions: the types of their parameters, and of what they return.

use super::index::{Index, NO_TYPE};
use super::names::{Names, NoName};
use super::record::BtfKind;
use crate::model::{Builder, Name, TypeId};

/// As many parameters as the System V calling convention of x86-64 passes in general registers.
const MAX_PARAMETERS: u32 = 6;

/// Bytes of a parameter in the file: its name and its type.
const PARAMETER: usize = 8;

/// How a function is declared.
#[derive(Debug)]
pub struct Prototype {
    /// Its name.
    pub name: Name,
    /// The type of what it returns.
    pub returns: TypeId,
    /// The first ones. Variable arguments are one of type `void`.
    pub parameters: Box<[TypeId]>,
}

/// Those of all functions. One that cannot be read is left out: the types do without it.
pub(super) fn read(index: &Index<'_>, names: &mut Names<'_>) -> Vec<Prototype> {
    let mut prototypes = Vec::new();
    for id in 1..index.len() {
        let Some((name, returns, parameters)) = function(index, id) else { continue };
        match names.at(name) {
            Ok(name) => prototypes.push(Prototype { name, returns, parameters }),
            Err(NoName::Beyond) => {}
            // To look for more would take time without bound.
            Err(NoName::TooMuch) => break,
        }
    }
    prototypes
}

fn function(index: &Index<'_>, id: u32) -> Option<(u32, TypeId, Box<[TypeId]>)> {
    let (function, _) = index.record(id)?;
    if function.kind != BtfKind::Func {
        return None;
    }
    let (declared, part) = index.record(function.word)?;
    if declared.kind != BtfKind::FuncProto {
        return None;
    }
    let type_at = |id| index.place(id).filter(|place| *place != NO_TYPE).map(Builder::nth);
    let words = part.sections.types;
    let count = declared.count.min(MAX_PARAMETERS) as usize;
    let types = (0..count).map(|which| words.at(declared.rest + PARAMETER * which + 4));
    let parameters = types.map(|ty| type_at(ty?)).collect::<Option<_>>()?;
    Some((function.name, type_at(declared.word)?, parameters))
}
