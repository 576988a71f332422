//! Whether the code after a call, or after an atomic instruction, uses the result.
//!
//! The module of an architecture says which registers hold the result, and what each instruction reads, overwrites and
//! leads to. The instructions after the call are followed here until they read the result, overwrite it or leave the
//! function.

mod aarch64;
mod x86_64;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction};
use object::{
    Architecture, File, Object as _, ObjectSection as _, ObjectSymbol as _, ObjectSymbolTable as _,
    RelocationTarget, SectionKind,
};
use tenure_debuginfo::read::file::MappedFile;

/// Instructions that are followed for one call.
const MAX_INSTRUCTIONS: usize = 200;

/// A longer function is not decoded.
const MAX_FUNCTION_BYTES: usize = 1 << 20;

/// The instructions of a module.
#[derive(Debug)]
pub(super) struct CodeText {
    file: MappedFile,
    architecture: Architecture,
    /// The first address of each section, and where it lies in the file.
    sections: Vec<(u64, Range<usize>)>,
    /// Functions of other modules, by the place of the pointer through which they are called.
    imports: HashMap<u64, String>,
}

impl CodeText {
    /// `None` for a file that is neither for x86-64 nor for aarch64.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = MappedFile::open(path).ok()?;
        let object = File::parse(file.bytes()).ok()?;
        let architecture = object.architecture();
        Processor::of(architecture).filter(|_| object.is_little_endian())?;
        let text = object.sections().filter(|section| section.kind() == SectionKind::Text);
        let sections = text.filter_map(|section| {
            let (start, length) = section.file_range()?;
            let start = usize::try_from(start).ok()?;
            let end = start.checked_add(usize::try_from(length).ok()?)?;
            Some((section.address(), start..end))
        });
        let sections = sections.collect();
        let symbols = object.dynamic_symbol_table();
        let import = |(place, relocation): (u64, object::Relocation)| {
            let RelocationTarget::Symbol(index) = relocation.target() else { return None };
            let symbol = symbols.as_ref()?.symbol_by_index(index).ok()?;
            Some((place, symbol.name().ok()?.to_owned()))
        };
        let imports =
            object.dynamic_relocations().into_iter().flatten().filter_map(import).collect();
        Some(Self { file, architecture, sections, imports })
    }

    /// Bytes of code.
    pub(super) fn length(&self) -> usize {
        self.sections.iter().map(|(_, range)| range.len()).sum()
    }

    /// The bytes from an address to the end of its section.
    pub(super) fn from(&self, address: u64) -> Option<&[u8]> {
        self.sections.iter().find_map(|(start, range)| {
            let inside = usize::try_from(address.checked_sub(*start)?).ok()?;
            let bytes = self.file.bytes().get(range.clone())?.get(inside..)?;
            (!bytes.is_empty()).then_some(bytes)
        })
    }

    fn is_x86_64(&self) -> bool {
        self.architecture == Architecture::X86_64
    }

    /// The instructions from an address to another where one ends; `None` if none does, or the code is not for x86-64.
    pub(super) fn instructions(&self, from: u64, to: u64) -> Option<Vec<Instruction>> {
        if !self.is_x86_64() {
            return None;
        }
        let length =
            usize::try_from(to.checked_sub(from)?).ok().filter(|it| *it < MAX_FUNCTION_BYTES)?;
        let bytes = self.from(from)?.get(..length)?;
        let decoder = Decoder::with_ip(64, bytes, from, DecoderOptions::NONE);
        let all: Vec<_> = decoder.into_iter().collect();
        let is_whole = all.last().is_some_and(|it| !it.is_invalid() && it.next_ip() == to);
        is_whole.then_some(all)
    }

    /// Some instructions from an address on; none if the code is not for x86-64.
    pub(super) fn next(&self, address: u64) -> Vec<Instruction> {
        const MAX: usize = 8;
        let bytes = self.from(address).filter(|_| self.is_x86_64()).unwrap_or_default();
        let all = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter();
        all.take(MAX).take_while(|it| !it.is_invalid()).collect()
    }

    /// The function of another module that a call of x86-64 calls, if it does: through a pointer, or code that jumps
    /// through one.
    pub(super) fn import(&self, call: &Instruction) -> Option<&str> {
        let pointer = match call.flow_control() {
            FlowControl::IndirectCall => call,
            FlowControl::Call => {
                let target = call.near_branch_target();
                let code = Decoder::with_ip(64, self.from(target)?, target, DecoderOptions::NONE);
                // Where jumps are guarded, an `endbr64` comes first.
                let mut first = code.into_iter().take(2);
                &first.find(|it| it.flow_control() == FlowControl::IndirectBranch)?
            }
            _ => return None,
        };
        let is_fixed = pointer.is_ip_rel_memory_operand();
        let place = is_fixed.then(|| pointer.ip_rel_memory_address())?;
        self.imports.get(&place).map(String::as_str)
    }

    /// What becomes of the result of the call or the atomic instruction that ends at this address.
    pub(super) fn fate(&self, address: u64) -> Fate {
        let processor = Processor::of(self.architecture);
        processor.map_or(Fate::Unknown, |it| it.fate(&|address| self.from(address), address))
    }
}

/// What becomes of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// An instruction reads it.
    Used,
    /// It is overwritten on all paths.
    Lost,
    /// The function ends with it in the first register for what functions return (0) or in the second (1), so it is what
    /// the function returns, if that returns anything there.
    Returned { register: u64 },
    /// The code cannot be followed.
    Unknown,
}

/// Gives the bytes from an address on.
type CodeBytes<'f, 'a> = &'f dyn Fn(u64) -> Option<&'a [u8]>;

/// Registers and flags, a bit for each. The architecture's module says which bit is which.
type RegisterSet = u64;

/// What one instruction does to the registers.
#[derive(Debug)]
struct Step {
    /// Bytes.
    length: u64,
    reads: RegisterSet,
    /// Those of whose value nothing is left.
    overwrites: RegisterSet,
    left: Left,
}

/// Where an instruction leads, other than on.
#[derive(Debug)]
enum Left {
    No,
    To {
        target: u64,
        falls: bool,
    },
    /// To a function, if its address is known, which may read what some registers hold.
    ByCall {
        callee: Option<u64>,
        arguments: RegisterSet,
    },
    ByReturn,
    /// The program ends.
    ByTrap,
    Nowhere,
}

/// What differs between architectures.
struct Processor {
    /// Where the search for a use of the result begins, and what holds the result there; `None` if that cannot be told.
    begin: fn(CodeBytes<'_, '_>, u64) -> Option<(u64, RegisterSet)>,
    /// What the instruction at an address does; `None` if that is not known.
    step: fn(CodeBytes<'_, '_>, u64) -> Option<Step>,
    /// Where a function returns a value: a pair, such as an `Option<u64>`, is in both.
    returned: [RegisterSet; 2],
}

impl Processor {
    fn of(architecture: Architecture) -> Option<&'static Self> {
        match architecture {
            Architecture::X86_64 => Some(&x86_64::X86_64),
            Architecture::Aarch64 => Some(&aarch64::AARCH64),
            _ => None,
        }
    }

    /// `code` has the bytes from an address on.
    fn fate(&self, code: CodeBytes<'_, '_>, address: u64) -> Fate {
        let Some((begin, held)) = (self.begin)(code, address) else { return Fate::Unknown };
        let left = MAX_INSTRUCTIONS;
        let mut search = ResultSearch { processor: self, code, left, is_cut: false };
        let Some(held) = search.follow(begin, held) else { return Fate::Used };
        match self.returned.map(|register| held & register != 0) {
            _ if search.is_cut => Fate::Unknown,
            [true, _] => Fate::Returned { register: 0 },
            [_, true] => Fate::Returned { register: 1 },
            _ => Fate::Lost,
        }
    }
}

/// A search for what uses a result.
struct ResultSearch<'f, 'a> {
    processor: &'f Processor,
    code: CodeBytes<'f, 'a>,
    /// Instructions that it may still follow.
    left: usize,
    /// Whether it could not follow a path to its end, on which the result may be used.
    is_cut: bool,
}

impl ResultSearch<'_, '_> {
    /// What is left of a result where the function returns; `None` if an instruction uses the result.
    fn follow(&mut self, begin: u64, held: RegisterSet) -> Option<RegisterSet> {
        // Where paths begin, and what is left of the result there.
        let (mut begun, mut next) = (vec![(begin, held)], vec![(begin, held)]);
        let mut returned = 0;
        while let Some((mut at, mut held)) = next.pop() {
            while held != 0 {
                let step = self.left.checked_sub(1).and_then(|left| {
                    self.left = left;
                    (self.processor.step)(self.code, at)
                });
                let Some(step) = step else {
                    self.is_cut = true;
                    break;
                };
                if step.reads & held != 0 {
                    return None;
                }
                let before = held;
                held &= !step.overwrites;
                match step.left {
                    Left::No => {}
                    Left::To { target, falls } => {
                        let is_begun =
                            |(at, its): &(u64, RegisterSet)| *at == target && held & !its == 0;
                        if !begun.iter().any(is_begun) {
                            begun.push((target, held));
                            next.push((target, held));
                        }
                        if !falls {
                            break;
                        }
                    }
                    Left::ByCall { callee, arguments } => match (before & arguments, callee) {
                        (0, _) => {}
                        (passed, Some(callee)) => held |= self.follow(callee, passed)?,
                        (_, None) => self.is_cut = true,
                    },
                    Left::ByReturn => {
                        returned |= held;
                        break;
                    }
                    Left::ByTrap => break,
                    Left::Nowhere => {
                        self.is_cut = true;
                        break;
                    }
                }
                at = at.wrapping_add(step.length);
            }
        }
        Some(returned)
    }
}

#[cfg(test)]
mod tests {
    use object::write::Object;
    use object::{BinaryFormat, Endianness};

    use super::*;

    /// A file of this code.
    fn text(architecture: Architecture, endianness: Endianness, code: &[u8]) -> Option<CodeText> {
        let mut object = Object::new(BinaryFormat::Elf, architecture, endianness);
        let section = object.add_section(Vec::new(), b".text".to_vec(), SectionKind::Text);
        object.append_section_data(section, code, 4);
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), object.write().unwrap()).unwrap();
        CodeText::open(file.path())
    }

    #[test]
    fn results_are_followed_on_two_architectures_and_instructions_listed_on_one() {
        use Architecture::{Aarch64, Riscv64, X86_64};
        // call .; xor eax, eax; ret.
        let x86_64 = [0xe8, 0xfb, 0xff, 0xff, 0xff, 0x31, 0xc0, 0xc3];
        // bl .; mov w0, #0; ret.
        let aarch64 = [0x9400_0000, 0x5280_0000, 0xd65f_03c0_u32].map(u32::to_le_bytes).concat();
        for (architecture, code, end, listed) in
            [(X86_64, &x86_64[..], 5, Some(1)), (Aarch64, &aarch64, 4, None)]
        {
            let text = text(architecture, Endianness::Little, code).unwrap();
            assert_eq!(text.fate(end), Fate::Lost);
            assert_eq!(text.instructions(0, end).map(|all| all.len()), listed);
            assert_eq!(text.next(end).is_empty(), listed.is_none());
        }
        assert!(text(Riscv64, Endianness::Little, &aarch64).is_none());
        assert!(text(Aarch64, Endianness::Big, &aarch64).is_none());
    }
}
