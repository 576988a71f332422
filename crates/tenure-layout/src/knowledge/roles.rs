use rustc_hash::FxHashMap;

use super::table::{Precedence, RuleTable};
use super::{Knowledge, Typed};
use crate::evidence::CodeEvidence;
use crate::names;
use crate::rules::{ElementScope, NamedTable};
use tenure_model::Role;
use tenure_types::model::{Kind, Member, Model, Name, Qualifier, Static, TypeId};

const FUNCTION: &str = "(function)";

pub(crate) const GROUP_BEGIN: &str = "__cacheline_group_begin__";
pub(crate) const GROUP_END: &str = "__cacheline_group_end__";

/// Roles of the types, members and variables of one model.
#[derive(Debug, Clone)]
pub(crate) struct Roles {
    types: Vec<Option<Role>>,
    /// Where each type's members begin in `members`.
    first: Vec<usize>,
    members: Vec<Option<Role>>,
    statics: Vec<Option<Role>>,
    /// Of those that have no role, the plain words that many CPUs write, as the code shows.
    written: WrittenMembers,
}

#[derive(Debug, Clone, Default)]
struct WrittenMembers {
    members: Vec<bool>,
    statics: Vec<bool>,
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

    /// The first, unless the second has precedence.
    fn better(first: Option<Self>, second: Option<Self>) -> Option<Self> {
        match (first, second) {
            (Some(a), Some(b)) if (b.layer, b.of) > (a.layer, a.of) => second,
            (None, _) => second,
            _ => first,
        }
    }
}

type Certain = FxHashMap<TypeId, Vec<(usize, Precedence, Role)>>;

impl Roles {
    pub(super) fn new(
        knowledge: &Knowledge,
        model: &Model,
        evidence: Option<&CodeEvidence>,
    ) -> Self {
        let claims = TypeRoles::new(knowledge, model).claims();
        let certain = Certain::default();
        let mut members = MemberRoles {
            knowledge,
            model,
            evidence,
            types: &claims,
            certain: certain.clone(),
            certain_atomics: certain,
        };
        for (id, ty, _) in model.composites() {
            if !ty.name.is_empty() {
                collect(&mut members.certain, &knowledge.members, model, id, &ty.name);
                collect(&mut members.certain_atomics, &knowledge.atomics, model, id, &ty.name);
            }
        }

        let mut roles = Self {
            types: claims.iter().map(|claim| claim.map(|claim| claim.role)).collect(),
            first: vec![0; claims.len()],
            members: Vec::new(),
            statics: Vec::new(),
            written: WrittenMembers::default(),
        };
        for (id, _, of) in model.composites() {
            let first = roles.members.len();
            roles.first[id.index()] = first;
            members.of_composite(id, of, &mut roles.members);
            let written = of.iter().zip(&roles.members[first..]).map(|(member, role)| {
                role.is_none() && evidence.is_some_and(|it| it.is_written(model, id, member))
            });
            roles.written.members.extend(written);
        }
        let variable = |(index, one): (usize, &Static)| {
            let claim = of_variable(knowledge, &claims, one);
            let of_code = evidence.and_then(|known| {
                let role = known.role_of_static(model, index)?;
                by_code(claim, role, || known.is_static_added_to(model, index))
            });
            role_of_variable(knowledge, one, RoleClaim::better(claim, of_code)?)
        };
        roles.statics = model.statics().iter().enumerate().map(variable).collect();
        let written = |(index, role): (usize, &Option<Role>)| {
            role.is_none() && evidence.is_some_and(|it| it.is_static_written(model, index))
        };
        roles.written.statics = roles.statics.iter().enumerate().map(written).collect();
        roles
    }

    /// The role of this type's values, if known for the whole: then there is no look inside. Of several names the
    /// outermost known one decides.
    ///
    /// [`Role::Plain`] marks types that are of no interest, such as per-CPU words.
    pub(crate) fn of_type(&self, id: TypeId) -> Option<Role> {
        self.types[id.index()]
    }

    /// The role of a composite's member: by a rule for the member, its type, its cacheline group, or its pointee. If
    /// `None`, its type may be looked into. An array is what its elements are.
    pub(crate) fn of_member(&self, composite: TypeId, index: usize) -> Option<Role> {
        self.members[self.first[composite.index()] + index]
    }

    /// Whether a composite's member without a role is a plain word that many CPUs write, as the code shows.
    pub(crate) fn is_written(&self, composite: TypeId, index: usize) -> bool {
        self.written.members[self.first[composite.index()] + index]
    }

    /// The same of a variable.
    pub(crate) fn is_static_written(&self, index: usize) -> bool {
        self.written.statics[index]
    }

    /// By a rule for the variable's name, its section or its type.
    pub(crate) fn of_static(&self, index: usize) -> Option<Role> {
        self.statics[index]
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
            matches!(kind, Kind::Scalar(_) | Kind::Pointer(_))
        };
        let own = |ty: &tenure_types::model::Type| match ty.kind {
            Kind::Composite { .. } | Kind::Alias(_) | Kind::Scalar(_) if !ty.name.is_empty() => {
                let known = knowledge.best(NamedTable::Types, &ty.name)?;
                // `atomic_int` says what `_Atomic int` does.
                let of = match ty.kind {
                    Kind::Alias(id) if known.1 == Role::Atomic && is_number(id) => {
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

    /// By all names of a type. Terminates: types do not contain themselves, and the model bounds chains.
    fn claim(&self, mut id: TypeId) -> Option<RoleClaim> {
        let mut claim = None;
        loop {
            claim = RoleClaim::better(claim, self.own[id.index()]);
            id = match self.model[id].kind {
                Kind::Alias(of) | Kind::Array { element: of, .. } => of,
                Kind::Qualified(qualifier, inner) => {
                    let otherwise = match qualifier {
                        Qualifier::Atomic => {
                            Some(RoleClaim::given(RuleSubject::Qualifier, Role::Atomic))
                        }
                        Qualifier::Const => {
                            Some(RoleClaim::given(RuleSubject::Pointer, Role::ReadMostly))
                        }
                        Qualifier::Volatile | Qualifier::Other => None,
                    };
                    if otherwise.is_some() {
                        return RoleClaim::better(
                            RoleClaim::better(claim, self.claim(inner)),
                            otherwise,
                        );
                    }
                    inner
                }
                Kind::Pointer(Some(to)) => {
                    return RoleClaim::better(
                        claim,
                        self.pointee(to).map(RoleClaim::new(RuleSubject::Pointer)),
                    );
                }
                _ => return claim,
            };
        }
    }

    fn pointee(&self, mut to: TypeId) -> Option<(Precedence, Role)> {
        loop {
            let ty = &self.model[to];
            let name = if matches!(ty.kind, Kind::Function) { FUNCTION } else { &*ty.name };
            let known = if name.is_empty() {
                None
            } else {
                self.knowledge.best(NamedTable::Pointers, name)
            };
            match ty.kind {
                Kind::Alias(of) | Kind::Qualified(_, of) if known.is_none() => to = of,
                _ => return known,
            }
        }
    }
}

fn collect(certain: &mut Certain, rules: &Typed, model: &Model, id: TypeId, name: &str) {
    for (precedence, at) in rules.by_type.all(name) {
        let (member, role) = &rules.rules[at];
        // An endless path does not apply to the type.
        let places = member.path.resolve(model, id, ElementScope::First).unwrap_or_default();
        for place in places {
            certain.entry(place.owner).or_default().push((place.index, precedence, *role));
        }
    }
}

struct MemberRoles<'a> {
    knowledge: &'a Knowledge,
    model: &'a Model,
    evidence: Option<&'a CodeEvidence>,
    types: &'a [Option<RoleClaim>],
    certain: Certain,
    certain_atomics: Certain,
}

impl MemberRoles<'_> {
    fn of_composite(&self, id: TypeId, members: &[Member], roles: &mut Vec<Option<Role>>) {
        let certain = self.certain.get(&id);
        let mut group = None;
        for (index, member) in members.iter().enumerate() {
            if member.name.starts_with("__cacheline_group_") {
                if let Some(name) = member.name.strip_prefix(GROUP_BEGIN) {
                    let known = self.knowledge.best(NamedTable::CachelineGroups, name);
                    group = known.map(RoleClaim::new(RuleSubject::Group));
                } else if member.name.starts_with(GROUP_END) {
                    group = None;
                }
            }
            let named = by_name(certain, index, &self.knowledge.member_names, &member.name);
            let named = named.map(RoleClaim::new(RuleSubject::Name));
            let of_type = self.types[member.ty.index()];
            let claim = RoleClaim::better(RoleClaim::better(named, of_type), group);
            let of_code = self.evidence.and_then(|known| {
                let role = known.role_of(self.model, id, member)?;
                by_code(claim, role, || known.is_added_to(self.model, id, member))
            });
            roles.push(RoleClaim::better(claim, of_code).map(|claim| {
                match (claim.of, claim.role) {
                    (
                        RuleSubject::Qualifier | RuleSubject::Type | RuleSubject::Code,
                        Role::Atomic,
                    ) => self.atomic(id, index, member),
                    (_, role) => role,
                }
            }));
        }
    }

    fn atomic(&self, id: TypeId, index: usize, member: &Member) -> Role {
        let certain = self.certain_atomics.get(&id);
        let known = by_name(certain, index, &self.knowledge.atomic_names, &member.name);
        known.map_or(Role::Atomic, |(_, role)| role)
    }
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

/// What the code says, against what is known by name: an `_Atomic` counter stays one, however many read it.
fn by_code(
    known: Option<RoleClaim>,
    role: Role,
    is_added_to: impl Fn() -> bool,
) -> Option<RoleClaim> {
    let is_declared = known.is_some_and(|claim| claim.of == RuleSubject::Qualifier);
    let is_counter = is_declared && role == Role::ReadMostly && is_added_to();
    (!is_counter).then(|| RoleClaim::given(RuleSubject::Code, role))
}

fn of_variable(
    knowledge: &Knowledge,
    types: &[Option<RoleClaim>],
    variable: &Static,
) -> Option<RoleClaim> {
    let named =
        knowledge.best(NamedTable::Statics, &variable.name).map(RoleClaim::new(RuleSubject::Name));
    let section = knowledge
        .best(NamedTable::Sections, &variable.section)
        .map(RoleClaim::new(RuleSubject::Section));
    RoleClaim::better(RoleClaim::better(named, section), types[variable.ty.index()])
}

fn role_of_variable(knowledge: &Knowledge, variable: &Static, claim: RoleClaim) -> Option<Role> {
    if !matches!(
        (claim.of, claim.role),
        (RuleSubject::Qualifier | RuleSubject::Type | RuleSubject::Code, Role::Atomic)
    ) {
        return Some(claim.role);
    }
    // Without its path, as members' names.
    Some(
        knowledge
            .atomic_names
            .best(names::last(&variable.name))
            .map_or(Role::Atomic, |(_, role)| role),
    )
}
