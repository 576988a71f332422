//! One pass over a function's instructions: what each accesses, and what registers hold behind it.
//!
//! Where DWARF has a variable in a register, its type says what the register points to. Between, values are followed
//! through moves, additions, loads of pointers, the stack, and results of calls. Where paths meet, only what holds on both is
//! kept. A function with loops is passed over again until what holds at their starts no longer changes; if that takes long,
//! what a loop writes is forgotten there.

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory,
    InstructionInfoOptions, Mnemonic, OpAccess, OpKind, Register as Name,
};
use rustc_hash::FxHashMap;

use super::super::located::Register;
use super::super::result::Text;
use super::fields::Fields;
use super::memory::Memory;
use super::place::Base;
use super::registers::{BP, SP, State, Value};
use super::tally::{Access, Part, Subject, Tally};
use super::unit::{Callee, Claim, Function, What};
use crate::model::{Kind, TypeId};

/// Bytes of one function that are decoded.
const LONGEST: usize = 1 << 22;

/// Places to which a function jumps that are remembered at one time.
const MOST_PENDING: usize = 1 << 12;

/// Variables that are looked at for one instruction.
const MOST_ACTIVE: usize = 512;

/// Steps over all loops of a function, together; what lies behind is taken to write everything.
const MOST_IN_LOOPS: usize = 1 << 22;

/// Passes over a function until what holds in its loops is known.
const MOST_PASSES: usize = 4;

/// Loops around an instruction that make it heavier.
const DEEPEST: u32 = 3;

/// Iced's numbers of general registers, as DWARF's.
const NUMBERS: [Register; 16] = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// Those that a called function may overwrite: a set, as bits.
const LOST: u16 = 1 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 0xf << 8;
const EVERY: u16 = !(1 << SP);
const RESULT: Register = 0;
const FIRST_ARGUMENT: Register = 5;

/// What an instruction does, whatever the state.
#[derive(Debug, Clone, Copy, Default)]
struct Fact {
    writes: u16,
    access: Option<Access>,
    size: u32,
}

/// Where a memory operand is.
#[derive(Debug, Clone, Copy)]
enum Where {
    /// Of the thread's or CPU's own.
    Own,
    Stack(Option<i64>),
    Pointed(TypeId, i64),
    Fixed(u64),
    Unknown,
}

/// What all functions of a unit have in common.
pub(super) struct Around<'w> {
    pub(super) fields: &'w Fields<'w>,
    pub(super) memory: &'w Memory,
    pub(super) text: &'w Text,
    pub(super) calls: &'w FxHashMap<u64, Callee>,
    pub(super) results: &'w FxHashMap<u64, TypeId>,
    /// Whether the function at an address takes a lock, by its symbol.
    pub(super) takes_lock: &'w dyn Fn(u64) -> bool,
}

/// Memory that each function uses again.
pub(super) struct Scratch {
    /// Of all ranges of the function, one after the other.
    code: Vec<Instruction>,
    facts: Vec<Fact>,
    /// Where each range begins and ends in them.
    parts: Vec<(usize, usize)>,
    loops: Vec<(usize, usize)>,
    depths: Vec<u32>,
    /// What loops write, by where they begin.
    kills: FxHashMap<u64, u16>,
    pending: FxHashMap<u64, State>,
    /// What is known where loops begin again: from the pass before, and from this one.
    backs: FxHashMap<u64, State>,
    new_backs: FxHashMap<u64, State>,
    active: Vec<Claim>,
    info: InstructionInfoFactory,
}

/// How a pass takes the start of a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// As if nothing changed in loops: to learn what changes.
    First,
    /// With what the pass before knew where loops begin again.
    Again,
    /// Loops overwrite what they write.
    Sure,
}

pub(super) fn walk(around: &Around<'_>, function: &Function, scratch: &mut Scratch) -> Tally {
    scratch.decode(around, function);
    let mut pass = Pass::First;
    if scratch.loops.is_empty() {
        return scratch.pass(around, function, pass);
    }
    let passes = if scratch.loops.len() < MOST_PENDING { MOST_PASSES } else { 0 };
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

impl Scratch {
    pub(super) fn new() -> Self {
        Self {
            code: Vec::new(),
            facts: Vec::new(),
            parts: Vec::new(),
            loops: Vec::new(),
            depths: Vec::new(),
            kills: FxHashMap::default(),
            pending: FxHashMap::default(),
            backs: FxHashMap::default(),
            new_backs: FxHashMap::default(),
            active: Vec::new(),
            info: InstructionInfoFactory::new(),
        }
    }

    /// Decodes a function, and finds loops and what instructions write.
    fn decode(&mut self, around: &Around<'_>, function: &Function) {
        self.code.clear();
        self.facts.clear();
        self.parts.clear();
        self.loops.clear();
        self.kills.clear();
        for range in &function.ranges {
            let length = usize::try_from(range.end - range.begin).unwrap_or(LONGEST).min(LONGEST);
            let Some(bytes) = around.text.from(range.begin) else { continue };
            let bytes = &bytes[..bytes.len().min(length)];
            let start = self.code.len();
            let decoder = Decoder::with_ip(64, bytes, range.begin, DecoderOptions::NONE);
            self.code.extend(decoder.into_iter().take_while(|it| !it.is_invalid()));
            if start < self.code.len() {
                self.parts.push((start, self.code.len()));
                self.find_loops(start);
            }
        }
        self.measure_loops();
    }

    fn find_loops(&mut self, start: usize) {
        let code = &self.code[start..];
        let first = code[0].ip();
        for (index, one) in code.iter().enumerate() {
            self.facts.push(fact(&mut self.info, one));
            let flow = one.flow_control();
            if !matches!(flow, FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch) {
                continue;
            }
            let target = one.near_branch_target();
            if (first..=one.ip()).contains(&target)
                && let Ok(head) = code[..=index].binary_search_by_key(&target, Instruction::ip)
            {
                self.loops.push((start + head, start + index));
            }
        }
    }

    fn measure_loops(&mut self) {
        // Of several jumps back to one place the last is the loop's end.
        self.loops.sort_unstable();
        self.loops.dedup_by(|later, earlier| {
            let same = later.0 == earlier.0;
            if same {
                earlier.1 = later.1;
            }
            same
        });
        let mut changes = vec![0_i32; self.code.len() + 1];
        let mut left = MOST_IN_LOOPS;
        for &(start, end) in &self.loops {
            changes[start] += 1;
            changes[end + 1] -= 1;
            let length = end - start + 1;
            let writes = match left.checked_sub(length) {
                Some(rest) => {
                    left = rest;
                    self.facts[start..=end].iter().fold(0, |all, fact| all | fact.writes)
                }
                None => EVERY,
            };
            self.kills.insert(self.code[start].ip(), writes & EVERY);
        }
        let mut depth = 0_i32;
        self.depths.clear();
        self.depths.extend(changes.iter().take(self.code.len()).map(|change| {
            depth += change;
            depth.unsigned_abs()
        }));
    }

    fn pass(&mut self, around: &Around<'_>, function: &Function, pass: Pass) -> Tally {
        self.pending.clear();
        self.new_backs.clear();
        let mut tally = Tally::default();
        let mut at_jump = None;
        for nth in 0..self.parts.len() {
            let mut walker = Walker {
                around,
                pass,
                claims: &function.claims,
                next: 0,
                active: std::mem::take(&mut self.active),
                at_jump: at_jump.take(),
                steady: Value::Stack,
                state: if nth == 0 { Some(State::entry()) } else { None },
                bare: State::entry(),
                tally: &mut tally,
            };
            walker.active.clear();
            walker.run(self, self.parts[nth]);
            at_jump = walker.at_jump.take();
            self.active = std::mem::take(&mut walker.active);
        }
        tally
    }
}

fn fact(info: &mut InstructionInfoFactory, one: &Instruction) -> Fact {
    let info = info.info_options(one, InstructionInfoOptions::NO_MEMORY_USAGE);
    let mut writes = 0;
    for used in info.used_registers() {
        if !matches!(used.access(), OpAccess::Read | OpAccess::CondRead)
            && let Some(register) = number(used.register())
        {
            writes |= 1 << register;
        }
    }
    if matches!(one.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
        writes |= LOST;
    }
    let is_memory = |at: &u32| one.op_kind(*at) == OpKind::Memory;
    let mut access = None;
    if let Some(at) = (0..one.op_count()).find(is_memory) {
        let is_exchange = matches!(
            one.mnemonic(),
            Mnemonic::Cmpxchg | Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b
        );
        access = match info.op_access(at) {
            OpAccess::None | OpAccess::NoMemAccess => None,
            _ if one.has_lock_prefix() && is_exchange => Some(Access::Exchange),
            _ if one.has_lock_prefix() || one.mnemonic() == Mnemonic::Xchg => Some(Access::Add),
            OpAccess::Read | OpAccess::CondRead => Some(Access::Read),
            _ => Some(Access::Write),
        };
    }
    let size = u32::try_from(one.memory_size().size()).unwrap_or(0).max(1);
    Fact { writes, access, size }
}

struct Walker<'w, 't> {
    around: &'w Around<'w>,
    pass: Pass,
    claims: &'w [Claim],
    next: usize,
    active: Vec<Claim>,
    /// At the last jump to an address that is not known.
    at_jump: Option<State>,
    /// The stack pointer behind the prologue.
    steady: Value,
    /// `None` where nothing leads.
    state: Option<State>,
    bare: State,
    tally: &'t mut Tally,
}

impl Walker<'_, '_> {
    fn run(&mut self, scratch: &mut Scratch, (start, end): (usize, usize)) {
        for index in start..end {
            let one = scratch.code[index];
            let fact = scratch.facts[index];
            self.arrive(one.ip(), scratch);
            let weight = 1 << (2 * scratch.depths[index].min(DEEPEST));
            if let Some(access) = fact.access {
                let place = self.operand(&one);
                self.note(place, access, fact.size, weight);
            }
            self.step(&one, fact, weight);
            self.leave(&one, scratch);
        }
    }

    /// What is known before the instruction at an address.
    fn arrive(&mut self, ip: u64, scratch: &mut Scratch) {
        if let Some(claim) = self.claims.get(self.next)
            && claim.range.begin <= ip
        {
            self.active.retain(|claim| ip < claim.range.end);
            while let Some(claim) = self.claims.get(self.next)
                && claim.range.begin <= ip
            {
                self.next += 1;
                if ip < claim.range.end && self.active.len() < MOST_ACTIVE {
                    self.active.push(*claim);
                }
            }
        }
        let jumped = scratch.pending.remove(&ip);
        let kills = scratch.kills.get(&ip).copied();
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

    /// What is known behind an instruction, and where it jumps to.
    fn leave(&mut self, one: &Instruction, scratch: &mut Scratch) {
        let Some(state) = &self.state else { return };
        match one.flow_control() {
            FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch => {
                let target = one.near_branch_target();
                let is_back = target <= one.ip() && scratch.kills.contains_key(&target);
                let known = if is_back { &mut scratch.new_backs } else { &mut scratch.pending };
                if let Some(known) = known.get_mut(&target) {
                    known.meet(state);
                } else if known.len() < MOST_PENDING {
                    known.insert(target, state.clone());
                }
                if one.flow_control() == FlowControl::UnconditionalBranch {
                    self.bare = self.state.take().unwrap_or_else(State::entry);
                }
            }
            FlowControl::IndirectBranch => {
                self.at_jump = self.state.take();
            }
            FlowControl::Return | FlowControl::Exception => {
                self.bare = self.state.take().unwrap_or_else(State::entry);
            }
            FlowControl::Call | FlowControl::IndirectCall => self.steady = state.get(SP),
            _ => {}
        }
    }

    fn state(&self) -> &State {
        self.state.as_ref().unwrap_or(&self.bare)
    }

    fn value(&self, register: Register) -> Value {
        let mut best = self.state().get(register);
        if matches!(best, Value::Frame(_) | Value::Stack | Value::Fixed(_)) {
            return best;
        }
        for claim in &self.active {
            let (ty, at) = match claim.what {
                What::Points { register: of, to, at } if of == register => (to, at),
                What::Holds { base: Base::Register(of), at, ty, inside } if of == register => {
                    let inside = i64::try_from(inside).unwrap_or(0);
                    (self.around.fields.model.resolved(ty), inside.saturating_sub(at))
                }
                _ => continue,
            };
            best = self.better(best, Value::Object { ty, at });
        }
        best
    }

    /// Of two things that are both said of an address, the one that says more: the outermost object.
    fn better(&self, known: Value, new: Value) -> Value {
        let size = |value| match value {
            Value::Object { ty, .. } => {
                let model = self.around.fields.model;
                (u64::from(matches!(model[ty].kind, Kind::Composite { .. })), model[ty].size)
            }
            _ => (0, 0),
        };
        match (known, new) {
            (Value::Object { .. }, new) if size(new) > size(known) => new,
            (Value::Object { .. }, _) => known,
            _ => new,
        }
    }

    /// The address of the memory operand.
    fn operand(&self, one: &Instruction) -> Where {
        let (base, index) = (one.memory_base(), one.memory_index());
        if matches!(one.segment_prefix(), Name::FS | Name::GS) {
            return Where::Own;
        }
        let more = one.memory_displacement64();
        if one.is_ip_rel_memory_operand() {
            return Where::Fixed(one.ip_rel_memory_address());
        }
        let mut value = match number(base) {
            Some(base) => self.value(base),
            None if base == Name::None => Value::Unknown,
            None => return Where::Unknown,
        };
        if let Some(index) = number(index) {
            if value == Value::Unknown && one.memory_index_scale() == 1 {
                value = self.value(index);
            }
            value = value.plus_index();
            if let Value::Object { ty, at } = value
                && !self.is_row(ty, at.saturating_add(more.cast_signed()), one.memory_index_scale())
            {
                return Where::Unknown;
            }
        }
        match value.plus(more.cast_signed()) {
            Value::Frame(at) => Where::Stack(Some(at)),
            Value::Stack => Where::Stack(None),
            Value::Object { ty, at } => Where::Pointed(ty, at),
            Value::Fixed(address) => Where::Fixed(address),
            // An element of a variable that is an array, or a variable of the lowest 2 GiB.
            Value::Unknown | Value::Null => {
                let memory = self.around.memory;
                match memory.variable(more) {
                    Some(_) if memory.is_fixed => Where::Fixed(more),
                    _ if base == Name::None && index == Name::None => Where::Fixed(more),
                    _ => Where::Unknown,
                }
            }
        }
    }

    /// Whether an index with a scale may lead from one value to the next: then the first stands for all.
    fn is_row(&self, ty: TypeId, at: i64, scale: u32) -> bool {
        let fields = self.around.fields;
        // An index that counts bytes was multiplied before.
        let is_element = scale == 1 || fields.model[ty].size == u64::from(scale);
        is_element || fields.is_in_array(ty, at)
    }

    fn note(&mut self, place: Where, access: Access, size: u32, weight: u32) {
        let part = match place {
            Where::Own | Where::Stack(_) => return,
            Where::Fixed(address) => match self.around.memory.variable(address) {
                Some((index, ty, inside)) => {
                    let inside = i64::try_from(inside).unwrap_or(i64::MAX);
                    let offset = self.around.fields.first_like(ty, inside);
                    offset.map(|offset| (Subject::Static(index), offset))
                }
                None if self.around.memory.is_constant(address) => return,
                None => None,
            },
            Where::Pointed(ty, at) => match self.around.fields.model[ty].kind {
                Kind::Composite { .. } => {
                    let offset = self.around.fields.first_like(ty, at);
                    offset.map(|offset| (Subject::Type(ty), offset))
                }
                Kind::Scalar(_) | Kind::Pointer(_) | Kind::Array { .. }
                    if access != Access::Lock =>
                {
                    let operands = &mut self.tally.operands;
                    operands.plain += 1;
                    operands.locked += u64::from(matches!(access, Access::Add | Access::Exchange));
                    return;
                }
                _ => None,
            },
            Where::Unknown => None,
        };
        let part = part.and_then(|(subject, offset)| {
            Some(Part { subject, offset: u32::try_from(offset).ok()?, size })
        });
        if access != Access::Lock {
            let operands = &mut self.tally.operands;
            let locked = u64::from(matches!(access, Access::Add | Access::Exchange));
            operands.locked += locked;
            match part {
                Some(_) => operands.attributed += 1,
                None => {
                    operands.unknown += 1;
                    operands.locked_unknown += locked;
                }
            }
        }
        if let Some(part) = part {
            self.tally.parts.entry(part).or_default().note(access, weight);
        }
    }

    /// What is loaded from a place, if that is a pointer.
    fn loaded(&self, place: Where) -> Value {
        let fields = self.around.fields;
        let pointee = |ty, at| match fields.pointee(ty, at) {
            Some(ty) => Value::Object { ty, at: 0 },
            None => Value::Unknown,
        };
        match place {
            Where::Stack(Some(at)) => self.in_frame(at),
            // A row of objects: as its first one.
            Where::Pointed(ty, at) => match fields.model[ty].kind {
                Kind::Composite { .. } => match fields.first_like(ty, at) {
                    Some(first) => pointee(ty, i64::try_from(first).unwrap_or(-1)),
                    None => Value::Unknown,
                },
                _ => pointee(ty, 0),
            },
            Where::Fixed(address) => match self.around.memory.variable(address) {
                Some((_, ty, inside)) => pointee(ty, i64::try_from(inside).unwrap_or(-1)),
                None => Value::Unknown,
            },
            _ => Value::Unknown,
        }
    }

    fn in_frame(&self, at: i64) -> Value {
        let state = self.state();
        let start = |base, more: i64| match base {
            Base::Frame => Some(more),
            Base::Register(register) => match state.get(register) {
                Value::Frame(from) => from.checked_add(more),
                _ => None,
            },
        };
        let mut best = state.slot(at);
        for claim in &self.active {
            let found = match claim.what {
                What::Holds { base, at: more, ty, inside } => start(base, more)
                    .and_then(|start| at.checked_sub(start)?.checked_add_unsigned(inside))
                    .and_then(|inside| self.around.fields.pointee(ty, inside)),
                What::Leads { base, at: more, to } => {
                    start(base, more).filter(|start| *start == at).map(|_| to)
                }
                What::Points { .. } => None,
            };
            if let Some(ty) = found {
                best = self.better(best, Value::Object { ty, at: 0 });
            }
        }
        best
    }

    fn step(&mut self, one: &Instruction, fact: Fact, weight: u32) {
        if matches!(one.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
            self.call(one, weight);
            return;
        }
        let memory = self.around.memory;
        let is_fixed = |address| memory.is_fixed && memory.variable(address).is_some();
        let of = |register| number(register).map_or(Value::Unknown, |it| self.value(it));
        let to = number(one.op0_register()).filter(|_| one.op0_kind() == OpKind::Register);
        let is_register = one.op1_kind() == OpKind::Register;
        let is_memory = one.op1_kind() == OpKind::Memory;
        // What is stored at which place of the frame.
        let mut stored = None;
        let value = match one.code() {
            Code::Mov_r64_rm64 | Code::Mov_rm64_r64 if is_register && to.is_some() => {
                of(one.op1_register())
            }
            Code::Mov_r64_rm64 if is_memory => self.loaded(self.operand(one)),
            Code::Mov_rm64_r64 => {
                stored = Some(of(one.op1_register()));
                Value::Unknown
            }
            Code::Mov_r64_imm64 | Code::Mov_rm64_imm32 | Code::Mov_r32_imm32
                if is_fixed(one.immediate(1)) && to.is_some() =>
            {
                Value::Fixed(one.immediate(1))
            }
            Code::Lea_r64_m => match self.operand(one) {
                Where::Stack(Some(at)) => Value::Frame(at),
                Where::Stack(None) => Value::Stack,
                Where::Pointed(ty, at) => Value::Object { ty, at },
                Where::Fixed(address) if one.is_ip_rel_memory_operand() || is_fixed(address) => {
                    Value::Fixed(address)
                }
                _ => Value::Unknown,
            },
            Code::Add_rm64_imm8 | Code::Add_rm64_imm32 | Code::Add_RAX_imm32 if to.is_some() => {
                of(one.op0_register()).plus(one.immediate(1).cast_signed())
            }
            Code::Sub_rm64_imm8 | Code::Sub_rm64_imm32 | Code::Sub_RAX_imm32 if to.is_some() => {
                of(one.op0_register()).plus(one.immediate(1).cast_signed().wrapping_neg())
            }
            Code::Inc_rm64 if to.is_some() => of(one.op0_register()).plus(1),
            Code::Dec_rm64 if to.is_some() => of(one.op0_register()).plus(-1),
            Code::Add_r64_rm64 | Code::Add_rm64_r64 if to.is_some() => {
                let mine = of(one.op0_register());
                let other = match is_register {
                    true => of(one.op1_register()),
                    false => self.loaded(self.operand(one)),
                };
                match mine {
                    Value::Unknown | Value::Null => other.plus_index(),
                    _ => mine.plus_index(),
                }
            }
            // Aligned, or without the bits that a pointer has for other ends.
            Code::And_rm64_imm8 | Code::And_rm64_imm32 | Code::And_RAX_imm32 if to.is_some() => {
                match of(one.op0_register()) {
                    Value::Frame(_) => Value::Stack,
                    value @ (Value::Object { .. } | Value::Stack) => value,
                    _ => Value::Unknown,
                }
            }
            Code::Xor_rm32_r32 | Code::Xor_r32_rm32 | Code::Xor_rm64_r64 | Code::Xor_r64_rm64
                if is_register && one.op0_register() == one.op1_register() =>
            {
                Value::Null
            }
            Code::Mov_r32_imm32 | Code::Mov_rm64_imm32 if one.immediate(1) == 0 && to.is_some() => {
                Value::Null
            }
            Code::Xchg_rm64_r64 | Code::Xchg_r64_RAX if is_register && to.is_some() => {
                let (mine, other) = (of(one.op0_register()), of(one.op1_register()));
                if let (Some(with), Some(state)) = (number(one.op1_register()), &mut self.state) {
                    state.set(with, mine);
                }
                other
            }
            Code::Push_r64 => {
                let value = of(one.op0_register());
                self.push(value);
                return;
            }
            Code::Pop_r64 => {
                let value = match self.state().get(SP) {
                    Value::Frame(at) => self.in_frame(at),
                    _ => Value::Unknown,
                };
                if let (Some(state), Some(to)) = (&mut self.state, to) {
                    let top = state.get(SP).plus(8);
                    state.set(SP, top);
                    state.set(to, value);
                }
                return;
            }
            code => match one.mnemonic() {
                Mnemonic::Push | Mnemonic::Pushfq => {
                    self.push(Value::Unknown);
                    return;
                }
                Mnemonic::Popfq => {
                    let Some(state) = &mut self.state else { return };
                    let top = state.get(SP).plus(8);
                    state.set(SP, top);
                    return;
                }
                Mnemonic::Leave => {
                    let frame = self.state().get(BP);
                    let saved = match frame {
                        Value::Frame(at) => self.state().slot(at),
                        _ => Value::Unknown,
                    };
                    if let Some(state) = &mut self.state {
                        state.set(SP, frame.plus(8));
                        state.set(BP, saved);
                    }
                    return;
                }
                // The other is 0, where the result is not followed; else there are two of a kind.
                _ if is_conditional(code) => {
                    let other = if is_register {
                        of(one.op1_register())
                    } else {
                        self.loaded(self.operand(one))
                    };
                    match (of(one.op0_register()), other) {
                        (mine, other) if mine == other => mine,
                        (Value::Unknown | Value::Null, other @ Value::Object { .. }) => other,
                        (mine @ Value::Object { .. }, Value::Unknown | Value::Null) => mine,
                        _ => Value::Unknown,
                    }
                }
                _ => Value::Unknown,
            },
        };
        let is_store = matches!(fact.access, Some(access) if access != Access::Read);
        let frame = match self.operand(one) {
            Where::Stack(at) if is_store => at,
            _ => None,
        };
        let Some(state) = &mut self.state else { return };
        if let Some(at) = frame {
            state.store(at, fact.size.into(), stored.unwrap_or(Value::Unknown));
        }
        state.forget(match to {
            Some(to) => fact.writes & !(1 << to),
            None => fact.writes,
        });
        if let Some(to) = to
            && fact.writes >> to & 1 == 1
        {
            state.set(to, if to == SP && value == Value::Unknown { Value::Stack } else { value });
        }
    }

    fn push(&mut self, value: Value) {
        let Some(state) = &mut self.state else { return };
        let top = state.get(SP).plus(-8);
        state.set(SP, top);
        if let Value::Frame(at) = top {
            state.store(at, 8, value);
        }
    }

    fn call(&mut self, one: &Instruction, weight: u32) {
        let callee = self.around.calls.get(&one.next_ip());
        let takes_lock = match callee {
            Some(callee) if callee.is_named => callee.takes_lock,
            _ => {
                one.flow_control() == FlowControl::Call
                    && (self.around.takes_lock)(one.near_branch_target())
            }
        };
        if takes_lock {
            let place = match self.value(FIRST_ARGUMENT) {
                Value::Object { ty, at } => Where::Pointed(ty, at),
                Value::Fixed(address) => Where::Fixed(address),
                _ => Where::Own,
            };
            self.note(place, Access::Lock, 1, weight);
        }
        let is_direct = one.flow_control() == FlowControl::Call;
        let result = callee.and_then(|callee| callee.returns).or_else(|| {
            is_direct.then(|| self.around.results.get(&one.near_branch_target()).copied())?
        });
        let Some(state) = &mut self.state else { return };
        state.forget(LOST);
        if let Some(ty) = result {
            state.set(RESULT, Value::Object { ty, at: 0 });
        }
    }
}

fn is_conditional(code: Code) -> bool {
    let mnemonic = code.mnemonic();
    matches!(
        mnemonic,
        Mnemonic::Cmova
            | Mnemonic::Cmovae
            | Mnemonic::Cmovb
            | Mnemonic::Cmovbe
            | Mnemonic::Cmove
            | Mnemonic::Cmovg
            | Mnemonic::Cmovge
            | Mnemonic::Cmovl
            | Mnemonic::Cmovle
            | Mnemonic::Cmovne
            | Mnemonic::Cmovno
            | Mnemonic::Cmovnp
            | Mnemonic::Cmovns
            | Mnemonic::Cmovo
            | Mnemonic::Cmovp
            | Mnemonic::Cmovs
    )
}

/// DWARF's number of a general register, or of the one that it is a part of.
fn number(register: Name) -> Option<Register> {
    let at = (register.full_register() as usize).checked_sub(Name::RAX as usize)?;
    NUMBERS.get(at).copied()
}
