//! The function that an address lies in, and the functions inlined there.

use super::entries::Entries;
use super::spans::Spans;
use super::units::Reader;

/// Units that are asked for one address: their ranges may overlap.
pub(super) const MAX_UNITS: usize = 32;

/// A function, outer or inlined.
#[derive(Debug)]
pub struct FunctionLevel {
    /// Its entry's place in `.debug_info`.
    pub at: usize,
    /// File and line of the call, for an inlined function.
    pub called: Option<(u64, u32)>,
    /// The entries of its variables in scope, parameters first.
    pub variables: Vec<usize>,
}

/// The functions at an address, the outermost first, and the unit that they are in.
pub fn levels(reader: &Reader<'_>, address: u64) -> Option<(usize, Vec<FunctionLevel>)> {
    reader.units_at(address).take(MAX_UNITS).find_map(|which| {
        let functions = functions(reader, which)?;
        let levels = functions.at(address).find_map(|at| within(reader, which, at, address))?;
        Some((which, levels))
    })
}

/// The functions of a unit, by offset.
fn functions<'a>(reader: &Reader<'a>, which: usize) -> Option<&'a Spans> {
    let unit = reader.unit(which)?;
    Some(reader.kept(which).functions.get_or_init(|| {
        let mut spans = Spans::default();
        let Some(mut entries) = Entries::from(&unit, None) else { return spans };
        while entries.advance() {
            if entries.tag == gimli::DW_TAG_subprogram {
                let at = entries.offset;
                entries.ranges(&reader.dwarf, &unit).for_each(|range| spans.push(range, at));
            }
        }
        spans.sorted()
    }))
}

fn within(
    reader: &Reader<'_>,
    which: usize,
    offset: usize,
    address: u64,
) -> Option<Vec<FunctionLevel>> {
    let unit = reader.unit(which)?;
    let start = unit.header.offset().0;
    let mut entries = Entries::from(&unit, Some(offset))?;
    let mut levels = Vec::new();
    // The depth of the innermost block around the address.
    let mut inside = 0;
    while entries.advance() {
        // Behind the innermost block; what the blocks around it still hold is not of interest.
        if entries.depth <= inside && !levels.is_empty() {
            break;
        }
        // In a block that does not hold the address.
        if entries.depth > inside + 1 {
            continue;
        }
        match entries.tag {
            gimli::DW_TAG_subprogram if levels.is_empty() => {
                let variables = Vec::new();
                levels.push(FunctionLevel { at: start + offset, called: None, variables });
            }
            gimli::DW_TAG_inlined_subroutine | gimli::DW_TAG_lexical_block => {
                let mut ranges = entries.ranges(&reader.dwarf, &unit);
                if !ranges.any(|range| (range.begin..range.end).contains(&address)) {
                    continue;
                }
                inside = entries.depth;
                if entries.tag == gimli::DW_TAG_inlined_subroutine {
                    let file = entries.number(gimli::DW_AT_call_file).unwrap_or(0);
                    let line = entries.number(gimli::DW_AT_call_line).unwrap_or(0);
                    levels.push(FunctionLevel {
                        at: start + entries.offset,
                        called: Some((file, u32::try_from(line).unwrap_or(0))),
                        variables: Vec::new(),
                    });
                }
            }
            gimli::DW_TAG_formal_parameter | gimli::DW_TAG_variable => {
                if let Some(level) = levels.last_mut() {
                    level.variables.push(start + entries.offset);
                }
            }
            _ => {}
        }
    }
    (!levels.is_empty()).then_some(levels)
}
