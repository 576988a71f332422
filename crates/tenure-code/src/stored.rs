//! Constants that code stores.

use iced_x86::{
    FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

/// A register is followed back over so many instructions.
const MAX_STEPS: usize = 24;

/// A constant that an instruction stores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredConstant {
    /// The constant.
    pub value: u64,
    /// Whether the store may publish what was written before it; a plain store of C's or Rust's does not.
    pub publishes: bool,
}

/// What the last of these instructions stores to memory, if it is a constant. Whether that publishes is not to be seen.
pub(super) fn by_instruction(code: &[Instruction]) -> Option<u64> {
    let (last, before) = code.split_last()?;
    let is_store = matches!(last.mnemonic(), Mnemonic::Mov | Mnemonic::Xchg);
    if !is_store || last.op0_kind() != OpKind::Memory {
        return None;
    }
    match last.op1_kind() {
        OpKind::Register => constant(before, last.op1_register()),
        _ => immediate(last),
    }
}

/// What the first store after a call stores: the call has announced it to the runtime.
pub(super) fn announced(after: &[Instruction]) -> Option<u64> {
    let stores =
        |it: &Instruction| it.mnemonic() == Mnemonic::Mov && it.op0_kind() == OpKind::Memory;
    let at = after.iter().position(stores)?;
    let until = &after[..=at];
    if until.iter().any(|it| it.flow_control() != FlowControl::Next) {
        return None;
    }
    by_instruction(until)
}

/// The value and the order that a call stores by: its second and third arguments.
pub(super) fn by_call(before: &[Instruction]) -> Option<StoredConstant> {
    const RELAXED: u64 = 0;
    let value = constant(before, Register::RSI)?;
    let publishes = constant(before, Register::RDX) != Some(RELAXED);
    Some(StoredConstant { value, publishes })
}

/// The constant that a register holds after these instructions.
fn constant(code: &[Instruction], register: Register) -> Option<u64> {
    let mut info = InstructionInfoFactory::new();
    let register = register.full_register();
    for instruction in code.iter().rev().take(MAX_STEPS) {
        if instruction.flow_control() != FlowControl::Next {
            return None;
        }
        let used = info.info(instruction).used_registers().iter();
        let writes =
            |access| !matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::NoMemAccess);
        let is_written =
            used.clone().any(|it| it.register().full_register() == register && writes(it.access()));
        if is_written {
            let is_zeroed = instruction.mnemonic() == Mnemonic::Xor
                && instruction.op0_register() == instruction.op1_register();
            let is_moved = instruction.mnemonic() == Mnemonic::Mov;
            return match (is_zeroed, is_moved) {
                (true, _) => Some(0),
                (_, true) => immediate(instruction),
                _ => None,
            };
        }
    }
    None
}

fn immediate(instruction: &Instruction) -> Option<u64> {
    let is_immediate = matches!(
        instruction.op1_kind(),
        OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    );
    is_immediate.then(|| instruction.immediate(1))
}

#[cfg(test)]
mod tests {
    use iced_x86::{Decoder, DecoderOptions};

    use super::*;

    fn decoded(bytes: &[u8]) -> Vec<Instruction> {
        Decoder::new(64, bytes, DecoderOptions::NONE).into_iter().collect()
    }

    #[test]
    fn a_constant_is_stored_at_once_or_by_way_of_a_register() {
        for (about, bytes, expected) in [
            ("mov byte [rdi], 1", &[0xc6, 0x07, 0x01][..], Some(1)),
            ("mov dword [rdi+4], 7", &[0xc7, 0x47, 0x04, 7, 0, 0, 0], Some(7)),
            ("mov eax, 1; mov [rdi], al", &[0xb8, 1, 0, 0, 0, 0x88, 0x07], Some(1)),
            ("xor eax, eax; xchg [rdi], al", &[0x31, 0xc0, 0x86, 0x07], Some(0)),
            ("mov eax, [rsi]; mov [rdi], al", &[0x8b, 0x06, 0x88, 0x07], None),
            (
                "mov eax, 1; call +0; mov [rdi], al",
                &[0xb8, 1, 0, 0, 0, 0xe8, 0, 0, 0, 0, 0x88, 0x07],
                None,
            ),
            ("add byte [rdi], 1", &[0x80, 0x07, 0x01], None),
        ] {
            assert_eq!(by_instruction(&decoded(bytes)), expected, "{about}");
        }
    }

    #[test]
    fn a_call_stores_its_second_argument_and_publishes_unless_it_is_relaxed() {
        let one = [0xbe, 1, 0, 0, 0];
        let relaxed = decoded(&[&one[..], &[0x31, 0xd2]].concat());
        assert_eq!(by_call(&relaxed), Some(StoredConstant { value: 1, publishes: false }));
        let release = decoded(&[&one[..], &[0xba, 3, 0, 0, 0]].concat());
        assert_eq!(by_call(&release), Some(StoredConstant { value: 1, publishes: true }));
        assert_eq!(by_call(&decoded(&[0x89, 0xde])), None);
    }

    #[test]
    fn what_was_announced_is_stored_next() {
        let store = decoded(&[0xc6, 0x07, 0x01]);
        assert_eq!(announced(&store), Some(1));
        let jump = decoded(&[0xeb, 0x00, 0xc6, 0x07, 0x01]);
        assert_eq!(announced(&jump), None);
    }
}
