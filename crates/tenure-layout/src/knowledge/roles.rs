use rustc_hash::FxHashMap;

use super::table::{Precedence, RuleTable};
use super::{Knowledge, WordRules};
use crate::evidence::{CodeEvidence, WordUses};
use crate::rules::{ElementScope, NamedTable};
use tenure_debuginfo::model::{Member, Model, Name, Qualifier, Static, TypeId, TypeKind};
use tenure_debuginfo::names;
use tenure_model::Role;

const FUNCTION: &str = "(function)";

pub(crate) const GROUP_BEGIN: &str = "__cacheline_group_begin__";
pub(crate) const GROUP_END: &str = "__cacheline_group_end__";

/// Roles of the types, members and variables of one model.
#[derive(Debug, Clone)]
pub(crate) struct Roles {
    types: Vec<Option<Role>>,
    /// Where each type's members begin in `members`.
    first: Vec<usize>,
    members: Vec<WordRole>,
    statics: Vec<WordRole>,
}

#[derive(Debug, Clone, Copy)]
struct WordRole {
    role: Option<Role>,
    /// Whether it has no role, and is a plain word that many CPUs write, as the code shows.
    is_written: bool,
}

/// The subject of a rule, from the least to the most specific.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RuleSubject {
    /// The target of a pointer, or `const`.
    Pointer,
    Group,
    /// `_Atomic`, or a number's typedef that says the same: a clock that one function sets has it too.
    Qualifier,
    /// What the code does with it.
    Code,
    Type,
    Section,
    Name,
}

#[derive(Debug, Clone, Copy)]
struct RoleClaim {
    layer: u16,
    of: RuleSubject,
    role: Role,
}

impl RoleClaim {
    fn new(of: RuleSubject) -> impl Fn((Precedence, Role)) -> Self {
        move |(precedence, role)| Self { layer: precedence.layer, of, role }
    }

    fn given(of: RuleSubject, role: Role) -> Self {
        Self { layer: 0, of, role }
    }

    /// The first of those that have precedence over the others.
    fn best(claims: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        let better = |a: Self, b: Self| if (b.layer, b.of) > (a.layer, a.of) { b } else { a };
        claims.into_iter().flatten().reduce(better)
    }
}

/// The places of each type's members for which there are rules.
type Certain = FxHashMap<TypeId, Vec<(usize, Precedence, Role)>>;

impl Roles {
    pub(super) fn new(
        knowledge: &Knowledge,
        model: &Model,
        evidence: Option<&CodeEvidence>,
    ) -> Self {
        let types = TypeRoles::new(knowledge, model).claims();
        let (mut certain, mut certain_atomics) = (Certain::default(), Certain::default());
        for (id, ty, _) in model.composites().filter(|(_, ty, _)| !ty.name.is_empty()) {
            collect(&mut certain, &knowledge.members, model, id, &ty.name);
            collect(&mut certain_atomics, &knowledge.atomics, model, id, &ty.name);
        }
        let types_known = types.iter().map(|claim| claim.map(|claim| claim.role)).collect();
        let (first, members, statics) = (vec![0; types.len()], Vec::new(), Vec::new());
        let mut roles = Self { types: types_known, first, members, statics };
        let words = WordRoles { knowledge, model, evidence, types, certain, certain_atomics };
        for (id, _, members) in model.composites() {
            roles.first[id.index()] = roles.members.len();
            words.of_composite(id, members, &mut roles.members);
        }
        let statics = model.statics().iter().enumerate();
        roles.statics = statics.map(|(index, one)| words.of_variable(index, one)).collect();
        roles
    }

    /// The role of this type's values, if known for the whole: then its members do not count. Of several names the
    /// outermost known one decides. [`Role::Plain`] marks types that are of no interest, such as per-CPU words.
    pub(crate) fn of_type(&self, id: TypeId) -> Option<Role> {
        self.types[id.index()]
    }

    /// The role of a composite's member: by a rule for the member, its type, its cacheline group, or its pointee. If
    /// `None`, its type may be looked into. An array is what its elements are. Aliases of the composite are not resolved.
    pub(crate) fn of_member(&self, composite: TypeId, index: usize) -> Option<Role> {
        self.members[self.first[composite.index()] + index].role
    }

    /// Whether a composite's member without a role is a plain word that many CPUs write, as the code shows.
    pub(crate) fn is_written(&self, composite: TypeId, index: usize) -> bool {
        self.members[self.first[composite.index()] + index].is_written
    }

    /// Whether a variable without a role is such a word.
    pub(crate) fn is_static_written(&self, index: usize) -> bool {
        self.statics[index].is_written
    }

    /// The role of a variable: by a rule for its name, its section or its type.
    pub(crate) fn of_static(&self, index: usize) -> Option<Role> {
        self.statics[index].role
    }
}

struct TypeRoles<'a> {
    knowledge: &'a Knowledge,
    model: &'a Model,
    own: Vec<Option<RoleClaim>>,
}

impl<'a> TypeRoles<'a> {
    fn new(knowledge: &'a Knowledge, model: &'a Model) -> Self {
        let is_number = |id| {
            let kind = &model[model.resolved(id)].kind;
            matches!(kind, TypeKind::Scalar(_) | TypeKind::Pointer(_))
        };
        let own = |ty: &tenure_debuginfo::model::Type| match ty.kind {
            TypeKind::Composite { .. } | TypeKind::Alias(_) | TypeKind::Scalar(_)
                if !ty.name.is_empty() =>
            {
                let known = knowledge.best(NamedTable::Types, &ty.name)?;
                // `atomic_int` says what `_Atomic int` does.
                let of = match ty.kind {
                    TypeKind::Alias(id) if known.1 == Role::Atomic && is_number(id) => {
                        RuleSubject::Qualifier
                    }
                    _ => RuleSubject::Type,
                };
                Some(RoleClaim::new(of)(known))
            }
            _ => None,
        };
        Self { knowledge, model, own: model.types().iter().map(own).collect() }
    }

    fn claims(&self) -> Vec<Option<RoleClaim>> {
        self.model.iter().map(|(id, _)| self.claim(id)).collect()
    }

    /// What all names of a type say. Terminates: types do not contain themselves, and the model bounds chains.
    fn claim(&self, mut id: TypeId) -> Option<RoleClaim> {
        let mut claim = None;
        loop {
            claim = RoleClaim::best([claim, self.own[id.index()]]);
            id = match self.model[id].kind {
                TypeKind::Alias(of) | TypeKind::Array { element: of, .. } => of,
                TypeKind::Qualified(qualifier, inner) => {
                    let said = match qualifier {
                        Qualifier::Atomic => (RuleSubject::Qualifier, Role::Atomic),
                        Qualifier::Const => (RuleSubject::Pointer, Role::ReadMostly),
                        Qualifier::Volatile | Qualifier::Other => {
                            id = inner;
                            continue;
                        }
                    };
                    let said = RoleClaim::given(said.0, said.1);
                    return RoleClaim::best([claim, self.claim(inner), Some(said)]);
                }
                TypeKind::Pointer(Some(to)) => {
                    let pointee = self.pointee(to).map(RoleClaim::new(RuleSubject::Pointer));
                    return RoleClaim::best([claim, pointee]);
                }
                _ => return claim,
            };
        }
    }

    fn pointee(&self, mut to: TypeId) -> Option<(Precedence, Role)> {
        loop {
            let ty = &self.model[to];
            let name = if matches!(ty.kind, TypeKind::Function) { FUNCTION } else { &*ty.name };
            let known = if name.is_empty() {
                None
            } else {
                self.knowledge.best(NamedTable::Pointers, name)
            };
            match ty.kind {
                TypeKind::Alias(of) | TypeKind::Qualified(_, of) if known.is_none() => to = of,
                _ => return known,
            }
        }
    }
}

fn collect(certain: &mut Certain, rules: &WordRules, model: &Model, id: TypeId, name: &str) {
    for (precedence, at) in rules.by_type.all(name) {
        let (member, role) = &rules.rules[at];
        // An endless path does not apply to the type.
        let places = member.path.resolve(model, id, ElementScope::First).unwrap_or_default();
        for place in places {
            certain.entry(place.owner).or_default().push((place.index, precedence, *role));
        }
    }
}

struct WordRoles<'a> {
    knowledge: &'a Knowledge,
    model: &'a Model,
    evidence: Option<&'a CodeEvidence>,
    types: Vec<Option<RoleClaim>>,
    certain: Certain,
    certain_atomics: Certain,
}

impl WordRoles<'_> {
    fn of_composite(&self, id: TypeId, members: &[Member], roles: &mut Vec<WordRole>) {
        let (certain, certain_atomics) = (self.certain.get(&id), self.certain_atomics.get(&id));
        let mut group = None;
        for (index, member) in members.iter().enumerate() {
            if let Some(name) = member.name.strip_prefix(GROUP_BEGIN) {
                let known = self.knowledge.best(NamedTable::CachelineGroups, name);
                group = known.map(RoleClaim::new(RuleSubject::Group));
            } else if member.name.starts_with(GROUP_END) {
                group = None;
            }
            let named = by_name(certain, index, &self.knowledge.members.by_name, &member.name);
            let named = named.map(RoleClaim::new(RuleSubject::Name));
            let claim = RoleClaim::best([named, self.types[member.ty.index()], group]);
            let uses = self.evidence.and_then(|it| it.of_word(self.model, id, member));
            roles.push(word_role(claim, uses.as_ref(), || {
                by_name(certain_atomics, index, &self.knowledge.atomics.by_name, &member.name)
            }));
        }
    }

    fn of_variable(&self, index: usize, variable: &Static) -> WordRole {
        let known = |table, name, of| self.knowledge.best(table, name).map(RoleClaim::new(of));
        let claim = RoleClaim::best([
            known(NamedTable::Statics, &variable.name, RuleSubject::Name),
            known(NamedTable::Sections, &variable.section, RuleSubject::Section),
            self.types[variable.ty.index()],
        ]);
        let uses = self.evidence.and_then(|it| it.of_static_word(self.model, index));
        // Without its path, as members' names.
        let atomic = || self.knowledge.atomics.by_name.best(names::last(&variable.name));
        word_role(claim, uses.as_ref(), atomic)
    }
}

/// What a word is, by rules and by what the code does to it. `atomic` says what kind of atomic word it is.
fn word_role(
    claim: Option<RoleClaim>,
    uses: Option<&WordUses>,
    atomic: impl FnOnce() -> Option<(Precedence, Role)>,
) -> WordRole {
    let of_code = uses.and_then(|uses| {
        let role = uses.role()?;
        // An `_Atomic` counter stays one, however many read it.
        let is_declared = claim.is_some_and(|claim| claim.of == RuleSubject::Qualifier);
        let is_counter = is_declared && role == Role::ReadMostly && uses.is_added_to();
        (!is_counter).then(|| RoleClaim::given(RuleSubject::Code, role))
    });
    let role = RoleClaim::best([claim, of_code]).map(|claim| match (claim.of, claim.role) {
        (RuleSubject::Qualifier | RuleSubject::Type | RuleSubject::Code, Role::Atomic) => {
            atomic().map_or(Role::Atomic, |(_, role)| role)
        }
        (_, role) => role,
    });
    WordRole { role, is_written: role.is_none() && uses.is_some_and(|uses| uses.is_written) }
}

fn by_name(
    certain: Option<&Vec<(usize, Precedence, Role)>>,
    index: usize,
    names: &RuleTable<Role>,
    name: &Name,
) -> Option<(Precedence, Role)> {
    let of_name = if name.is_empty() { None } else { names.best(name) };
    let certain = certain.into_iter().flatten().filter(|(at, ..)| *at == index);
    let certain = certain.map(|(_, precedence, role)| (*precedence, *role));
    certain.chain(of_name).max_by_key(|(precedence, _)| *precedence)
}
