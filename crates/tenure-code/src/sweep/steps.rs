//! What a loop steps: registers and words of the frame whose next value it computes from the last, and all that follows from
//! them.
//!
//! One turn is followed from its start to its end, as if no instruction were jumped over. What holds a value at the end that was
//! computed from its own at the start is stepped: a counter, or the pointer to a list's next element.

use iced_x86::{Instruction, Mnemonic, Register as Name};

use super::registers::{BP, REGISTERS, SP};
use super::tally::{CodeAccess, Fact};

/// Words of the frame that are followed.
const MAX_WORDS: usize = 15;

/// A bit of origins: something was computed from them.
const CHANGED: u32 = 1 << 31;

/// A word of the frame, by the register that it is found from.
type StepWord = (Name, u64);

/// The turn's first values from which each register and word was computed: sets, as bits.
struct StepOrigins<'w> {
    registers: [u32; REGISTERS],
    words: [u32; MAX_WORDS],
    known: &'w [StepWord],
}

impl<'w> StepOrigins<'w> {
    fn new(known: &'w [StepWord]) -> Self {
        let mut origins = Self { registers: [0; REGISTERS], words: [0; MAX_WORDS], known };
        (0..).zip(&mut origins.registers).for_each(|(bit, of)| *of = 1 << bit);
        (REGISTERS as u32..).zip(&mut origins.words).for_each(|(bit, of)| *of = 1 << bit);
        origins
    }

    fn pass(&mut self, one: &Instruction, fact: Fact) {
        let word = word_of(one, fact).and_then(|word| self.known.iter().position(|it| *it == word));
        let frame = if word.is_some() { 1 << BP | 1 << SP } else { 0 };
        let mut from = 0;
        for register in bits(fact.reads & !frame) {
            from |= self.registers[register];
        }
        let is_copy = match (word, fact.access) {
            (Some(word), Some(access)) if access != CodeAccess::Write => {
                from |= self.words[word];
                access == CodeAccess::Read
            }
            (None, Some(_)) => false,
            _ => true,
        };
        if !is_copy || !moves(one.mnemonic()) {
            from |= CHANGED;
        }
        // What a call returns comes from elsewhere.
        let from = if one.mnemonic() == Mnemonic::Call { 0 } else { from };
        for register in bits(fact.writes & !(1 << SP)) {
            self.registers[register] = from;
        }
        if let Some(word) = word.filter(|_| fact.access.is_some_and(CodeAccess::writes)) {
            self.words[word] = from;
        }
    }

    /// What holds something at the end of a turn that was computed from itself.
    fn stepped(&self) -> u32 {
        let all = self.registers.iter().chain(&self.words);
        let is_stepped = |(bit, of): &(u32, &u32)| **of & CHANGED != 0 && **of >> bit & 1 == 1;
        (0..).zip(all).filter(is_stepped).fold(0, |all, (bit, _)| all | 1 << bit)
    }
}

/// Adds to each instruction of a loop the registers that hold something of what the loop steps.
pub(super) fn mark(code: &[Instruction], facts: &[Fact], marks: &mut [u16]) {
    let mut known: Vec<StepWord> = Vec::new();
    for (one, fact) in code.iter().zip(facts) {
        if let Some(word) = word_of(one, *fact)
            && known.len() < MAX_WORDS
            && !known.contains(&word)
        {
            known.push(word);
        }
    }
    let mut origins = StepOrigins::new(&known);
    code.iter().zip(facts).for_each(|(one, fact)| origins.pass(one, *fact));
    let stepped = origins.stepped();
    if stepped == 0 {
        return;
    }
    let mut origins = StepOrigins::new(&known);
    for ((one, fact), mark) in code.iter().zip(facts).zip(marks) {
        for (register, of) in origins.registers.iter().enumerate() {
            *mark |= u16::from(of & stepped != 0) << register;
        }
        origins.pass(one, *fact);
    }
}

fn word_of(one: &Instruction, fact: Fact) -> Option<StepWord> {
    let is_frame = matches!(one.memory_base(), Name::RBP | Name::RSP);
    let is_word = fact.access.is_some() && is_frame && one.memory_index() == Name::None;
    is_word.then(|| (one.memory_base(), one.memory_displacement64()))
}

fn moves(mnemonic: Mnemonic) -> bool {
    matches!(
        mnemonic,
        Mnemonic::Mov | Mnemonic::Movsxd | Mnemonic::Movsx | Mnemonic::Movzx | Mnemonic::Cdqe
    )
}

fn bits(set: u16) -> impl Iterator<Item = usize> {
    (0..REGISTERS).filter(move |bit| set >> bit & 1 == 1)
}
