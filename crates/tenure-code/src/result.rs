//! Whether the code after a call, or after an atomic instruction, uses the result.
//!
//! On x86-64 a call's is in `rax`, that of `lock xadd` in its register, and that of `lock dec` in the flags. The
//! instructions after it are followed until they read it, overwrite it or leave the function.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, Register,
};
use object::{
    Architecture, File, Object as _, ObjectSection as _, ObjectSymbol as _, ObjectSymbolTable as _,
    RelocationTarget, SectionKind,
};
use tenure_debuginfo::read::file::MappedFile;

/// Instructions that are looked at for one call.
const MAX_INSTRUCTIONS: usize = 200;

/// A longer function is not decoded.
const MAX_FUNCTION_BYTES: usize = 1 << 20;

/// The instructions of a module.
#[derive(Debug)]
pub(super) struct CodeText {
    file: MappedFile,
    /// The first address of each section, and where it lies in the file.
    sections: Vec<(u64, Range<usize>)>,
    /// Functions of other modules, by the place of the pointer through which they are called.
    imports: HashMap<u64, String>,
}

impl CodeText {
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
        let symbols = object.dynamic_symbol_table();
        let import = |(place, relocation): (u64, object::Relocation)| {
            let RelocationTarget::Symbol(index) = relocation.target() else { return None };
            let symbol = symbols.as_ref()?.symbol_by_index(index).ok()?;
            Some((place, symbol.name().ok()?.to_owned()))
        };
        let imports =
            object.dynamic_relocations().into_iter().flatten().filter_map(import).collect();
        Some(Self { file, sections, imports })
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
        let length =
            usize::try_from(to.checked_sub(from)?).ok().filter(|it| *it < MAX_FUNCTION_BYTES)?;
        let bytes = self.from(from)?.get(..length)?;
        let decoder = Decoder::with_ip(64, bytes, from, DecoderOptions::NONE);
        let all: Vec<_> = decoder.into_iter().collect();
        let is_whole = all.last().is_some_and(|it| !it.is_invalid() && it.next_ip() == to);
        is_whole.then_some(all)
    }

    /// Some instructions from an address on.
    pub(super) fn next(&self, address: u64) -> Vec<Instruction> {
        const MAX: usize = 8;
        let bytes = self.from(address).unwrap_or_default();
        let all = Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).into_iter();
        all.take(MAX).take_while(|it| !it.is_invalid()).collect()
    }

    /// The function of another module that a call calls, if it does: through a pointer, or code that jumps through one.
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
        fate(|address| self.from(address), address)
    }
}

/// Where a result is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HeldResult {
    /// A register, by its full name.
    Register(Register),
    /// Flags: the bits of `iced_x86::RflagsBits`.
    Flags(u32),
}

impl HeldResult {
    /// What is left where an instruction has not left all of a result.
    fn is_part_of(self, other: Self) -> bool {
        match (self, other) {
            (Self::Flags(one), Self::Flags(other)) => one & !other == 0,
            _ => self == other,
        }
    }
}

/// Where the result is of what ends at an address; `None` if that cannot be told.
fn held<'a>(code: impl Fn(u64) -> Option<&'a [u8]>, address: u64) -> Option<HeldResult> {
    const LONGEST_INSTRUCTION: u64 = 15;
    let ending = |length: u64| {
        let start = address.checked_sub(length)?;
        let instruction = Decoder::with_ip(64, code(start)?, start, DecoderOptions::NONE).decode();
        let is_whole = !instruction.is_invalid() && instruction.len() as u64 == length;
        is_whole.then_some(instruction)
    };
    let all = || (1..=LONGEST_INSTRUCTION).rev().filter_map(ending);
    let is_call = all().any(|it| it.code() == Code::Call_rel32_64);
    match all().find(Instruction::has_lock_prefix) {
        // Either may be a part of the other.
        Some(_) if is_call => None,
        Some(it) if it.mnemonic() == Mnemonic::Xadd => {
            Some(HeldResult::Register(it.op1_register().full_register()))
        }
        Some(it) => Some(it.rflags_modified()).filter(|flags| *flags != 0).map(HeldResult::Flags),
        None => Some(HeldResult::Register(Register::RAX)),
    }
}

/// What becomes of a result.
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
    let Some(held) = held(&code, address) else { return Fate::Unknown };
    // Where paths begin, and what is left of the result there.
    let (mut begun, mut next) = (vec![(address, held)], vec![(address, held)]);
    let mut left = MAX_INSTRUCTIONS;
    let mut fate = Fate::Lost;
    while let Some((path, mut held)) = next.pop() {
        let Some(bytes) = code(path) else { return Fate::Unknown };
        let mut decoder = Decoder::with_ip(64, bytes, path, DecoderOptions::NONE);
        loop {
            let instruction = decoder.decode();
            if instruction.is_invalid() || left == 0 {
                return Fate::Unknown;
            }
            left -= 1;
            let mut overwrites = false;
            if let HeldResult::Flags(flags) = &mut held {
                if instruction.rflags_read() & *flags != 0 {
                    return Fate::Used;
                }
                // Some instructions leave some flags: `inc` the carry, `bt` zero.
                *flags &= !instruction.rflags_modified();
                overwrites = *flags == 0;
            }
            for register in info.info(&instruction).used_registers() {
                if HeldResult::Register(register.register().full_register()) == held {
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
                    let is_begun =
                        |(at, its): &(u64, HeldResult)| *at == target && held.is_part_of(*its);
                    if !begun.iter().any(is_begun) {
                        begun.push((target, held));
                        next.push((target, held));
                    }
                    if !falls {
                        break;
                    }
                }
                Left::No => {}
                Left::ByCall => match survives(held) {
                    Some(true) => {}
                    Some(false) => break,
                    None => return Fate::Used,
                },
                Left::ByReturn => {
                    // A pair, such as an `Option<u64>`, is returned in both.
                    if matches!(held, HeldResult::Register(Register::RAX | Register::RDX)) {
                        fate = Fate::Returned;
                    }
                    break;
                }
                Left::Nowhere => return Fate::Unknown,
            }
        }
    }
    fate
}

/// Whether a result is still there after a call; `None` if it may be an argument.
fn survives(held: HeldResult) -> Option<bool> {
    use Register::{R8, R9, R12, R13, R14, R15, RBP, RBX, RCX, RDI, RDX, RSI};
    match held {
        HeldResult::Register(RBX | RBP | R12 | R13 | R14 | R15) => Some(true),
        HeldResult::Register(RDI | RSI | RDX | RCX | R8 | R9) => None,
        _ => Some(false),
    }
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
    fn the_result_of_an_atomic_instruction_is_in_its_register_or_in_the_flags() {
        // What comes before the instruction is part of a longer function.
        for (about, atomic, code, expected) in [
            ("lock dec [rdi]; je", &[0xf0, 0xff, 0x0f][..], &[0x74, 0x00, 0xc3][..], Fate::Used),
            ("lock dec [rdi]; ret", &[0xf0, 0xff, 0x0f], &[0xc3], Fate::Lost),
            (
                "lock inc [rdi]; add rbx, rax; je",
                &[0xf0, 0xff, 0x07],
                &[0x48, 0x01, 0xc3, 0x74, 0x00, 0xc3],
                Fate::Lost,
            ),
            (
                "lock sub [rdi], eax; inc ecx; jb",
                &[0xf0, 0x29, 0x07],
                &[0xff, 0xc1, 0x72, 0x00, 0xc3],
                Fate::Used,
            ),
            (
                "lock sub [rdi], eax; inc ecx; je",
                &[0xf0, 0x29, 0x07],
                &[0xff, 0xc1, 0x74, 0x00, 0xc3],
                Fate::Lost,
            ),
            (
                "lock sub [rdi], eax; bt ecx, 1; je",
                &[0xf0, 0x29, 0x07],
                &[0x0f, 0xba, 0xe1, 0x01, 0x74, 0x00, 0xc3],
                Fate::Used,
            ),
            (
                "lock sub [rdi], eax; inc ecx; bt ecx, 1; jb",
                &[0xf0, 0x29, 0x07],
                &[0xff, 0xc1, 0x0f, 0xba, 0xe1, 0x01, 0x72, 0x00, 0xc3],
                Fate::Lost,
            ),
            (
                "lock inc [rdi], which leaves the carry; jb",
                &[0xf0, 0xff, 0x07],
                &[0x72, 0x00, 0xc3],
                Fate::Lost,
            ),
            // The way over `inc` leaves zero where the other has lost it.
            (
                "lock sub [rdi], eax; jrcxz +2; inc ecx; je",
                &[0xf0, 0x29, 0x07],
                &[0xe3, 0x02, 0xff, 0xc1, 0x74, 0x00, 0xc3],
                Fate::Used,
            ),
            // What has lost zero comes to this place first, then what has not.
            (
                "lock sub [rdi], eax; jrcxz over; inc ecx; jmp end; over: jmp end; end: je",
                &[0xf0, 0x29, 0x07],
                &[0xe3, 0x04, 0xff, 0xc1, 0xeb, 0x02, 0xeb, 0x00, 0x74, 0x00, 0xc3],
                Fate::Used,
            ),
            (
                "lock xadd [rdi], rdx; mov eax, 1; ret: a pair",
                &[0xf0, 0x48, 0x0f, 0xc1, 0x17],
                &[0xb8, 1, 0, 0, 0, 0xc3],
                Fate::Returned,
            ),
            (
                "lock xadd [rdi], rdx; xor edx, edx; ret",
                &[0xf0, 0x48, 0x0f, 0xc1, 0x17],
                &[0x31, 0xd2, 0xc3],
                Fate::Lost,
            ),
            (
                "lock sub dword [rdi+8], 1; mov rbx, rdi; sete al",
                &[0xf0, 0x83, 0x6f, 0x08, 0x01],
                &[0x48, 0x89, 0xfb, 0x0f, 0x94, 0xc0, 0xc3],
                Fate::Used,
            ),
            (
                "lock xadd [rdi], ecx; cmp ecx, 1",
                &[0xf0, 0x0f, 0xc1, 0x0f],
                &[0x83, 0xf9, 0x01, 0xc3],
                Fate::Used,
            ),
            (
                "lock xadd [rdi], rcx; mov eax, ebx; ret",
                &[0xf0, 0x48, 0x0f, 0xc1, 0x0f],
                &[0x89, 0xd8, 0xc3],
                Fate::Lost,
            ),
            (
                "lock xadd [rdi], rbx; call +0; mov rax, rbx",
                &[0xf0, 0x48, 0x0f, 0xc1, 0x1f],
                &[0xe8, 0, 0, 0, 0, 0x48, 0x89, 0xd8, 0xc3],
                Fate::Used,
            ),
            (
                "lock xadd [rdi], rsi; call +0",
                &[0xf0, 0x48, 0x0f, 0xc1, 0x37],
                &[0xe8, 0, 0, 0, 0, 0xc3],
                Fate::Used,
            ),
            (
                "mov eax, ebp; lock dec [rbx+8]",
                &[0x89, 0xe8, 0xf0, 0xff, 0x4b, 0x08],
                &[0xc3],
                Fate::Unknown,
            ),
            ("call +0; test al, al", &[0xe8, 0, 0, 0, 0], &[0x84, 0xc0], Fate::Used),
        ] {
            let all = [&[0x90; 16][..], atomic, code].concat();
            let at = |address: u64| all.get(usize::try_from(address.checked_sub(0x1000)?).ok()?..);
            let end = 0x1010 + atomic.len() as u64;
            assert_eq!(fate(at, end), expected, "{about}");
        }
    }

    #[test]
    fn endless_code_ends() {
        let code = vec![0x90; 10_000];
        assert_eq!(fate(|address| code.get(usize::try_from(address).ok()?..), 0), Fate::Unknown);
    }
}
