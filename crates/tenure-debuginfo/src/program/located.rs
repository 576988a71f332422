//! Where a function's variables are: in which register, or at which place of its frame, for which addresses of code.

use super::entries::{Entries, Unit};
pub use super::place::Register;
use super::place::{Base, VariablePlace, frame_base, places};
use super::scopes;
use super::units::Reader;

/// Variables of one function that are looked at.
const MAX_VARIABLES: usize = 1 << 12;

/// A variable, for some addresses.
#[derive(Debug)]
pub struct Located {
    range: gimli::Range,
    /// Where it is.
    pub place: VariablePlace,
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
                        .and_then(|value| frame_base(&unit, value.exprloc_value()?));
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
    base: Option<(Base, i64)>,
    block: &[gimli::Range],
    found: &mut Vec<Located>,
) -> Option<()> {
    let value = entry.get(gimli::DW_AT_location)?;
    // Of an inlined function the type stands in what the entry is a copy of.
    let at = unit.header.offset().0 + entry.offset;
    let ty = reader.ask(at, |unit, entry| Reader::target(unit, entry.get(gimli::DW_AT_type)?))?;
    let place = |expression| {
        let mut whole = None;
        let is_whole = places(unit, expression, base, |_, place| whole = Some(place))?;
        whole.filter(|_| is_whole)
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
