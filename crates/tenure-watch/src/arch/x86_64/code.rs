//! Instructions: which one a thread has executed last, what it did to memory, and where.
//!
//! The instruction is the one that ends where the thread would go on.
//!
//! Processors retire several instructions at once, so that the clock may interrupt a thread a few of them later: in a short loop
//! where the next turn begins.

use std::rc::Rc;

use iced_x86::{
    Code as Opcode, Decoder, DecoderOptions, FlowControl, Instruction as Decoded,
    InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};
use tenure_model::Access;

use super::Registers;
use super::decode::{PAGE, before};
use super::trace::{StoppedThread, Trace, now, overwrites, segment};
use crate::arch::{Read, Stop, WalkStep};

/// Bytes of a loop that are searched.
const MAX_TURN_BYTES: usize = 128;

/// Instructions that retire at once, at most: Golden Cove's.
const RETIRED_AT_ONCE: usize = 8;

/// An instruction that accesses memory.
#[derive(Debug, Clone)]
pub(crate) struct Instruction {
    decoded: Decoded,
    /// Where registers that its address is made of have other values by now: what was executed with it.
    trace: Option<Rc<Trace>>,
    /// Whether it loads the address of its next turn, and its register has that where a thread stops.
    is_step: bool,
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
        Self::at_end(decoded, read)
            .or_else(|| (stop == Stop::Clock).then(|| Self::in_turn(ip, read))?)
    }

    fn at_end(decoded: Decoded, read: Read<'_>) -> Option<Self> {
        let (access, size) = access(&decoded)?;
        let parts = [decoded.memory_base(), decoded.memory_index()];
        let is_gone = parts.iter().any(|part| overwrites(&decoded, *part));
        let trace = is_gone.then(|| Rc::new(Trace::to(decoded, read)));
        let is_step = is_gone && loads_own_base(&decoded) && walks(&decoded, read);
        Some(Self { decoded, trace, is_step, access, size })
    }

    /// The address after it.
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
        let operand = memory_operand(&self.decoded)?;
        let stopped = StoppedThread { registers, stack };
        self.decoded.virtual_address(operand, 0, |register, _, _| {
            segment(register).or_else(|| match &self.trace {
                Some(trace) => trace.before(register, &stopped),
                None => now(register, registers),
            })
        })
    }

    /// The last access of a loop's turn, if the loop begins here, and the instructions after that retire with it.
    fn in_turn(ip: u64, read: Read<'_>) -> Option<Self> {
        let mut bytes = [0; MAX_TURN_BYTES];
        let mut turn = Vec::new();
        let mut decoder = from(ip, &mut bytes, read)?;
        let back = loop {
            let one = decoder.decode();
            match one.flow_control() {
                FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
                    if one.near_branch_target() == ip =>
                {
                    break one;
                }
                // Not taken in a turn.
                FlowControl::Next | FlowControl::ConditionalBranch => turn.push(one),
                // Also what is no instruction.
                _ => return None,
            }
        };
        let first = turn.len().saturating_sub(RETIRED_AT_ONCE - 1);
        let at = first + turn[first..].iter().rposition(|one| access(one).is_some())?;
        let (decoded, (access, size)) = (turn[at], access(&turn[at])?);
        let keeps =
            |(place, one): (usize, &Decoded)| place == at || keeps(one, decoded.op0_register());
        let is_step = loads_own_base(&decoded)
            && !overwrites(&back, decoded.op0_register())
            && turn.iter().enumerate().all(keeps);
        let trace = Some(Rc::new(Trace::of(turn, at)));
        Some(Self { decoded, trace, is_step, access, size })
    }

    /// What it loaded, if it walks along a list.
    pub(crate) fn step(&self, registers: &Registers) -> Option<WalkStep> {
        let loaded = now(self.decoded.op0_register(), registers)?;
        let offset = self.decoded.memory_displacement64();
        self.is_step.then_some(WalkStep { loaded, offset })
    }
}

/// The instructions from an address on, as far as a loop is searched.
fn from<'b>(ip: u64, bytes: &'b mut [u8; MAX_TURN_BYTES], read: Read<'_>) -> Option<Decoder<'b>> {
    // What is mapped may end with the page.
    let inside = usize::try_from(PAGE - ip % PAGE).ok()?.min(MAX_TURN_BYTES);
    let bytes = &mut bytes[..inside];
    read(ip, bytes).then(|| Decoder::with_ip(64, bytes, ip, DecoderOptions::NONE))
}

/// Whether an instruction is `mov rax, [rax+8]`.
fn loads_own_base(instruction: &Decoded) -> bool {
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_kind() == OpKind::Register
        && instruction.op0_register() == instruction.memory_base()
        && instruction.op0_register().size() == 8
        && instruction.memory_index() == Register::None
}

/// Whether a loop leads from such a load to itself, and nothing else in it changes its register.
fn walks(load: &Decoded, read: Read<'_>) -> bool {
    let register = load.op0_register();
    let mut bytes = [0; MAX_TURN_BYTES];
    let Some(mut decoder) = from(load.next_ip(), &mut bytes, read) else { return false };
    let start = loop {
        let one = decoder.decode();
        let target = one.near_branch_target();
        let is_branch = matches!(
            one.flow_control(),
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
        );
        if is_branch
            && (load.ip().saturating_sub(MAX_TURN_BYTES as u64)..=load.ip()).contains(&target)
        {
            if overwrites(&one, register) {
                return false;
            }
            break target;
        }
        if !keeps(&one, register) {
            return false;
        }
    };
    // Up to the load, and not past it.
    let mut bytes = [0; MAX_TURN_BYTES];
    let Some(mut decoder) = from(start, &mut bytes, read) else { return false };
    let mut at = start;
    while at < load.ip() {
        let one = decoder.decode();
        if !keeps(&one, register) {
            return false;
        }
        at = one.next_ip();
    }
    at == load.ip()
}

/// Whether a thread goes on after an instruction, with the same value in a register. Functions keep some.
fn keeps(instruction: &Decoded, register: Register) -> bool {
    const KEPT_BY_FUNCTIONS: [Register; 6] =
        [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];
    let goes_on = match instruction.flow_control() {
        FlowControl::Next | FlowControl::ConditionalBranch => !instruction.is_invalid(),
        FlowControl::Call | FlowControl::IndirectCall => KEPT_BY_FUNCTIONS.contains(&register),
        _ => false,
    };
    goes_on && !overwrites(instruction, register)
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

#[cfg(test)]
mod tests {
    use super::super::decode::decoded;
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
            let decoded = decoded(bytes, end - bytes.len() as u64);
            let found = Instruction::at_end(decoded, &|_, _| false)
                .and_then(|it| Some((it.access, it.size, it.address(&registers(), &|_| None)?)));
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

    /// What a clock meets in code that stands alone, and the address after it.
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
            (
                "add rdi, 8 after it",
                turn(&[&add[..], &[0x48, 0x83, 0xc7, 0x08]].concat()),
                Some((Access::Write, START + 11)),
            ),
            ("far after it", turn(&[&add[..], &count.repeat(8)].concat()), None),
            ("a call in between", turn(&[&add[..], &[0xff, 0xd0], &count].concat()), None),
            ("no instruction in between", turn(&[&add[..], &[0x06], &count].concat()), None),
            ("no access", turn(&count), None),
            ("no loop", [&[0x90], &add[..]].concat(), None),
        ] {
            assert_eq!(met(&code, START + 1), expected, "{about}");
        }
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

    /// Where the last instruction accessed memory, by registers that it has overwritten.
    fn recovered(code: &[u8]) -> Option<u64> {
        // Code begins somewhere within a page.
        let code = [&[0x90; 64], code].concat();
        let instruction = instruction(&code, START + code.len() as u64)?;
        instruction.address(&registers(), &|_| None)
    }

    #[test]
    fn an_index_that_the_load_overwrote_is_computed_again() {
        // `mov rcx, [r8 + rcx*8]`, as compilers write look-ups in tables; r8 has 0xa000.
        const LOAD: [u8; 4] = [0x49, 0x8b, 0x0c, 0xc8];
        let table = |index: u64| Some(0xa000 + 8 * index);
        for (about, before, expected) in [
            ("nothing", &[][..], None),
            ("mov rcx, rax; and ecx, 3", &[0x48, 0x89, 0xc1, 0x83, 0xe1, 0x03], table(0x1000 & 3)),
            (
                "mov rcx, rax; add rax, 1; and ecx, 0xfff",
                &[0x48, 0x89, 0xc1, 0x48, 0x83, 0xc0, 0x01, 0x81, 0xe1, 0xff, 0x0f, 0, 0],
                table(0xfff),
            ),
            ("movzx ecx, dl", &[0x0f, 0xb6, 0xca], table(0)),
            ("movsxd rcx, edx", &[0x48, 0x63, 0xca], table(0x4000)),
            ("lea rcx, [rdx+rdx*2+1]", &[0x48, 0x8d, 0x4c, 0x52, 0x01], table(3 * 0x4000 + 1)),
            ("mov ecx, edx; shr ecx, 12", &[0x89, 0xd1, 0xc1, 0xe9, 0x0c], table(4)),
            ("imul rcx, rdx, 5", &[0x48, 0x6b, 0xca, 0x05], table(5 * 0x4000)),
            ("xor ecx, ecx", &[0x31, 0xc9], table(0)),
            ("mov rdx, rcx: a copy is left", &[0x48, 0x89, 0xca], table(0x4000)),
            ("mov cl, 3: the rest is not known", &[0xb1, 0x03], None),
            ("mov rcx, [rdx]: not in any register", &[0x48, 0x8b, 0x0a], None),
            ("and ecx, 3: of what is gone", &[0x83, 0xe1, 0x03], None),
            ("mov rcx, rax; call rdx", &[0x48, 0x89, 0xc1, 0xff, 0xd2], None),
            ("mov rcx, rax; jmp +0", &[0x48, 0x89, 0xc1, 0xeb, 0x00], None),
        ] {
            assert_eq!(recovered(&[before, &LOAD].concat()), expected, "{about}");
        }
        // A branch over `mov rcx, rax` leads to the load: who knows where the index comes from.
        let branch = [&[0x75, 0x03, 0x48, 0x89, 0xc1][..], &LOAD].concat();
        assert_eq!(recovered(&branch), None);
        // `mov rax, [rax]` twice: a walk along a list.
        assert_eq!(recovered(&[0x48, 0x8b, 0x00].repeat(2)), None);
    }

    #[test]
    fn a_load_that_feeds_its_next_turn_is_a_step_along_a_list() {
        // `mov rbx, [rbx+8]`, after what comes before it, and before what comes after it and a branch back.
        let step = |before: &[u8], after: &[u8], branch: u8| {
            let mut code = [&[0x90], before, &[0x48, 0x8b, 0x5b, 0x08], after].concat();
            let end = START + (1 + before.len() + 4) as u64;
            let back = -1 - i8::try_from(code.len()).unwrap();
            code.extend([branch, back.cast_unsigned()]);
            instruction(&code, end).unwrap().step(&registers())
        };
        let found = Some(WalkStep { loaded: 0x2000, offset: 8 });
        let test = [0x48, 0x85, 0xdb];
        for (about, before, after, branch, expected) in [
            ("test rbx, rbx; jne", &[][..], &test[..], 0x75, found),
            ("jmp", &[], &[], 0xeb, found),
            ("add rdx, [rbx] in the turn", &[0x48, 0x03, 0x13], &test, 0x75, found),
            ("je out of it", &[0x48, 0x85, 0xdb, 0x74, 0x40], &[], 0xeb, found),
            ("call, which keeps rbx", &[0xff, 0xd0], &test, 0x75, found),
            ("mov rbx, rax before it", &[0x48, 0x89, 0xc3], &test, 0x75, None),
            ("mov rbx, rax after it", &[], &[0x48, 0x89, 0xc3], 0x75, None),
            ("ret after it", &[], &[0xc3], 0x75, None),
            ("no branch", &[], &test, 0x90, None),
        ] {
            assert_eq!(step(before, after, branch), expected, "{about}");
        }
        for (about, code) in [
            ("mov rbx, [rax+8]", [0x48, 0x8b, 0x58, 0x08]),
            ("mov ebx, [rbx+8]", [0x90, 0x8b, 0x5b, 0x08]),
            ("add rbx, [rbx+8]", [0x48, 0x03, 0x5b, 0x08]),
            ("mov [rbx+8], rbx", [0x48, 0x89, 0x5b, 0x08]),
        ] {
            let code = [&code[..], &[0xeb, 0xfa]].concat();
            assert_eq!(instruction(&code, START + 4).unwrap().step(&registers()), None, "{about}");
        }
        // `mov rcx, [rcx+8]; loop`, which counts in rcx.
        let code = [0x48, 0x8b, 0x49, 0x08, 0xe2, 0xfa];
        assert_eq!(instruction(&code, START + 4).unwrap().step(&registers()), None);
        // `mov rbx, rsi` lies after a page's end, which the loop begins before.
        let turn = [
            0x48, 0xff, 0xc2, 0x48, 0x89, 0xf3, 0x48, 0x8b, 0x5b, 0x08, 0x48, 0x85, 0xdb, 0x75,
            0xf1,
        ];
        let code = [&[0x90; 0xffd][..], &turn].concat();
        let load = instruction(&code, START + 0xffd + 10).unwrap();
        assert_eq!(load.step(&registers()), None);
        // A call does not keep rax.
        let code = [0x48, 0x8b, 0x40, 0x08, 0xff, 0xd1, 0xeb, 0xf8];
        assert_eq!(instruction(&code, START + 4).unwrap().step(&registers()), None);
        // It stops where the loop begins: `mov rbx, [rbx+8]; test rbx, rbx; jne`.
        let code = [0x90, 0x48, 0x8b, 0x5b, 0x08, 0x48, 0x85, 0xdb, 0x75, 0xf7];
        assert_eq!(instruction(&code, START + 1).unwrap().step(&registers()), found);
    }

    #[test]
    fn what_changed_a_register_behind_the_access_is_taken_back() {
        // Of a turn: `add [rdi], rdx`, then something that changes rdi, which has 0x6000 now.
        for (about, later, expected) in [
            ("add rdi, 8", &[0x48, 0x83, 0xc7, 0x08][..], Some(0x6000 - 8)),
            ("sub rdi, rcx", &[0x48, 0x29, 0xcf], Some(0x6000 + 0x3000)),
            ("lea rdi, [rdi+16]", &[0x48, 0x8d, 0x7f, 0x10], Some(0x6000 - 16)),
            ("inc rdi; inc rdi", &[0x48, 0xff, 0xc7, 0x48, 0xff, 0xc7], Some(0x6000 - 2)),
            ("add edi, 8: what was above is gone", &[0x83, 0xc7, 0x08], None),
            ("mov rdi, [rdi]", &[0x48, 0x8b, 0x3f, 0x90], None),
            ("add rdi, rdi", &[0x48, 0x01, 0xff], None),
        ] {
            let mut code = [&[0x48, 0x01, 0x17][..], later].concat();
            let back = -2 - i8::try_from(code.len()).unwrap();
            code.extend([0x75, back.cast_unsigned()]);
            // It stops where the loop begins, after what is no access.
            let code = [&[0x90][..], &code].concat();
            let instruction = instruction(&code, START + 1).unwrap();
            let address = instruction.address(&registers(), &|_| None);
            assert_eq!(address, expected, "{about}");
        }
    }
}
