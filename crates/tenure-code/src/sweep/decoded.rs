//! The instructions of a function, what each writes, and its loops.

use iced_x86::{
    Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory,
    InstructionInfoOptions, Mnemonic, OpAccess, OpKind, Register as Name,
};
use rustc_hash::FxHashMap;

use super::registers::SP;
use super::steps;
use super::tally::{CodeAccess, Fact};
use super::unit::CodeFunction;
use crate::result::CodeText;
use tenure_debuginfo::program::located::Register;

/// Bytes of one function that are decoded.
const MAX_FUNCTION_BYTES: usize = 1 << 22;

/// Steps over all loops of a function, together; what comes after is taken to write everything.
const MAX_IN_LOOPS: usize = 1 << 22;

/// Iced's numbers of general registers, as DWARF's.
const NUMBERS: [Register; 16] = [0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15];

/// Those that a called function may overwrite: a set, as bits.
pub(crate) const LOST: u16 = 1 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 0xf << 8;
pub(super) const EVERY: u16 = !(1 << SP);

/// One function at a time, in memory that the next one uses again.
pub(super) struct Decoded {
    /// The instructions of all ranges of the function, one after the other.
    pub(super) code: Vec<Instruction>,
    pub(super) facts: Vec<Fact>,
    /// Where each range begins and ends in them.
    pub(super) parts: Vec<(usize, usize)>,
    pub(super) loops: Vec<(usize, usize)>,
    /// How many loops each instruction is in.
    pub(super) depths: Vec<u32>,
    /// For each instruction the registers that the loops around it step, and what follows from them: sets, as bits.
    pub(super) stepped: Vec<u16>,
    /// What loops write, by where they begin.
    pub(super) kills: FxHashMap<u64, u16>,
    info: InstructionInfoFactory,
}

impl Decoded {
    pub(super) fn new() -> Self {
        Self {
            code: Vec::new(),
            facts: Vec::new(),
            parts: Vec::new(),
            loops: Vec::new(),
            depths: Vec::new(),
            stepped: Vec::new(),
            kills: FxHashMap::default(),
            info: InstructionInfoFactory::new(),
        }
    }

    /// Decodes a function, and finds loops and what instructions write.
    pub(super) fn decode(&mut self, text: &CodeText, function: &CodeFunction) {
        self.code.clear();
        self.facts.clear();
        self.parts.clear();
        self.loops.clear();
        self.kills.clear();
        let mut left = MAX_FUNCTION_BYTES;
        for range in &function.ranges {
            let length = usize::try_from(range.end - range.begin).unwrap_or(left).min(left);
            let Some(bytes) = text.from(range.begin) else { continue };
            let bytes = &bytes[..bytes.len().min(length)];
            left -= bytes.len();
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
        let mut left = MAX_IN_LOOPS;
        self.stepped.clear();
        self.stepped.resize(self.code.len(), 0);
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
            if writes != EVERY {
                steps::mark(
                    &self.code[start..=end],
                    &self.facts[start..=end],
                    &mut self.stepped[start..=end],
                );
            }
            self.kills.insert(self.code[start].ip(), writes & EVERY);
        }
        let mut depth = 0_i32;
        self.depths.clear();
        self.depths.extend(changes.iter().take(self.code.len()).map(|change| {
            depth += change;
            depth.unsigned_abs()
        }));
    }
}

fn fact(info: &mut InstructionInfoFactory, one: &Instruction) -> Fact {
    let info = info.info_options(one, InstructionInfoOptions::NO_MEMORY_USAGE);
    let (mut writes, mut reads) = (0, 0);
    for used in info.used_registers() {
        let Some(register) = number(used.register()) else { continue };
        match used.access() {
            OpAccess::Read | OpAccess::CondRead => reads |= 1 << register,
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => {
                reads |= 1 << register;
                writes |= 1 << register;
            }
            _ => writes |= 1 << register,
        }
    }
    if matches!(one.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
        writes |= LOST;
    }
    let mut access = None;
    if let Some(at) = (0..one.op_count()).find(|at| one.op_kind(*at) == OpKind::Memory) {
        let is_exchange = matches!(
            one.mnemonic(),
            Mnemonic::Cmpxchg | Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b
        );
        access = match info.op_access(at) {
            OpAccess::None | OpAccess::NoMemAccess => None,
            _ if one.has_lock_prefix() && is_exchange => Some(CodeAccess::Exchange),
            _ if one.mnemonic() == Mnemonic::Xchg => Some(CodeAccess::Swap),
            _ if one.has_lock_prefix() => Some(CodeAccess::Add),
            OpAccess::Read | OpAccess::CondRead => Some(CodeAccess::Read),
            OpAccess::ReadWrite | OpAccess::ReadCondWrite => Some(CodeAccess::Update),
            _ => Some(CodeAccess::Write),
        };
    }
    let size = u32::try_from(one.memory_size().size()).unwrap_or(0).max(1);
    Fact { writes, reads, access, size }
}

/// DWARF's number of a general register, or of the one that it is a part of.
pub(crate) fn number(register: Name) -> Option<Register> {
    let at = (register.full_register() as usize).checked_sub(Name::RAX as usize)?;
    NUMBERS.get(at).copied()
}
