//! Where a function's variables are: in which register, or at which place of its frame, for which addresses of code.

use gimli::{Expression, Operation};

use super::entries::{Entries, Slice, Unit};
use super::scopes;
use super::units::Reader;

/// Variables of one function that are looked at.
const MAX_VARIABLES: usize = 1 << 12;

/// A register by DWARF's number.
pub type Register = u16;

/// Where a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariableLocation {
    /// It is the register's value.
    In(Register),
    /// A distance from what a register has.
    Near(Register, i64),
    /// A distance from where the stack pointer was before the call.
    InFrame(i64),
}

/// A variable, for some addresses.
#[derive(Debug)]
pub struct Located {
    range: gimli::Range,
    /// Where it is.
    pub place: VariableLocation,
    /// Its type's entry in `.debug_info`.
    pub ty: usize,
}

impl Located {
    /// Whether that is so at an address of code.
    pub fn holds(&self, address: u64) -> bool {
        (self.range.begin..self.range.end).contains(&address)
    }
}

/// A function, with what it has inlined.
#[derive(Debug)]
pub struct LocatedFunction {
    /// The part of it that an address lies in.
    pub code: gimli::Range,
    /// Its variables, and those of what it has inlined.
    pub variables: Vec<Located>,
}

impl LocatedFunction {
    /// The function that an address lies in.
    pub fn at(reader: &Reader<'_>, address: u64) -> Option<Self> {
        let (which, levels) = scopes::levels(reader, address)?;
        let unit = reader.unit(which)?;
        let start = unit.header.offset().0;
        let mut entries = Entries::from(&unit, levels.first()?.at.checked_sub(start))?;
        let mut function: Option<Self> = None;
        let mut base = None;
        // The blocks around an entry, with their ranges.
        let mut blocks: Vec<(isize, Vec<gimli::Range>)> = Vec::new();
        while entries.advance() && (entries.depth > 0 || function.is_none()) {
            while blocks.last().is_some_and(|(depth, _)| *depth >= entries.depth) {
                blocks.pop();
            }
            let ranges = || entries.ranges(&reader.dwarf, &unit).collect::<Vec<_>>();
            match entries.tag {
                gimli::DW_TAG_subprogram if function.is_none() => {
                    let ranges = ranges();
                    let holds = |range: &&gimli::Range| (range.begin..range.end).contains(&address);
                    let code = *ranges.iter().find(holds)?;
                    base = entries
                        .get(gimli::DW_AT_frame_base)
                        .and_then(|value| only(&unit, value.exprloc_value()?));
                    function = Some(Self { code, variables: Vec::new() });
                    blocks.push((entries.depth, ranges));
                }
                gimli::DW_TAG_inlined_subroutine | gimli::DW_TAG_lexical_block => {
                    blocks.push((entries.depth, ranges()));
                }
                gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable => {
                    let variables = &mut function.as_mut()?.variables;
                    let block = blocks.last().map_or(&[][..], |(_, ranges)| ranges);
                    located(reader, &unit, &entries, base, block, variables);
                    if variables.len() > MAX_VARIABLES {
                        break;
                    }
                }
                _ => {}
            }
        }
        function
    }
}

/// Adds where a variable is.
fn located<'a>(
    reader: &Reader<'a>,
    unit: &Unit<'a>,
    entry: &Entries<'_, 'a>,
    base: Option<VariableLocation>,
    block: &[gimli::Range],
    found: &mut Vec<Located>,
) -> Option<()> {
    let value = entry.get(gimli::DW_AT_location)?;
    // Of an inlined function the type stands in what the entry is a copy of.
    let at = unit.header.offset().0 + entry.offset;
    let ty = reader.ask(at, |unit, entry| Reader::target(unit, entry.get(gimli::DW_AT_type)?))?;
    let place = |expression| match only(unit, expression)? {
        VariableLocation::InFrame(offset) => match base? {
            VariableLocation::In(register) => Some(VariableLocation::Near(register, offset)),
            VariableLocation::Near(register, from) => {
                Some(VariableLocation::Near(register, from.checked_add(offset)?))
            }
            VariableLocation::InFrame(from) => {
                Some(VariableLocation::InFrame(from.checked_add(offset)?))
            }
        },
        place => Some(place),
    };
    if let Some(expression) = value.exprloc_value() {
        let place = place(expression)?;
        found.extend(block.iter().map(|range| Located { range: *range, place, ty }));
        return Some(());
    }
    let mut list = reader.dwarf.attr_locations(unit, value).ok()??;
    while let Ok(Some(entry)) = list.next()
        && found.len() <= MAX_VARIABLES
    {
        if let Some(place) = place(entry.data) {
            found.push(Located { range: entry.range, place, ty });
        }
    }
    Some(())
}

/// The place that an expression of one operation says; a frame's start is 0 of [`VariableLocation::InFrame`].
fn only<'a>(unit: &Unit<'a>, expression: Expression<Slice<'a>>) -> Option<VariableLocation> {
    let mut operations = expression.operations(unit.encoding());
    let place = match operations.next().ok()?? {
        Operation::Register { register } => VariableLocation::In(register.0),
        Operation::RegisterOffset { register, offset, .. } => {
            VariableLocation::Near(register.0, offset)
        }
        Operation::FrameOffset { offset } => VariableLocation::InFrame(offset),
        Operation::CallFrameCFA => VariableLocation::InFrame(0),
        _ => return None,
    };
    operations.next().ok()?.is_none().then_some(place)
}
