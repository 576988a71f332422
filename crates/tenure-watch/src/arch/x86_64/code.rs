//! Instructions: which one a thread has executed last, what it did to memory, and where.
//!
//! The instruction is the one that ends where the thread would go on. Where it begins is not written anywhere: all places
//! before it are tried, and those from which decoding arrives at its end vote. The code falls into step within a few
//! instructions.
//!
//! Processors retire several instructions at once, so that the clock may interrupt a thread a few of them later: in a short loop
//! where the next turn begins.

use iced_x86::{
    Code as Opcode, Decoder, DecoderOptions, FlowControl, Instruction as Decoded,
    InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};
use rustc_hash::FxHashMap;
use tenure_contend::record::Access;

use super::Registers;
use crate::arch::{Read, Stop};

/// Bytes before an instruction's end from which decoding is tried.
const WINDOW: usize = 64;

/// Bytes of a loop that are looked through.
const TURN: usize = 128;

/// Instructions that retire at once, at most: Golden Cove's.
const AT_ONCE: usize = 8;

/// Code begins and ends with a page.
const PAGE: u64 = 4096;

/// An instruction that accesses memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instruction {
    decoded: Decoded,
    /// The instruction before it, if that loaded the overwritten base from the stack, as code without optimisation does.
    load: Option<Decoded>,
    pub(crate) access: Access,
    /// Bytes.
    pub(crate) size: u8,
}

impl Instruction {
    /// The one that a thread has waited for, or that has met a breakpoint. A clock interrupts a thread once the instruction
    /// that waited has retired, and a breakpoint once the access is done: it is the one before, for both.
    pub(crate) fn met(stop: Stop, ip: u64, read: Read<'_>) -> Option<Self> {
        let decoded = before(ip, read)?;
        if stop == Stop::Clock && is_fence(&decoded) {
            // It waits for the store before it.
            let before = Self::met(Stop::Breakpoint, decoded.ip(), read)?;
            return before.access.writes().then_some(before);
        }
        let of = |decoded| {
            let (access, size) = access(&decoded)?;
            let base = decoded.memory_base();
            let load = overwrites(&decoded, base).then(|| before(decoded.ip(), read)).flatten();
            let is_it =
                |load: &Decoded| is_load_from_stack(load, base) && !is_target(&decoded, read);
            let load = load.filter(is_it);
            Some(Self { decoded, load, access, size })
        };
        of(decoded).or_else(|| of((stop == Stop::Clock).then(|| in_turn(ip, read))??))
    }

    /// The address behind it.
    pub(crate) fn end(&self) -> u64 {
        self.decoded.next_ip()
    }

    /// Where it accessed memory, by the registers and the stack of the thread that has stopped; `None` if they do not tell that
    /// any more.
    pub(crate) fn address(
        &self,
        registers: &Registers,
        stack: &dyn Fn(u64) -> Option<u64>,
    ) -> Option<u64> {
        let load = self.load.and_then(|load| stack(address(&load, registers, None)?));
        address(&self.decoded, registers, load)
    }
}

/// The instruction before an address.
fn before(end: u64, read: Read<'_>) -> Option<Decoded> {
    let mut bytes = [0; WINDOW];
    // What is mapped begins at a page: less can be had there.
    let inside = usize::try_from(end % PAGE).ok()?.clamp(1, WINDOW);
    let bytes = &mut bytes[WINDOW - inside..];
    read(end.wrapping_sub(inside as u64), bytes).then(|| last(bytes, end))?
}

/// The instruction that ends with these bytes, by vote.
fn last(bytes: &[u8], end: u64) -> Option<Decoded> {
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

/// Whether a branch nearby leads to an instruction, so that another may have come before it than the one in front.
fn is_target(instruction: &Decoded, read: Read<'_>) -> bool {
    let leads_here = |one: &Decoded| one.near_branch_target() == instruction.ip();
    let (mut at, start) = (instruction.ip(), instruction.ip().saturating_sub(WINDOW as u64));
    while at > start {
        match before(at, read) {
            Some(one) if leads_here(&one) => return true,
            Some(one) => at = one.ip(),
            None => break,
        }
    }
    from(instruction.next_ip(), &mut [0; TURN], read)
        .is_some_and(|mut behind| behind.iter().any(|one| leads_here(&one)))
}

/// The instructions from an address on, as far as a loop is looked through.
fn from<'b>(ip: u64, bytes: &'b mut [u8; TURN], read: Read<'_>) -> Option<Decoder<'b>> {
    // What is mapped may end with the page.
    let inside = usize::try_from(PAGE - ip % PAGE).ok()?.min(TURN);
    let bytes = &mut bytes[..inside];
    read(ip, bytes).then(|| Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE))
}

/// The last access of a loop's turn, if the loop begins here, and the instructions behind that retire with it.
fn in_turn(ip: u64, read: Read<'_>) -> Option<Decoded> {
    let mut bytes = [0; TURN];
    let mut turn = Vec::new();
    let mut decoder = from(ip, &mut bytes, read)?;
    loop {
        let one = decoder.decode();
        match one.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
                if one.near_branch_target() == ip =>
            {
                break;
            }
            // Not taken in a turn.
            FlowControl::Next | FlowControl::ConditionalBranch => turn.push(one),
            // Also what is no instruction.
            _ => return None,
        }
    }
    let at_once = &turn[turn.len().saturating_sub(AT_ONCE - 1)..];
    let at = at_once.iter().rposition(|one| access(one).is_some())?;
    let (one, later) = (at_once[at], &at_once[at + 1..]);
    let base = [one.memory_base(), one.memory_index()];
    let is_there = !later.iter().any(|later| base.iter().any(|base| overwrites(later, *base)));
    is_there.then_some(one)
}

fn decoded(bytes: &[u8], address: u64) -> Decoded {
    Decoder::with_ip(64, bytes, address, DecoderOptions::NONE).decode()
}

/// Whether an instruction does nothing but wait for stores. Compilers also write `lock add [rsp-64], 0` for that.
fn is_fence(instruction: &Decoded) -> bool {
    let is_of_nothing = || {
        matches!(instruction.mnemonic(), Mnemonic::Add | Mnemonic::Or)
            && instruction.has_lock_prefix()
            && instruction.memory_base() == Register::RSP
            && instruction.try_immediate(1).is_ok_and(|it| it == 0)
    };
    instruction.mnemonic() == Mnemonic::Mfence || is_of_nothing()
}

/// What an instruction does to memory that is not its thread's stack, and to how many bytes.
fn access(instruction: &Decoded) -> Option<(Access, u8)> {
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
fn memory_operand(instruction: &Decoded) -> Option<u32> {
    let is_memory = |at: &u32| instruction.op_kind(*at) == OpKind::Memory;
    let operand = (0..instruction.op_count()).find(is_memory)?;
    let is_own = matches!(instruction.memory_segment(), Register::FS | Register::GS);
    let is_none = matches!(instruction.mnemonic(), Mnemonic::Lea | Mnemonic::Nop);
    let is_vector = instruction.memory_index().is_vector_register();
    (!is_own && !is_none && !is_vector && instruction.code() != Opcode::INVALID).then_some(operand)
}

/// Whether an instruction loads a register from a variable on the stack.
fn is_load_from_stack(instruction: &Decoded, register: Register) -> bool {
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_register() == register
        && matches!(instruction.memory_base(), Register::RSP | Register::RBP)
        && instruction.memory_index() == Register::None
}

/// Where an instruction accessed memory, by the registers behind it, and by its base if it overwrote that and it is known.
fn address(instruction: &Decoded, registers: &Registers, base: Option<u64>) -> Option<u64> {
    let operand = memory_operand(instruction)?;
    instruction.virtual_address(operand, 0, |register, _, _| match register {
        Register::ES | Register::CS | Register::SS | Register::DS => Some(0),
        _ if overwrites(instruction, register) => {
            base.filter(|_| register == instruction.memory_base())
        }
        _ => value(register, registers),
    })
}

/// Whether a register has another value behind an instruction.
fn overwrites(instruction: &Decoded, register: Register) -> bool {
    let mut factory = InstructionInfoFactory::new();
    factory.info(instruction).used_registers().iter().any(|used| {
        let writes = !matches!(used.access(), OpAccess::Read | OpAccess::CondRead);
        writes && used.register().full_register() == register.full_register()
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
    use crate::sys::Sample;

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
                Some((access, size, address(&instruction, &registers(), None)?))
            });
            assert_eq!(found, expected, "{about}");
        }
    }

    #[test]
    fn a_thread_at_a_fence_has_waited_for_the_store_before_it() {
        let store = Some((Access::Write, 0x40_0004));
        let fence = |fence: &[u8]| [&[0x4c, 0x89, 0x56, 0x10], fence].concat();
        for (about, bytes, expected) in [
            ("mfence", fence(&[0x0f, 0xae, 0xf0]), store),
            ("lock add dword [rsp-64], 0", fence(&[0xf0, 0x83, 0x44, 0x24, 0xc0, 0]), store),
            ("lock or qword [rsp], 0", fence(&[0xf0, 0x48, 0x83, 0x0c, 0x24, 0]), store),
            ("after a load", [&[0x4c, 0x8b, 0x56, 0x10], &[0x0f, 0xae, 0xf0][..]].concat(), None),
            (
                "lock add dword [rsp-64], 1",
                fence(&[0xf0, 0x83, 0x44, 0x24, 0xc0, 1]),
                Some((Access::Add, 0x40_000a)),
            ),
        ] {
            let end = START + bytes.len() as u64;
            assert_eq!(met(&bytes, end), expected, "{about}");
        }
    }

    const START: u64 = 0x40_0000;

    /// What a clock meets in code that stands alone, and the address behind it.
    fn met(code: &[u8], ip: u64) -> Option<(Access, u64)> {
        instruction(code, ip).map(|it| (it.access, it.end()))
    }

    fn instruction(code: &[u8], ip: u64) -> Option<Instruction> {
        let read = |from: u64, into: &mut [u8]| {
            into.fill(0x90);
            for (at, byte) in (from..).zip(into) {
                let at = at.checked_sub(START).and_then(|at| usize::try_from(at).ok());
                *byte = at.and_then(|at| code.get(at).copied()).unwrap_or(*byte);
            }
            true
        };
        Instruction::met(Stop::Clock, ip, &read)
    }

    #[test]
    fn a_thread_where_a_loop_begins_has_waited_in_the_turn_before() {
        let turn = |turn: &[u8]| {
            let back = -2 - i8::try_from(turn.len()).unwrap();
            [&[0x90], turn, &[0x75, back.cast_unsigned()]].concat()
        };
        let add = [0x48, 0x8b, 0x07, 0x48, 0x83, 0xc0, 0x01, 0x48, 0x89, 0x07];
        let count = [0x48, 0x83, 0xea, 0x01];
        for (about, code, expected) in [
            (
                "mov rax, [rdi]; add rax, 1; mov [rdi], rax; sub rdx, 1; jne",
                turn(&[&add[..], &count].concat()),
                Some((Access::Write, START + 11)),
            ),
            ("add rdi, 8 behind it", turn(&[&add[..], &[0x48, 0x83, 0xc7, 0x08]].concat()), None),
            ("far behind it", turn(&[&add[..], &count.repeat(8)].concat()), None),
            ("a call in between", turn(&[&add[..], &[0xff, 0xd0], &count].concat()), None),
            ("no instruction in between", turn(&[&add[..], &[0x06], &count].concat()), None),
            ("no access", turn(&count), None),
            ("no loop", [&[0x90], &add[..]].concat(), None),
        ] {
            assert_eq!(met(&code, START + 1), expected, "{about}");
        }
    }

    #[test]
    fn a_base_that_the_instruction_overwrote_is_gone() {
        let instruction = decoded(&[0x48, 0x8b, 0x00], 0x40_0000);
        assert_eq!(access(&instruction), Some((Access::Read, 8)));
        assert_eq!(address(&instruction, &registers(), None), None);
    }

    #[test]
    fn a_base_that_was_loaded_from_the_stack_is_read_back() {
        let mut registers = registers();
        registers.0[Registers::SP] = 0x8000;
        registers.0[Registers::BP] = 0x8020;
        let mut sample = Sample { registers: Some(registers), ..Sample::default() };
        (sample.stack[1], sample.stack[3]) = (0x1_0000, 0x2_0000);
        let load = [0x48, 0x8b, 0x44, 0x24, 0x08];
        for (about, code, end, expected) in [
            ("mov rax, [rsp+8]; mov rax, [rax]", &[0x48, 0x8b, 0x00][..], 8, Some(0x1_0000)),
            ("mov rax, [rsp+8]; mov al, [rax+4]", &[0x8a, 0x40, 0x04], 8, Some(0x1_0004)),
            ("mov rax, [rsp+8]; mov rcx, [rax]", &[0x48, 0x8b, 0x08], 8, Some(0x1000)),
            ("mov rax, [rsp+8]; mov rdi, [rdi]", &[0x48, 0x8b, 0x3f], 8, None),
            // A walk along a list begins there, and goes on by what it has loaded.
            (
                "mov rax, [rsp+8]; again: mov rax, [rax+8]; cmp qword [rax], 0; je again",
                &[0x48, 0x8b, 0x40, 0x08, 0x48, 0x83, 0x38, 0x00, 0x74, 0xf6],
                9,
                None,
            ),
        ] {
            let code = [&load[..], code].concat();
            let instruction = instruction(&code, START + end).unwrap();
            assert_eq!(instruction.address(&registers, &|at| sample.word(at)), expected, "{about}");
        }
        for (about, code, expected) in [
            (
                "mov rax, [rbp-8]; mov rax, [rax]",
                &[0x48, 0x8b, 0x45, 0xf8, 0x48, 0x8b, 0x00][..],
                Some(0x2_0000),
            ),
            (
                "mov rax, [rsp-8]; mov rax, [rax]: below the stack",
                &[0x48, 0x8b, 0x44, 0x24, 0xf8, 0x48, 0x8b, 0x00],
                None,
            ),
            ("mov rax, [rdi+8]; mov rax, [rax]", &[0x48, 0x8b, 0x47, 0x08, 0x48, 0x8b, 0x00], None),
            (
                "mov rax, [rbp-8]; jmp there; mov rax, [rsp+8]; there: mov rax, [rax]",
                &[
                    0x48, 0x8b, 0x45, 0xf8, 0xeb, 0x05, 0x48, 0x8b, 0x44, 0x24, 0x08, 0x48, 0x8b,
                    0x00,
                ],
                None,
            ),
        ] {
            let instruction = instruction(code, START + code.len() as u64).unwrap();
            assert_eq!(instruction.address(&registers, &|at| sample.word(at)), expected, "{about}");
        }
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
            let found = last(&code[..end], instruction.next_ip()).unwrap();
            assert_eq!(found.ip(), instruction.ip(), "{:?}", instruction.mnemonic());
            checked += 1;
        }
        assert!(checked > 5);
        assert_eq!(last(&[0x06; 8], 0x40_0000), None);
    }
}
