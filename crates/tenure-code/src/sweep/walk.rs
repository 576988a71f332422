//! One pass over a function's instructions: what each accesses, and what registers hold after it.
//!
//! Where DWARF has a variable in a register, its type says what the register points to; without DWARF, a prototype says it of
//! arguments at the first instruction. Between, values are followed through moves, additions, loads of pointers, the stack, and
//! results of calls. Where paths meet, only what holds on both is kept. A function with loops is passed over again until what
//! holds at their starts no longer changes; if that takes long, what a loop writes is forgotten there.

use iced_x86::{FlowControl, Instruction, Mnemonic};
use rustc_hash::{FxHashMap, FxHashSet};

use super::decoded::{Decoded, EVERY};
use super::fields::Fields;
use super::memory::StaticMemory;
use super::registers::{BP, RegisterState, RegisterValue, SP};
use super::tally::{CountRow, Tally};
use super::unit::{Callee, CodeFunction, RegisterClaim};
use crate::result::CodeText;
use tenure_debuginfo::model::TypeId;

/// Places to which a function jumps that are remembered at one time.
const MAX_PENDING: usize = 1 << 12;

/// Variables that are looked at for one instruction.
const MAX_ACTIVE: usize = 512;

/// Loops around an instruction that make it heavier.
const DEEPEST: u32 = 3;

/// Passes over a function until what holds in its loops is known.
const MAX_PASSES: usize = 4;

/// What all functions of a unit have in common.
pub(super) struct Around<'w> {
    pub(super) fields: &'w Fields<'w>,
    pub(super) memory: &'w StaticMemory,
    pub(super) text: &'w CodeText,
    pub(super) calls: &'w FxHashMap<u64, Callee>,
    pub(super) results: &'w FxHashMap<u64, TypeId>,
    /// Whether the function at an address takes a lock, by its symbol.
    pub(super) takes_lock: &'w dyn Fn(u64) -> bool,
    /// Instructions of which it is to be told what they access.
    pub(super) asked: &'w FxHashSet<u64>,
}

/// Memory that each function uses again.
pub(super) struct WalkScratch {
    decoded: Decoded,
    pending: FxHashMap<u64, RegisterState>,
    /// What is known where loops begin again: from the pass before, and from this one.
    backs: FxHashMap<u64, RegisterState>,
    new_backs: FxHashMap<u64, RegisterState>,
    active: Vec<RegisterClaim>,
}

/// How a pass takes the start of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// The pass that takes loops to change nothing, and learns what they change.
    First,
    /// The pass that knows what the one before knew where loops begin again.
    Again,
    /// Loops overwrite what they write.
    Sure,
}

pub(super) fn walk(
    around: &Around<'_>,
    function: &CodeFunction,
    scratch: &mut WalkScratch,
) -> Tally {
    scratch.decoded.decode(around.text, function);
    let mut pass = Pass::First;
    if scratch.decoded.loops.is_empty() {
        return scratch.pass(around, function, pass);
    }
    let passes = if scratch.decoded.loops.len() < MAX_PENDING { MAX_PASSES } else { 0 };
    for _ in 0..passes {
        let tally = scratch.pass(around, function, pass);
        // Nothing changed: what was taken to hold in loops does.
        if pass == Pass::Again && scratch.backs == scratch.new_backs {
            return tally;
        }
        std::mem::swap(&mut scratch.backs, &mut scratch.new_backs);
        pass = Pass::Again;
    }
    scratch.pass(around, function, Pass::Sure)
}

impl WalkScratch {
    pub(super) fn new() -> Self {
        Self {
            decoded: Decoded::new(),
            pending: FxHashMap::default(),
            backs: FxHashMap::default(),
            new_backs: FxHashMap::default(),
            active: Vec::new(),
        }
    }

    fn pass(&mut self, around: &Around<'_>, function: &CodeFunction, pass: Pass) -> Tally {
        self.pending.clear();
        self.new_backs.clear();
        let mut tally = Tally::default();
        let mut at_jump = None;
        let mut entry = RegisterState::entry();
        for &(register, ty) in &function.arguments {
            entry.set(register, RegisterValue::Object { ty, at: 0, row: CountRow::Fixed });
        }
        let mut first = Some(entry);
        for nth in 0..self.decoded.parts.len() {
            let mut walker = Walker {
                around,
                pass,
                claims: &function.claims,
                next: 0,
                active: std::mem::take(&mut self.active),
                ends: u64::MAX,
                at_jump: at_jump.take(),
                steady: RegisterValue::Stack,
                state: first.take(),
                bare: RegisterState::entry(),
                trapped: false,
                stepped: 0,
                tally: &mut tally,
            };
            walker.active.clear();
            walker.run(self, self.decoded.parts[nth]);
            at_jump = walker.at_jump.take();
            self.active = std::mem::take(&mut walker.active);
        }
        tally
    }
}

pub(super) struct Walker<'w, 't> {
    pub(super) around: &'w Around<'w>,
    pass: Pass,
    claims: &'w [RegisterClaim],
    next: usize,
    pub(super) active: Vec<RegisterClaim>,
    /// Where the first of them ends.
    ends: u64,
    /// The state at the last jump to an address that is not known.
    at_jump: Option<RegisterState>,
    /// The stack pointer after the prologue.
    steady: RegisterValue,
    /// `None` where nothing leads.
    pub(super) state: Option<RegisterState>,
    pub(super) bare: RegisterState,
    /// Whether the last instruction was a trap from which a kernel may return.
    trapped: bool,
    /// Registers that the loops around the instruction step.
    pub(super) stepped: u16,
    pub(super) tally: &'t mut Tally,
}

impl Walker<'_, '_> {
    fn run(&mut self, scratch: &mut WalkScratch, (start, end): (usize, usize)) {
        for index in start..end {
            let one = scratch.decoded.code[index];
            let fact = scratch.decoded.facts[index];
            self.arrive(&one, scratch);
            self.stepped = scratch.decoded.stepped[index];
            let weight = 1 << (2 * scratch.decoded.depths[index].min(DEEPEST));
            if let Some(access) = fact.access {
                let place = self.operand(&one);
                let part = self.note(place, access, fact.size, weight);
                if self.around.asked.contains(&one.ip()) {
                    self.tally.at.extend(part.map(|part| (one.ip(), part)));
                }
            }
            self.step(&one, fact, weight);
            self.leave(&one, scratch);
        }
    }

    /// What is known before an instruction.
    fn arrive(&mut self, one: &Instruction, scratch: &mut WalkScratch) {
        let ip = one.ip();
        if ip >= self.ends {
            self.active.retain(|claim| ip < claim.range.end);
            self.ends = self.active.iter().map(|claim| claim.range.end).min().unwrap_or(u64::MAX);
        }
        while let Some(claim) = self.claims.get(self.next)
            && claim.range.begin <= ip
        {
            self.next += 1;
            if ip < claim.range.end && self.active.len() < MAX_ACTIVE {
                self.active.push(*claim);
                self.ends = self.ends.min(claim.range.end);
            }
        }
        let jumped = scratch.pending.remove(&ip);
        let kills = scratch.decoded.kills.get(&ip).copied();
        // Where a loop begins again; if it is entered at its end, that alone leads here.
        let back = kills.and_then(|_| scratch.backs.get(&ip)).filter(|_| self.pass == Pass::Again);
        let jumped = match (jumped, back) {
            (Some(mut state), Some(back)) => {
                state.meet(back);
                Some(state)
            }
            (None, Some(back)) => Some(back.clone()),
            (jumped, None) => jumped,
        };
        match (&mut self.state, jumped) {
            (Some(state), Some(other)) => state.meet(&other),
            (Some(_), None) => {}
            (None, Some(other)) => self.state = Some(other),
            (None, None) if self.trapped && self.at_jump.is_none() => {
                self.state = Some(self.bare.clone());
            }
            // No path leads through what aligns the next block: it must not take from what is known there.
            (None, None) if is_padding(one) && kills.is_none() && self.at_jump.is_none() => {}
            (None, None) => {
                let mut state = match (&self.at_jump, kills) {
                    (Some(state), _) => state.clone(),
                    // A loop that is entered at its end: nothing more is known in the first pass.
                    (None, Some(_)) => self.bare.clone(),
                    (None, None) => {
                        let mut state = self.bare.clone();
                        state.forget(EVERY);
                        state.forget_slots();
                        state.set(BP, self.bare.get(BP));
                        state
                    }
                };
                state.set(SP, self.steady);
                self.state = Some(state);
            }
        }
        if let (Some(state), Some(kills)) = (&mut self.state, kills)
            && self.pass == Pass::Sure
        {
            state.forget(kills);
            state.forget_slots();
        }
    }

    /// What is known after an instruction, and where it jumps to.
    fn leave(&mut self, one: &Instruction, scratch: &mut WalkScratch) {
        self.trapped = false;
        let Some(state) = &self.state else { return };
        match one.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                let target = one.near_branch_target();
                let is_back = target <= one.ip() && scratch.decoded.kills.contains_key(&target);
                let known = if is_back { &mut scratch.new_backs } else { &mut scratch.pending };
                if let Some(known) = known.get_mut(&target) {
                    known.meet(state);
                } else if known.len() < MAX_PENDING {
                    known.insert(target, state.clone());
                }
                if one.flow_control() == FlowControl::UnconditionalBranch {
                    self.bare = self.state.take().unwrap_or_else(RegisterState::entry);
                }
            }
            FlowControl::IndirectBranch => {
                self.at_jump = self.state.take();
            }
            FlowControl::Return | FlowControl::Exception => {
                self.trapped = one.flow_control() == FlowControl::Exception
                    && self.around.memory.returns_from_traps;
                self.bare = self.state.take().unwrap_or_else(RegisterState::entry);
            }
            FlowControl::Call | FlowControl::IndirectCall => self.steady = state.get(SP),
            _ => {}
        }
    }
}

fn is_padding(one: &Instruction) -> bool {
    matches!(one.mnemonic(), Mnemonic::Nop | Mnemonic::Int3)
}
