//! Whether the code behind a call uses what the call returned.
//!
//! On x86-64 that is in `rax`. The instructions behind the call are followed until they read it, overwrite it or leave
//! the function.

use std::ops::Range;
use std::path::Path;

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, OpAccess, Register,
};
use object::{Architecture, File, Object as _, ObjectSection as _, SectionKind};

use crate::read::file::MappedFile;

/// Instructions that are looked at for one call.
const MOST_INSTRUCTIONS: usize = 200;

/// A longer function is not decoded.
const LONGEST: usize = 1 << 20;

/// The instructions of a module.
#[derive(Debug)]
pub(super) struct Text {
    file: MappedFile,
    /// The first address of each section, and where it lies in the file.
    sections: Vec<(u64, Range<usize>)>,
}

impl Text {
    /// `None` for a file that is not for x86-64.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let file = MappedFile::open(path).ok()?;
        let object = File::parse(file.bytes()).ok()?;
        if object.architecture() != Architecture::X86_64 {
            return None;
        }
        let text = object.sections().filter(|section| section.kind() == SectionKind::Text);
        let sections = text.filter_map(|section| {
            let (start, length) = section.file_range()?;
            let start = usize::try_from(start).ok()?;
            let end = start.checked_add(usize::try_from(length).ok()?)?;
            Some((section.address(), start..end))
        });
        let sections = sections.collect();
        Some(Self { file, sections })
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

    /// The instructions from an address to another where one ends; `None` if none does.
    pub(super) fn instructions(&self, from: u64, to: u64) -> Option<Vec<Instruction>> {
        let length = usize::try_from(to.checked_sub(from)?).ok().filter(|it| *it < LONGEST)?;
        let bytes = self.from(from)?.get(..length)?;
        let decoder = Decoder::with_ip(64, bytes, from, DecoderOptions::NONE);
        let all: Vec<_> = decoder.into_iter().collect();
        let is_whole = all.last().is_some_and(|it| !it.is_invalid() && it.next_ip() == to);
        is_whole.then_some(all)
    }

    /// What becomes of the result of the call that returns to this address.
    pub(super) fn fate(&self, address: u64) -> Fate {
        fate(|address| self.from(address), address)
    }
}

/// What becomes of the result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// An instruction reads it.
    Used,
    /// It is overwritten on all paths.
    Lost,
    /// The function ends with it, so it is what the function returns, if that returns anything.
    Returned,
    /// The code cannot be followed.
    Unknown,
}

/// `code` has the bytes from an address on.
fn fate<'a>(code: impl Fn(u64) -> Option<&'a [u8]>, address: u64) -> Fate {
    let mut info = InstructionInfoFactory::new();
    let (mut begun, mut next) = (vec![address], vec![address]);
    let mut left = MOST_INSTRUCTIONS;
    let mut fate = Fate::Lost;
    while let Some(path) = next.pop() {
        let Some(bytes) = code(path) else { return Fate::Unknown };
        let mut decoder = Decoder::with_ip(64, bytes, path, DecoderOptions::NONE);
        loop {
            let instruction = decoder.decode();
            if instruction.is_invalid() || left == 0 {
                return Fate::Unknown;
            }
            left -= 1;
            let mut overwrites = false;
            for register in info.info(&instruction).used_registers() {
                if register.register().full_register() == Register::RAX {
                    match register.access() {
                        // A write to a part of the register leaves the rest.
                        OpAccess::Write => overwrites |= register.register().size() >= 4,
                        OpAccess::CondWrite | OpAccess::NoMemAccess | OpAccess::None => {}
                        _ => return Fate::Used,
                    }
                }
            }
            if overwrites {
                break;
            }
            match left_by(&instruction) {
                Left::To { target, falls } => {
                    if !begun.contains(&target) {
                        begun.push(target);
                        next.push(target);
                    }
                    if !falls {
                        break;
                    }
                }
                Left::No => {}
                Left::ByCall => break,
                Left::ByReturn => {
                    fate = Fate::Returned;
                    break;
                }
                Left::Nowhere => return Fate::Unknown,
            }
        }
    }
    fate
}

/// Where an instruction goes, other than on.
enum Left {
    No,
    To {
        target: u64,
        falls: bool,
    },
    /// A function that is called overwrites the register.
    ByCall,
    ByReturn,
    Nowhere,
}

fn left_by(instruction: &Instruction) -> Left {
    match instruction.flow_control() {
        FlowControl::Next => Left::No,
        FlowControl::UnconditionalBranch => {
            Left::To { target: instruction.near_branch_target(), falls: false }
        }
        FlowControl::ConditionalBranch => {
            Left::To { target: instruction.near_branch_target(), falls: true }
        }
        FlowControl::Call | FlowControl::IndirectCall => Left::ByCall,
        FlowControl::Return => Left::ByReturn,
        FlowControl::Exception => Left::ByCall,
        _ => Left::Nowhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_used_lost_or_returned() {
        for (about, code, expected) in [
            ("mov rbx, rax", &[0x48, 0x89, 0xc3][..], Fate::Used),
            ("test al, al", &[0x84, 0xc0], Fate::Used),
            ("cmp eax, 1", &[0x83, 0xf8, 0x01], Fate::Used),
            ("mov [rsp], rax", &[0x48, 0x89, 0x04, 0x24], Fate::Used),
            ("call rax", &[0xff, 0xd0], Fate::Used),
            ("xor eax, eax; ret", &[0x31, 0xc0, 0xc3], Fate::Lost),
            ("mov eax, [rdi]; ret", &[0x8b, 0x07, 0xc3], Fate::Lost),
            ("mov rdi, rbx; call +0", &[0x48, 0x89, 0xdf, 0xe8, 0, 0, 0, 0], Fate::Lost),
            ("pop rbx; ret", &[0x5b, 0xc3], Fate::Returned),
            // A part of the result is left.
            ("mov al, 1; ret", &[0xb0, 0x01, 0xc3], Fate::Returned),
            (
                "dec rbx; je +2; xor eax, eax; ret",
                &[0x48, 0xff, 0xcb, 0x74, 0x02, 0x31, 0xc0, 0xc3],
                Fate::Returned,
            ),
            (
                "dec rbx; jne back; call +0",
                &[0x48, 0xff, 0xcb, 0x75, 0xfb, 0xe8, 0, 0, 0, 0],
                Fate::Lost,
            ),
            ("jmp over an int3; mov rcx, rax", &[0xeb, 0x01, 0xcc, 0x48, 0x89, 0xc1], Fate::Used),
            ("jmp rbx", &[0xff, 0xe3], Fate::Unknown),
            ("the end of the code", &[0x90], Fate::Unknown),
            ("no instruction", &[0x06], Fate::Unknown),
        ] {
            let at = |address: u64| code.get(usize::try_from(address.checked_sub(0x1000)?).ok()?..);
            assert_eq!(fate(at, 0x1000), expected, "{about}");
        }
    }

    #[test]
    fn endless_code_ends() {
        let code = vec![0x90; 10_000];
        let at = |address: u64| code.get(usize::try_from(address).ok()?..);
        assert_eq!(fate(at, 0), Fate::Unknown);
    }
}
