//! From a sample to what it touched: the instruction before, its operand, and the address that the registers give it.
//!
//! A clock interrupts a thread once the instruction that waits has retired, and a breakpoint once the access is done. So
//! the instruction is the one that ends where the thread would go on. Where it begins is not written anywhere: all
//! places before it are tried, and those from which decoding arrives at its end vote. x86 code falls into step within
//! a few instructions.

use iced_x86::{
    Code as Opcode, Decoder, DecoderOptions, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register,
};
use rustc_hash::FxHashMap;
use tenure_contend::record::Access;

use crate::callers::Callers;
use crate::sys::process::Process;
use crate::sys::{Registers, Sample};

/// Bytes before an instruction's end from which decoding is tried.
const WINDOW: usize = 64;

/// What an instruction did to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touch {
    /// The address behind the instruction; that of the call where it is of a library.
    pub(crate) code: u64,
    pub(crate) access: Access,
    pub(crate) address: u64,
    pub(crate) size: u8,
}

/// The instructions that were met.
#[derive(Debug, Default)]
pub(crate) struct Code {
    known: FxHashMap<u64, Option<Instruction>>,
    callers: Callers,
}

impl Code {
    /// Forgets everything: the program has other code now.
    pub(crate) fn clear(&mut self) {
        self.known.clear();
        self.callers = Callers::default();
    }

    /// An access as a reader finds it: in the program, where that calls a lock or an atomic operation.
    fn found(&mut self, touch: Touch, sample: &Sample, process: &Process) -> Touch {
        if self.callers.is_empty() {
            self.callers.set(process.modules());
        }
        let Some(code) = self.callers.caller(sample) else { return touch };
        // Without optimisation Rust's atomic operations are calls. A lock of the C library has plain words beside it.
        let access = match (touch.access, self.callers.is_of_library(sample)) {
            (Access::Read, false) => Access::Load,
            (Access::Write, false) => Access::Store,
            (access, _) => access,
        };
        Touch { code, access, ..touch }
    }

    /// What the instruction before a sample touched; `None` if that was no memory, or a place that the registers do not
    /// tell any more.
    pub(crate) fn touched(&mut self, sample: &Sample, process: &Process) -> Option<Touch> {
        let instruction = self.before(sample.ip, process)?;
        let registers = sample.registers.as_ref()?;
        let (access, size) = access(&instruction)?;
        let address = address(&instruction, registers)?;
        let touch = Touch { code: sample.ip, access, address, size };
        Some(self.found(touch, sample, process))
    }

    /// What the instruction before a hit did to the word that it hit.
    pub(crate) fn hit(&mut self, sample: &Sample, process: &Process) -> Option<Touch> {
        let instruction = self.before(sample.ip, process)?;
        let (access, size) = access(&instruction)?;
        let word = sample.address..sample.address + crate::sys::perf::WATCHED_BYTES;
        let address = sample.registers.as_ref().and_then(|it| address(&instruction, it));
        let is_of_word = |it: &u64| *it < word.end && it + u64::from(size) > word.start;
        let address = address.filter(is_of_word).unwrap_or(word.start);
        let touch = Touch { code: sample.ip, access, address, size };
        Some(self.found(touch, sample, process))
    }

    fn before(&mut self, end: u64, process: &Process) -> Option<Instruction> {
        let read = || {
            let mut bytes = [0; WINDOW];
            // What is mapped begins at a page: less can be had there.
            let inside = usize::try_from(end % 4096).ok()?.clamp(1, WINDOW);
            let bytes = &mut bytes[WINDOW - inside..];
            process.read(end - inside as u64, bytes).ok()?;
            before(bytes, end)
        };
        *self.known.entry(end).or_insert_with(read)
    }
}

/// The instruction that ends with these bytes, by vote.
fn before(bytes: &[u8], end: u64) -> Option<Instruction> {
    let start = end - bytes.len() as u64;
    // For each place: where the last instruction begins if decoding starts there.
    let mut last: Vec<Option<usize>> = vec![None; bytes.len()];
    let mut votes: FxHashMap<usize, usize> = FxHashMap::default();
    for at in (0..bytes.len()).rev() {
        let instruction = decoded(&bytes[at..], start + at as u64);
        if instruction.is_invalid() {
            continue;
        }
        let next = at + instruction.len();
        last[at] = if next == bytes.len() { Some(at) } else { last.get(next).copied().flatten() };
        if let Some(begin) = last[at] {
            *votes.entry(begin).or_default() += 1;
        }
    }
    // Of as many votes the longest: a prefix belongs to its instruction.
    let (begin, _) = votes.into_iter().max_by_key(|(begin, votes)| (*votes, usize::MAX - begin))?;
    Some(decoded(&bytes[begin..], start + begin as u64))
}

fn decoded(bytes: &[u8], address: u64) -> Instruction {
    Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode()
}

/// What an instruction does to memory that is not its thread's stack, and to how many bytes.
fn access(instruction: &Instruction) -> Option<(Access, u8)> {
    memory_operand(instruction)?;
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let used = info.used_memory().first()?;
    let (mut reads, mut writes) = (false, false);
    match used.access() {
        OpAccess::Read | OpAccess::CondRead => reads = true,
        OpAccess::Write | OpAccess::CondWrite => writes = true,
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => (reads, writes) = (true, true),
        OpAccess::None | OpAccess::NoMemAccess => return None,
    }
    let is_locked = instruction.has_lock_prefix() || instruction.mnemonic() == Mnemonic::Xchg;
    let access = match (instruction.mnemonic(), is_locked) {
        (Mnemonic::Cmpxchg | Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b, true) => {
            Access::CompareExchange
        }
        (Mnemonic::Add | Mnemonic::Sub | Mnemonic::Inc | Mnemonic::Dec | Mnemonic::Xadd, true) => {
            Access::Add
        }
        (_, true) => Access::Exchange,
        (_, false) if writes => Access::Write,
        (_, false) if reads => Access::Read,
        _ => return None,
    };
    let size = u8::try_from(used.memory_size().size()).unwrap_or(u8::MAX);
    Some((access, size.max(1)))
}

/// The operand that is memory; `None` for the stack's top, for strings, and for what a thread has to itself.
fn memory_operand(instruction: &Instruction) -> Option<u32> {
    let is_memory = |at: &u32| instruction.op_kind(*at) == OpKind::Memory;
    let operand = (0..instruction.op_count()).find(is_memory)?;
    let is_own = matches!(instruction.memory_segment(), Register::FS | Register::GS);
    let is_none = matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
    let is_vector = instruction.memory_index().is_vector_register();
    (!is_own && !is_none && !is_vector && instruction.code() != Opcode::INVALID).then_some(operand)
}

/// Where an instruction accessed memory, by the registers behind it.
fn address(instruction: &Instruction, registers: &Registers) -> Option<u64> {
    let operand = memory_operand(instruction)?;
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(instruction);
    let overwrites = |register: Register| {
        info.used_registers().iter().any(|used| {
            let writes = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
            writes && used.register().full_register() == register.full_register()
        })
    };
    instruction.virtual_address(operand, 0, |register, _, _| match register {
        Register::ES | Register::CS | Register::SS | Register::DS => Some(0),
        _ if overwrites(register) => None,
        _ => value(register, registers),
    })
}

fn value(register: Register, registers: &Registers) -> Option<u64> {
    /// In the order of perf's masks.
    const FIRST: [Register; 8] = [
        Register::RAX,
        Register::RBX,
        Register::RCX,
        Register::RDX,
        Register::RSI,
        Register::RDI,
        Register::RBP,
        Register::RSP,
    ];
    let full = register.full_register();
    let at = match FIRST.iter().position(|it| *it == full) {
        Some(at) => at,
        None if (Register::R8..=Register::R15).contains(&full) => {
            Registers::R8 + (full as usize - Register::R8 as usize)
        }
        None => return None,
    };
    let whole = registers.0[at];
    // Addresses of 32 bits.
    Some(if register.size() == 4 { whole & 0xffff_ffff } else { whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers() -> Registers {
        let mut registers = Registers::default();
        for (at, register) in registers.0.iter_mut().enumerate() {
            *register = 0x1000 * (at as u64 + 1);
        }
        registers
    }

    #[test]
    fn an_instruction_says_what_it_does_and_where() {
        for (about, bytes, expected) in [
            ("mov rax, [rbx+8]", &[0x48, 0x8b, 0x43, 0x08][..], Some((Access::Read, 8, 0x2008))),
            (
                "mov [rdi+rcx*4], eax",
                &[0x89, 0x04, 0x8f],
                Some((Access::Write, 4, 0x6000 + 4 * 0x3000)),
            ),
            ("lock inc qword [r9]", &[0xf0, 0x49, 0xff, 0x01], Some((Access::Add, 8, 0xb000))),
            (
                "lock xadd [rsi], rax",
                &[0xf0, 0x48, 0x0f, 0xc1, 0x06],
                Some((Access::Add, 8, 0x5000)),
            ),
            (
                "lock cmpxchg [rdx], ecx",
                &[0xf0, 0x0f, 0xb1, 0x0a],
                Some((Access::CompareExchange, 4, 0x4000)),
            ),
            ("xchg [rdx], ecx", &[0x87, 0x0a], Some((Access::Exchange, 4, 0x4000))),
            ("lock or [rdx], ecx", &[0xf0, 0x09, 0x0a], Some((Access::Exchange, 4, 0x4000))),
            ("add [rdx], ecx", &[0x01, 0x0a], Some((Access::Write, 4, 0x4000))),
            ("cmp byte [rdx], 0", &[0x80, 0x3a, 0x00], Some((Access::Read, 1, 0x4000))),
            (
                "mov eax, [rip+0x10]",
                &[0x8b, 0x05, 0x10, 0, 0, 0],
                Some((Access::Read, 4, 0x40_0050)),
            ),
            ("add r13, 1", &[0x49, 0x83, 0xc5, 0x01], None),
            ("lea rax, [rbx]", &[0x48, 0x8d, 0x03], None),
            ("mov rax, fs:[0]", &[0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0], None),
            ("push rax", &[0x50], None),
        ] {
            let end = 0x40_0040;
            let instruction = decoded(bytes, end - bytes.len() as u64);
            let found = access(&instruction).and_then(|(access, size)| {
                Some((access, size, address(&instruction, &registers())?))
            });
            assert_eq!(found, expected, "{about}");
        }
    }

    #[test]
    fn a_base_that_the_instruction_overwrote_is_gone() {
        let instruction = decoded(&[0x48, 0x8b, 0x00], 0x40_0000);
        assert_eq!(access(&instruction), Some((Access::Read, 8)));
        assert_eq!(address(&instruction, &registers()), None);
    }

    #[test]
    fn the_instruction_before_an_address_is_found_by_vote() {
        // A function as compilers write it: each of its instructions is found by its end.
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0x7d, 0xf8, 0x48, 0x8b,
            0x45, 0xf8, 0xf0, 0x48, 0xff, 0x00, 0x48, 0x8b, 0x45, 0xf8, 0x48, 0x8b, 0x40, 0x08,
            0x48, 0x01, 0xc3, 0xf0, 0x48, 0x83, 0x40, 0x40, 0x01, 0xeb, 0xe9,
        ];
        let mut decoder = Decoder::with_ip(64, &code, 0x40_0000, DecoderOptions::NONE);
        let mut checked = 0;
        while decoder.can_decode() {
            let instruction = decoder.decode();
            let end = usize::try_from(instruction.next_ip() - 0x40_0000).unwrap();
            if end < 16 {
                continue;
            }
            let found = before(&code[..end], instruction.next_ip()).unwrap();
            assert_eq!(found.ip(), instruction.ip(), "{:?}", instruction.mnemonic());
            checked += 1;
        }
        assert!(checked > 5);
        assert_eq!(before(&[0x06; 8], 0x40_0000), None);
    }
}
