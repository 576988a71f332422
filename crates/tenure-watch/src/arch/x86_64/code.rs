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
    /// Whether the thread has paused since it read this last: it waits for a change.
    pub(crate) is_polled: bool,
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
        if stop == Stop::Clock && decoded.mnemonic() == Mnemonic::Pause {
            return Self::polled(ip, read);
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
        Some(Self { decoded, trace, is_step, is_polled: false, access, size })
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

    /// What a thread reads next that has just paused: it waits for a change of that.
    fn polled(ip: u64, read: Read<'_>) -> Option<Self> {
        /// A loop that waits has a jump and a load or two after its pause.
        const MAX_INSTRUCTIONS: usize = 4;
        let mut bytes = [0; MAX_TURN_BYTES];
        let mut passed: Vec<Decoded> = Vec::new();
        let mut at = ip;
        for _ in 0..MAX_INSTRUCTIONS {
            let one = from(at, &mut bytes, read)?.decode();
            let is_known = |register| !passed.iter().any(|before| overwrites(before, register));
            at = match (one.flow_control(), access(&one)) {
                (FlowControl::Next, Some((access @ Access::Read, size)))
                    if is_known(one.memory_base()) && is_known(one.memory_index()) =>
                {
                    let (trace, is_step, is_polled) = (None, false, true);
                    return Some(Self { decoded: one, trace, is_step, is_polled, access, size });
                }
                (FlowControl::Next, None) => one.next_ip(),
                (FlowControl::UnconditionalBranch, _) => one.near_branch_target(),
                _ => return None,
            };
            passed.push(one);
        }
        None
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
        Some(Self { decoded, trace, is_step, is_polled: false, access, size })
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
    use Access::{Add, CompareExchange, Exchange, Read as Load, Write};

    const START: u64 = 0x40_0000;

    fn registers() -> Registers {
        let mut registers = Registers::default();
        for (at, register) in registers.0.iter_mut().enumerate() {
            *register = 0x1000 * (at as u64 + 1);
        }
        registers
    }

    /// Machine code, as disassemblers print it.
    fn bytes(code: &str) -> Vec<u8> {
        code.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    }

    /// Code, and a branch from its end to its beginning.
    fn looped(code: &str, branch: &str) -> String {
        let back = -2 - i8::try_from(bytes(code).len()).unwrap();
        format!("{code} {branch} {back:02x}")
    }

    /// What a clock meets in code that stands alone, after so many of its bytes.
    fn instruction(code: &str, at: usize) -> Option<Instruction> {
        let code = bytes(code);
        let read = |from: u64, into: &mut [u8]| {
            into.fill(0x90);
            for (at, byte) in (from..).zip(into) {
                let at = at.checked_sub(START).and_then(|at| usize::try_from(at).ok());
                *byte = at.and_then(|at| code.get(at).copied()).unwrap_or(*byte);
            }
            true
        };
        Instruction::met(Stop::Clock, START + at as u64, &read)
    }

    /// The same after all of its bytes.
    fn last(code: &str) -> Option<Instruction> {
        instruction(code, bytes(code).len())
    }

    /// What an instruction does, and the address after it.
    fn met(instruction: Option<Instruction>) -> Option<(Access, u64)> {
        instruction.map(|it| (it.access, it.end() - START))
    }

    #[test]
    fn a_pause_waits_for_what_is_read_next() {
        // pause; mov eax, [rbx]; test eax, eax; jne: and the same with a jump to the load.
        let code = "f3 90 8b 03 85 c0 75 f8";
        assert_eq!(met(instruction(code, 2)), Some((Load, 4)));
        let jumps = "f3 90 eb 02 90 90 8b 03 85 c0 75 f4";
        assert_eq!(met(instruction(jumps, 2)), Some((Load, 8)));
        // The register that the load's address is made of has another value by then.
        assert_eq!(met(instruction("f3 90 48 89 c3 8b 03 75 f8", 2)), None);
        assert_eq!(met(instruction("f3 90 c3", 2)), None);
    }

    #[test]
    fn an_instruction_says_what_it_does_and_where() {
        for (about, code, expected) in [
            ("mov rax, [rbx+8]", "48 8b 43 08", Some((Load, 8, 0x2008))),
            ("mov [rdi+rcx*4], eax", "89 04 8f", Some((Write, 4, 0x6000 + 4 * 0x3000))),
            ("lock inc qword [r9]", "f0 49 ff 01", Some((Add, 8, 0xb000))),
            ("lock xadd [rsi], rax", "f0 48 0f c1 06", Some((Add, 8, 0x5000))),
            ("lock cmpxchg [rdx], ecx", "f0 0f b1 0a", Some((CompareExchange, 4, 0x4000))),
            ("xchg [rdx], ecx", "87 0a", Some((Exchange, 4, 0x4000))),
            ("lock or [rdx], ecx", "f0 09 0a", Some((Exchange, 4, 0x4000))),
            ("add [rdx], ecx", "01 0a", Some((Write, 4, 0x4000))),
            ("cmp byte [rdx], 0", "80 3a 00", Some((Load, 1, 0x4000))),
            ("mov eax, [rip+0x10]", "8b 05 10 00 00 00", Some((Load, 4, 0x40_0050))),
            ("add r13, 1", "49 83 c5 01", None),
            ("lea rax, [rbx]", "48 8d 03", None),
            ("mov rax, fs:[0]", "64 48 8b 04 25 00 00 00 00", None),
            ("push rax", "50", None),
        ] {
            let bytes = bytes(code);
            let decoded = decoded(&bytes, START + 0x40 - bytes.len() as u64);
            let found = Instruction::at_end(decoded, &|_, _| false)
                .and_then(|it| Some((it.access, it.size, it.address(&registers(), &|_| None)?)));
            assert_eq!(found, expected, "{about}");
        }
    }

    #[test]
    fn a_thread_at_a_fence_has_waited_for_the_store_before_it() {
        const STORE: &str = "4c 89 56 10";
        for (about, before, fence, expected) in [
            ("mfence", STORE, "0f ae f0", Some((Write, 4))),
            ("lock add dword [rsp-64], 0", STORE, "f0 83 44 24 c0 00", Some((Write, 4))),
            ("lock or qword [rsp], 0", STORE, "f0 48 83 0c 24 00", Some((Write, 4))),
            ("after a load", "4c 8b 56 10", "0f ae f0", None),
            ("lock add dword [rsp-64], 1", STORE, "f0 83 44 24 c0 01", Some((Add, 10))),
        ] {
            assert_eq!(met(last(&format!("{before} {fence}"))), expected, "{about}");
        }
    }

    #[test]
    fn a_thread_where_a_loop_begins_has_waited_in_the_turn_before() {
        // mov rax, [rdi]; add rax, 1; mov [rdi], rax
        const ADD: &str = "48 8b 07 48 83 c0 01 48 89 07";
        // sub rdx, 1
        const COUNT: &str = "48 83 ea 01";
        let far = [COUNT; 8].join(" ");
        for (about, before, after, expected) in [
            ("sub rdx, 1 after it", ADD, COUNT, Some((Write, 11))),
            ("add rdi, 8 after it", ADD, "48 83 c7 08", Some((Write, 11))),
            ("far after it", ADD, &far, None),
            ("a call in between", ADD, "ff d0 48 83 ea 01", None),
            ("no instruction in between", ADD, "06 48 83 ea 01", None),
            ("no access", "", COUNT, None),
        ] {
            let code = looped(&format!("{before} {after}"), "75");
            assert_eq!(met(instruction(&format!("90 {code}"), 1)), expected, "{about}");
        }
        assert_eq!(met(instruction(&format!("90 {ADD}"), 1)), None, "no loop");
    }

    #[test]
    fn a_base_that_was_loaded_from_the_stack_is_read_back() {
        let mut registers = registers();
        registers.0[Registers::SP] = 0x8000;
        registers.0[Registers::BP] = 0x8020;
        let mut sample = Sample { registers: Some(registers), ..Sample::default() };
        (sample.stack[1], sample.stack[3]) = (0x1_0000, 0x2_0000);
        // mov rax, [rsp+8]
        const LOAD: &str = "48 8b 44 24 08";
        let walk = format!("{LOAD} 48 8b 40 08 48 83 38 00 74 f6");
        let after = |code: &str| last(&format!("{LOAD} {code}"));
        for (about, instruction, expected) in [
            ("mov rax, [rax]", after("48 8b 00"), Some(0x1_0000)),
            ("mov al, [rax+4]", after("8a 40 04"), Some(0x1_0004)),
            ("mov rcx, [rax]", after("48 8b 08"), Some(0x1000)),
            ("mov rdi, [rdi]", after("48 8b 3f"), None),
            // A walk along a list begins there, and goes on by what it has loaded.
            ("again: mov rax, [rax+8]; cmp [rax], 0; je again", instruction(&walk, 9), None),
            ("mov rax, [rbp-8]; mov rax, [rax]", last("48 8b 45 f8 48 8b 00"), Some(0x2_0000)),
            ("mov rax, [rsp-8]: below the stack", last("48 8b 44 24 f8 48 8b 00"), None),
            ("mov rax, [rdi+8]; mov rax, [rax]", last("48 8b 47 08 48 8b 00"), None),
            (
                "mov rax, [rbp-8]; jmp there; mov rax, [rsp+8]; there: mov rax, [rax]",
                last("48 8b 45 f8 eb 05 48 8b 44 24 08 48 8b 00"),
                None,
            ),
        ] {
            let address = instruction.unwrap().address(&registers, &|at| sample.word(at));
            assert_eq!(address, expected, "{about}");
        }
    }

    /// Where the last instruction accessed memory, by registers that it has overwritten.
    fn recovered(code: &str) -> Option<u64> {
        // Code begins somewhere within a page.
        last(&format!("{}{code}", "90 ".repeat(64)))?.address(&registers(), &|_| None)
    }

    #[test]
    fn an_index_that_the_load_overwrote_is_computed_again() {
        // `mov rcx, [r8 + rcx*8]`, as compilers write look-ups in tables; r8 has 0xa000.
        const LOAD: &str = "49 8b 0c c8";
        let table = |index: u64| Some(0xa000 + 8 * index);
        for (about, before, expected) in [
            ("nothing", "", None),
            ("mov rcx, rax; and ecx, 3", "48 89 c1 83 e1 03", table(0x1000 & 3)),
            (
                "mov rcx, rax; add rax, 1; and ecx, 0xfff",
                "48 89 c1 48 83 c0 01 81 e1 ff 0f 00 00",
                table(0xfff),
            ),
            ("movzx ecx, dl", "0f b6 ca", table(0)),
            ("movsxd rcx, edx", "48 63 ca", table(0x4000)),
            ("lea rcx, [rdx+rdx*2+1]", "48 8d 4c 52 01", table(3 * 0x4000 + 1)),
            ("mov ecx, edx; shr ecx, 12", "89 d1 c1 e9 0c", table(4)),
            ("imul rcx, rdx, 5", "48 6b ca 05", table(5 * 0x4000)),
            ("xor ecx, ecx", "31 c9", table(0)),
            ("mov rdx, rcx: a copy is left", "48 89 ca", table(0x4000)),
            ("mov cl, 3: the rest is not known", "b1 03", None),
            ("mov rcx, [rdx]: not in any register", "48 8b 0a", None),
            ("and ecx, 3: of what is gone", "83 e1 03", None),
            ("mov rcx, rax; call rdx", "48 89 c1 ff d2", None),
            ("mov rcx, rax; jmp +0", "48 89 c1 eb 00", None),
            ("jne over mov rcx, rax: the index has two sources", "75 03 48 89 c1", None),
        ] {
            assert_eq!(recovered(&format!("{before} {LOAD}")), expected, "{about}");
        }
        // `mov rax, [rax]` twice: a walk along a list.
        assert_eq!(recovered("48 8b 00 48 8b 00"), None);
    }

    #[test]
    fn a_load_that_feeds_its_next_turn_is_a_step_along_a_list() {
        let step = |code: &str, at| instruction(code, at).unwrap().step(&registers());
        let found = Some(WalkStep { loaded: 0x2000, offset: 8 });
        // `mov rbx, [rbx+8]`, between these and a branch back; `test rbx, rbx`.
        const TEST: &str = "48 85 db";
        for (about, before, after, branch, expected) in [
            ("test rbx, rbx; jne", "", TEST, "75", found),
            ("jmp", "", "", "eb", found),
            ("add rdx, [rbx] in the turn", "48 03 13", TEST, "75", found),
            ("je out of it", "48 85 db 74 40", "", "eb", found),
            ("call, which keeps rbx", "ff d0", TEST, "75", found),
            ("mov rbx, rax before it", "48 89 c3", TEST, "75", None),
            ("mov rbx, rax after it", "", "48 89 c3", "75", None),
            ("ret after it", "", "c3", "75", None),
            ("no branch", "", TEST, "90", None),
        ] {
            let code = looped(&format!("90 {before} 48 8b 5b 08 {after}"), branch);
            // To the instruction after the first one.
            let (code, back) = code.rsplit_once(' ').unwrap();
            let back = u8::from_str_radix(back, 16).unwrap() + 1;
            let end = 1 + bytes(before).len() + 4;
            assert_eq!(step(&format!("{code} {back:02x}"), end), expected, "{about}");
        }
        // `mov rbx, rsi` lies after a page's end, which the loop begins before.
        let turn = "48 ff c2 48 89 f3 48 8b 5b 08 48 85 db 75 f1";
        let across = format!("{}{turn}", "90 ".repeat(0xffd));
        for (about, code, at, expected) in [
            ("mov rbx, [rax+8]", "48 8b 58 08 eb fa", 4, None),
            ("mov ebx, [rbx+8]", "90 8b 5b 08 eb fa", 4, None),
            ("add rbx, [rbx+8]", "48 03 5b 08 eb fa", 4, None),
            ("mov [rbx+8], rbx", "48 89 5b 08 eb fa", 4, None),
            ("mov rcx, [rcx+8]; loop, which counts in rcx", "48 8b 49 08 e2 fa", 4, None),
            ("mov rbx, rsi on another page", &across, 0xffd + 10, None),
            ("mov rax, [rax+8]; call rcx, which changes rax", "48 8b 40 08 ff d1 eb f8", 4, None),
            ("a stop where the loop begins", "90 48 8b 5b 08 48 85 db 75 f7", 1, found),
        ] {
            assert_eq!(step(code, at), expected, "{about}");
        }
    }

    #[test]
    fn what_changed_a_register_after_the_access_is_taken_back() {
        // A turn of `add [rdi], rdx`, then something that changes rdi, which has 0x6000 now.
        for (about, later, expected) in [
            ("add rdi, 8", "48 83 c7 08", Some(0x6000 - 8)),
            ("sub rdi, rcx", "48 29 cf", Some(0x6000 + 0x3000)),
            ("lea rdi, [rdi+16]", "48 8d 7f 10", Some(0x6000 - 16)),
            ("inc rdi; inc rdi", "48 ff c7 48 ff c7", Some(0x6000 - 2)),
            ("add edi, 8: what was above is gone", "83 c7 08", None),
            ("mov rdi, [rdi]", "48 8b 3f 90", None),
            ("add rdi, rdi", "48 01 ff", None),
        ] {
            // It stops where the loop begins, after what is no access.
            let code = format!("90 {}", looped(&format!("48 01 17 {later}"), "75"));
            let address = instruction(&code, 1).unwrap().address(&registers(), &|_| None);
            assert_eq!(address, expected, "{about}");
        }
    }
}
