//! x86-64: the result of a call is in `rax`, that of `lock xadd` in its register, and that of `lock dec` in the flags.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic,
    OpAccess, Register,
};

use super::{CodeBytes, Left, Processor, RegisterSet, Step};

pub(super) const X86_64: Processor =
    Processor { begin, step, returned: [set(&[Register::RAX]), set(&[Register::RDX])] };

/// Where a call may pass an argument.
const ARGUMENTS: RegisterSet = {
    use Register::{R8, R9, RCX, RDI, RDX, RSI};
    set(&[RDI, RSI, RDX, RCX, R8, R9])
};

/// What a call leaves as it was.
const KEPT: RegisterSet = {
    use Register::{R12, R13, R14, R15, RBP, RBX};
    set(&[RBX, RBP, R12, R13, R14, R15])
};

/// Bits of registers; those of `iced_x86::RflagsBits` follow.
const REGISTER_BITS: u32 = 16;

const fn set(registers: &[Register]) -> RegisterSet {
    let (mut all, mut at) = (0, 0);
    while at < registers.len() {
        all |= 1 << (registers[at] as u32 - Register::RAX as u32);
        at += 1;
    }
    all
}

/// A general register, whichever part of it is named; nothing for others.
fn general(register: Register) -> RegisterSet {
    let full = register.full_register();
    if full.is_gpr64() { set(&[full]) } else { 0 }
}

fn flags(flags: u32) -> RegisterSet {
    RegisterSet::from(flags) << REGISTER_BITS
}

/// Where the result is of what ends at an address, and from where on a read uses it.
fn begin(code: CodeBytes<'_, '_>, address: u64) -> Option<(u64, RegisterSet)> {
    const LONGEST_INSTRUCTION: u64 = 15;
    let ending = |length: u64| {
        let start = address.checked_sub(length)?;
        let instruction = Decoder::with_ip(64, code(start)?, start, DecoderOptions::NONE).decode();
        let is_whole = !instruction.is_invalid() && instruction.len() as u64 == length;
        is_whole.then_some(instruction)
    };
    let all = || (1..=LONGEST_INSTRUCTION).rev().filter_map(ending);
    let is_call = all().any(|it| it.code() == Code::Call_rel32_64);
    let held = match all().find(Instruction::has_lock_prefix) {
        // Either may be a part of the other.
        Some(_) if is_call => None,
        Some(it) if it.mnemonic() == Mnemonic::Xadd => Some(general(it.op1_register())),
        Some(it) => Some(flags(it.rflags_modified())).filter(|flags| *flags != 0),
        None => Some(set(&[Register::RAX])),
    };
    held.map(|held| (address, held))
}

/// What the instruction at an address does; `None` if there is none.
fn step(code: CodeBytes<'_, '_>, at: u64) -> Option<Step> {
    let instruction = Decoder::with_ip(64, code(at)?, at, DecoderOptions::NONE).decode();
    if instruction.is_invalid() {
        return None;
    }
    // Some instructions leave some flags: `inc` the carry, `bt` zero.
    let mut reads = flags(instruction.rflags_read());
    let mut overwrites = flags(instruction.rflags_modified());
    for used in InstructionInfoFactory::new().info(&instruction).used_registers() {
        let register = general(used.register());
        match used.access() {
            // A write to a part of the register leaves the rest.
            OpAccess::Write if used.register().size() < 4 => {}
            OpAccess::Write => overwrites |= register,
            OpAccess::CondWrite | OpAccess::NoMemAccess | OpAccess::None => {}
            _ => reads |= register,
        }
    }
    let target = instruction.near_branch_target();
    let left = match instruction.flow_control() {
        FlowControl::Next => Left::No,
        FlowControl::UnconditionalBranch => Left::To { target, falls: false },
        FlowControl::ConditionalBranch => Left::To { target, falls: true },
        FlowControl::Call | FlowControl::IndirectCall | FlowControl::Exception => {
            reads |= ARGUMENTS;
            overwrites |= !KEPT;
            Left::No
        }
        FlowControl::Return => Left::ByReturn,
        _ => Left::Nowhere,
    };
    Some(Step { length: instruction.len() as u64, reads, overwrites, left })
}

#[cfg(test)]
mod tests {
    use super::super::Fate;
    use super::X86_64;

    const RETURNED: Fate = Fate::Returned { register: 0 };

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
            ("pop rbx; ret", &[0x5b, 0xc3], RETURNED),
            // A part of the result is left.
            ("mov al, 1; ret", &[0xb0, 0x01, 0xc3], RETURNED),
            (
                "dec rbx; je +2; xor eax, eax; ret",
                &[0x48, 0xff, 0xcb, 0x74, 0x02, 0x31, 0xc0, 0xc3],
                RETURNED,
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
            assert_eq!(X86_64.fate(&at, 0x1000), expected, "{about}");
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
                Fate::Returned { register: 1 },
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
            assert_eq!(X86_64.fate(&at, end), expected, "{about}");
        }
    }

    #[test]
    fn endless_code_ends() {
        let code = vec![0x90; 10_000];
        let at = |address: u64| code.get(usize::try_from(address).ok()?..);
        assert_eq!(X86_64.fate(&at, 0), Fate::Unknown);
    }
}
