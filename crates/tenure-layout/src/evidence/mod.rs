//! What the program's code does to each member: how many instructions of which functions read it, write it, add to it
//! atomically or compare-exchange it.
//!
//! [`sweep`](tenure_code::sweep) counts by the outermost type that is known of an object. Here a use counts for each
//! type on the way to the member as well: what is done to `inet_sock.sk.sk_drops` is done to `sock.sk_drops`.
//!
//! What is concluded, and from what:
//!
//! | conclusion | from |
//! |---|---|
//! | a setup | a function whose name has a word such as `init` or `free`. One whose name speaks of another object (`new_cursor`, of a table) counts in full where it changes what is there |
//! | a contended word, whatever its type | an atomic addition or compare-exchange that some function other than a [setup](UsingFunction::is_setup) has, at least one of four that write it |
//! | a plain word that many CPUs write | a number that functions other than setups read and write back: two that take a lock or, in a kernel, whose functions all CPUs run, three |
//! | an element for each thread | a function other than a setup writes one that a variable chooses, and none of its loops steps |
//! | read-mostly | at least six functions read it, and only setups write it, or at most one function for six that read it. An `_Atomic` word only if no function other than a setup adds to it or compare-exchanges it |
//! | not guarded by a lock beside it | functions read it that do not take the lock. One that is called with the lock held counts as well: so this is a hint, and counts half |
//! | takes a lock | the function changes the lock's word atomically, or passes its address to a function whose name says that it locks |

mod function;
mod uses;

pub(crate) use function::UsingFunction;
pub(crate) use uses::Uses;

use rustc_hash::FxHashMap;

use tenure_code::sweep::{AccessedPart, OperandCounts, Operands, Subject, Sweep};
use tenure_debuginfo::model::{Member, Model, Name, Scalar, TypeId, TypeKind};
use tenure_model::{CodeRead, Role};

/// Functions that take a lock and update a plain word which many CPUs write: one may be any thread's own.
const MIN_LOCKED_UPDATERS: usize = 2;

/// The same whether they take a lock or not, where any function may run on any CPU: judgement.
const MIN_KERNEL_UPDATERS: usize = 3;

/// Functions that read a word which is read-mostly, for none that writes it and for each that does: judgement.
const MIN_READERS: usize = 6;

/// Bytes of the longest access of one instruction: AVX-512's.
const MAX_ACCESS_BYTES: u32 = 64;

/// Types on the way to a member, with the alternatives of unions.
const MAX_LEVELS: usize = 64;

/// Bytes of a type that says what its objects are a part of: smaller ones are links, and wrappers of a number.
pub(crate) const MIN_TELLING_BYTES: u64 = 32;

/// Members of such a type: a node of a tree has three.
const MIN_TELLING_MEMBERS: usize = 4;

/// Uses of all members and variables.
#[derive(Debug)]
pub(crate) struct CodeEvidence {
    /// The functions, by name.
    pub(crate) functions: Vec<UsingFunction>,
    /// What is done to types' objects, by type and offset.
    rows: Vec<UseRow>,
    types: FxHashMap<TypeId, (usize, usize)>,
    /// What is done to variables, by variable and offset.
    of_statics: Vec<(u32, UseRow)>,
    /// Whether what is not seen to be used may be used by code of which too little is known.
    pub(crate) misses_words: bool,
    /// The share of atomic operands of which nothing is known, from 0 to 1.
    pub(crate) unknown: f64,
    /// Whether any function may run on any CPU.
    is_kernel: bool,
}

#[derive(Debug, Clone, Copy)]
struct UseRow {
    ty: TypeId,
    offset: u32,
    size: u32,
    function: u32,
    /// Whether nothing is known of what the object is a part of.
    direct: bool,
    /// Whether the function only runs when such an object, or the program, begins or ends.
    is_setup: bool,
    counts: OperandCounts,
}

impl UseRow {
    fn overlaps(&self, offset: u64, size: u64) -> bool {
        let (start, end) = (u64::from(self.offset), u64::from(self.offset) + u64::from(self.size));
        start < offset.saturating_add(size) && offset < end
    }
}

impl CodeEvidence {
    /// Files what was counted under every type on the way to a member.
    pub(crate) fn new(model: &Model, sweep: &Sweep) -> Self {
        let function = |(index, name): (u32, &Name)| {
            UsingFunction::new(name.clone(), sweep.lockers.binary_search(&index).is_ok())
        };
        let Operands { locked, locked_unknown, .. } = sweep.total();
        let code = CodeRead { locked, locked_unknown, ..CodeRead::default() };
        #[allow(clippy::cast_precision_loss)] // Numbers of instructions.
        let unknown = locked_unknown as f64 / locked.max(1) as f64;
        let mut evidence = Self {
            functions: (0..).zip(&sweep.functions).map(function).collect(),
            rows: Vec::with_capacity(sweep.uses.len() * 2),
            types: FxHashMap::default(),
            of_statics: Vec::new(),
            misses_words: code.misses_words(),
            unknown,
            is_kernel: is_kernel(model),
        };
        let mut levels = Vec::new();
        let mut last: Option<AccessedPart> = None;
        for one in &sweep.uses {
            let (function, counts) = (one.function, one.counts);
            let AccessedPart { subject, offset, size } = one.part;
            let (ty, variable) = match subject {
                Subject::Type(ty) => (ty, None),
                Subject::Static(index) => {
                    let variable = &model.statics()[index as usize];
                    (variable.ty, Some(variable))
                }
            };
            if last.replace(one.part) != Some(one.part) {
                levels.clear();
                descend(model, ty, offset.into(), size.into(), &mut levels);
            }
            let by = &evidence.functions[function as usize];
            let is_of = || {
                let types = levels.iter().map(|(ty, _)| &model[*ty].name);
                types.chain(variable.map(|it| &it.name)).any(|name| by.is_of(name))
            };
            let is_setup = by.is_setup && (!changes_what_is_there(&counts) || is_of());
            for (nth, (ty, offset)) in levels.iter().enumerate() {
                let (ty, offset, direct) = (*ty, *offset, variable.is_none() && nth == 0);
                evidence.rows.push(UseRow { ty, offset, size, function, direct, is_setup, counts });
            }
            if let Subject::Static(index) = subject {
                let row = UseRow { ty, offset, size, function, direct: false, is_setup, counts };
                evidence.of_statics.push((index, row));
            }
        }
        evidence.rows.sort_unstable_by_key(|row| (row.ty, row.offset, row.size, row.function));
        evidence.of_statics.sort_by_key(|(index, row)| (*index, row.offset, row.function));
        let mut start = 0;
        for rows in evidence.rows.chunk_by(|a, b| a.ty == b.ty) {
            evidence.types.insert(rows[0].ty, (start, start + rows.len()));
            start += rows.len();
        }
        evidence
    }

    /// What is done to some bytes of a type's objects, whatever these are a part of.
    pub(crate) fn of_type(&self, ty: TypeId, offset: u64, size: u64) -> Uses {
        self.of_member([(ty, u64::MAX, offset)].into_iter(), size)
    }

    /// What is done to some bytes of objects of which no more is known than their type.
    pub(crate) fn of_direct(&self, ty: TypeId, offset: u64, size: u64) -> Uses {
        let mut uses = Uses::default();
        self.add(ty, offset, size, true, &mut uses);
        uses.finish()
    }

    /// Types of which an element that a variable chooses is written.
    pub(crate) fn chosen_types(&self) -> Vec<TypeId> {
        let is_chosen = |row: &&UseRow| row.direct && row.counts.chosen > 0;
        let mut types: Vec<TypeId> = self.rows.iter().filter(is_chosen).map(|row| row.ty).collect();
        types.dedup();
        types
    }

    /// What is done to a member of an object: through each of the types on the way to it, the outermost first, each with
    /// the member's offset in it.
    pub(crate) fn of_member(
        &self,
        way: impl Iterator<Item = (TypeId, u64, u64)>,
        size: u64,
    ) -> Uses {
        let mut uses = Uses::default();
        for (nth, (ty, bytes, offset)) in way.enumerate() {
            if nth == 0 || bytes >= MIN_TELLING_BYTES {
                self.add(ty, offset, size, nth > 0, &mut uses);
            }
        }
        uses.finish()
    }

    /// What is done to some bytes of a variable.
    pub(crate) fn of_static(&self, index: usize, offset: u64, size: u64) -> Uses {
        let mut uses = Uses::default();
        let start = self.of_statics.partition_point(|(at, _)| (*at as usize) < index);
        let rows = self.of_statics[start..].iter().take_while(|(at, _)| *at as usize == index);
        for (_, row) in rows.filter(|(_, row)| row.overlaps(offset, size)) {
            uses.note(row.function, &row.counts, row.is_setup);
        }
        uses.finish()
    }

    /// What is done to a member that is a number or a pointer.
    pub(crate) fn of_word(
        &self,
        model: &Model,
        owner: TypeId,
        member: &Member,
    ) -> Option<WordUses> {
        if !self.knows(owner) || !is_word(model, member.ty) {
            return None;
        }
        let uses = self.of_type(owner, member.offset, model.bytes_of(member));
        let is_telling = is_telling(model, owner);
        let is_number = is_number(model, member.ty) && member.bits.is_none();
        let is_written = is_number && self.are_updates(&uses, is_telling);
        Some(WordUses { uses, is_telling, is_written })
    }

    /// The same of a variable.
    pub(crate) fn of_static_word(&self, model: &Model, index: usize) -> Option<WordUses> {
        let ty = model.statics()[index].ty;
        is_word(model, ty).then(|| {
            let uses = self.of_static(index, 0, model[ty].size);
            let is_written = is_number(model, ty) && self.are_updates(&uses, true);
            WordUses { uses, is_telling: true, is_written }
        })
    }

    /// Whether some bytes that have no role are a plain word that many CPUs write. Of what may be a part of anything, only one
    /// instruction that reads and writes counts.
    pub(crate) fn are_updates(&self, uses: &Uses, is_telling: bool) -> bool {
        let (mut with, mut all) = (0, 0);
        for function in uses.updaters(!is_telling) {
            all += 1;
            with += usize::from(self.takes_lock(function));
        }
        with >= MIN_LOCKED_UPDATERS || (self.is_kernel && all >= MIN_KERNEL_UPDATERS)
    }

    /// Whether any code is known to use objects of a type.
    pub(crate) fn knows(&self, ty: TypeId) -> bool {
        self.types.contains_key(&ty)
    }

    fn takes_lock(&self, function: u32) -> bool {
        self.functions[function as usize].takes_lock
    }

    fn add(&self, ty: TypeId, offset: u64, size: u64, only_direct: bool, uses: &mut Uses) {
        let Some((start, end)) = self.types.get(&ty) else { return };
        let rows = &self.rows[*start..*end];
        let first = rows
            .partition_point(|row| u64::from(row.offset) + u64::from(MAX_ACCESS_BYTES) <= offset);
        let near = rows[first..].iter();
        for row in near.take_while(|row| u64::from(row.offset) < offset.saturating_add(size)) {
            if row.overlaps(offset, size) && (row.direct || !only_direct) {
                uses.note(row.function, &row.counts, row.is_setup);
            }
        }
    }
}

/// What is done to a number or a pointer.
pub(crate) struct WordUses {
    uses: Uses,
    /// Whether what it is a part of is more than links or a wrapper.
    is_telling: bool,
    /// Whether it is a plain word that many CPUs write, if it has no role.
    pub(crate) is_written: bool,
}

impl WordUses {
    /// What it is by its uses, if these are telling.
    pub(crate) fn role(&self) -> Option<Role> {
        // What a small type is a part of is not known: the links of a list are changed in a hundred ways.
        if !self.is_telling {
            let (changers, writers) = (self.uses.changers().count(), self.uses.writers().count());
            let is_contended = self.uses.is_contended() && 2 * changers >= writers;
            return is_contended.then_some(Role::Atomic);
        }
        if self.uses.is_read_mostly() {
            return Some(Role::ReadMostly);
        }
        self.uses.is_contended().then_some(Role::Atomic)
    }

    /// Whether functions other than setups add to it atomically, or compare-exchange it.
    pub(crate) fn is_added_to(&self) -> bool {
        self.uses.is_added_to()
    }
}

/// Whether a function updates what another had written: it did not begin the object, unless it first wrote the word itself.
fn changes_what_is_there(counts: &OperandCounts) -> bool {
    let is_begun = counts.writes > counts.updates && counts.reads == 0;
    let updates = counts.updates + counts.adds.saturating_sub(counts.swaps) + counts.exchanges;
    !is_begun && (updates > 0 || (counts.reads > 0 && counts.writes > 0))
}

/// Whether a type is more than links or a wrapper, by its size or the number of its members.
fn is_telling(model: &Model, ty: TypeId) -> bool {
    model[ty].size >= MIN_TELLING_BYTES || model[ty].kind.members().len() >= MIN_TELLING_MEMBERS
}

/// Whether the types are a kernel's.
pub(crate) fn is_kernel(model: &Model) -> bool {
    model.composites().any(|(_, ty, _)| &*ty.name == "kmem_cache")
}

/// A number of more than one byte: no character.
pub(crate) fn is_number(model: &Model, ty: TypeId) -> bool {
    let ty = &model[model.resolved(ty)];
    matches!(ty.kind, TypeKind::Scalar(Scalar::Integer)) && ty.size > 1
}

fn is_word(model: &Model, ty: TypeId) -> bool {
    matches!(model[model.resolved(ty)].kind, TypeKind::Scalar(_) | TypeKind::Pointer(_))
}

/// The composites on the way to some bytes, each with where these begin in it.
pub(crate) fn descend(
    model: &Model,
    ty: TypeId,
    offset: u64,
    size: u64,
    levels: &mut Vec<(TypeId, u32)>,
) {
    let mut open = vec![(ty, offset)];
    while let Some((ty, offset)) = open.pop() {
        let ty = model.resolved(ty);
        match &model[ty].kind {
            TypeKind::Array { element, .. } => {
                let inside = offset.checked_rem(model[*element].size);
                open.extend(inside.map(|inside| (*element, inside)));
            }
            TypeKind::Composite { members, .. } => {
                let Ok(at) = u32::try_from(offset) else { continue };
                levels.push((ty, at));
                if levels.len() >= MAX_LEVELS {
                    return;
                }
                let after = members.partition_point(|member| member.offset <= offset);
                open.extend(members[..after].iter().rev().take(MAX_LEVELS).filter_map(|member| {
                    let inside = offset - member.offset;
                    let holds = inside.saturating_add(size) <= model.bytes_of(member);
                    (holds && member.bits.is_none()).then_some((member.ty, inside))
                }));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
