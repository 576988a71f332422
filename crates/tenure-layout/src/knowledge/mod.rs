//! Knowledge of types and members by their names: which words many CPUs write.
//!
//! The built-in tables are rules files (see [`rules`](crate::rules)), one for each world: `linux.toml`, `c.toml`,
//! `cpp.toml` and `rust.toml` in this directory. Each entry names its source.
//!
//! ```
//! use tenure_layout::knowledge::Knowledge;
//! use tenure_types::model::{Builder, Format, Kind, Member, Scalar, Shape};
//! use tenure_model::Role;
//!
//! let mut builder = Builder::new();
//! let int = builder.add("int", 4, Kind::Scalar(Scalar::Integer));
//! let atomic = vec![Member::new("counter", 0, int)];
//! let atomic = builder.add("", 4, Kind::Composite { shape: Shape::Struct, members: atomic });
//! let atomic = builder.add("atomic_t", 0, Kind::Alias(atomic));
//! let members = vec![Member::new("__refcnt", 0, atomic), Member::new("hits", 4, atomic)];
//! let entry = builder.add("entry", 8, Kind::Composite { shape: Shape::Struct, members });
//! let model = builder.finish(Format::Btf, 1)?;
//!
//! let roles = Knowledge::builtin().roles(&model);
//! assert_eq!(roles.of_type(atomic), Some(Role::Atomic));
//! assert_eq!(roles.of_member(entry, 0), Some(Role::Count));
//! assert_eq!(roles.of_member(entry, 1), Some(Role::Atomic));
//! assert_eq!(roles.of_type(entry), None);
//! # Ok::<(), tenure_types::model::Malformed>(())
//! ```

mod roles;
mod table;

use std::sync::LazyLock;

pub use roles::Roles;
pub(crate) use roles::{GROUP_BEGIN, GROUP_END};

use crate::evidence::CodeEvidence;
use crate::rules::{AtomicPattern, Glob, MemberPattern, Rules, Specificity};
use table::{Precedence, RuleTable};
use tenure_model::Role;
use tenure_types::model::Model;

/// Names and texts. A later file wins on ties.
const BUILTIN: [(&str, &str); 4] = [
    ("c.toml", include_str!("c.toml")),
    ("cpp.toml", include_str!("cpp.toml")),
    ("rust.toml", include_str!("rust.toml")),
    ("linux.toml", include_str!("linux.toml")),
];

/// Knowledge of types and members by their names.
#[derive(Debug, Clone, Default)]
pub struct Knowledge {
    layers: u16,
    types: RuleTable<Role>,
    pointers: RuleTable<Role>,
    cacheline_groups: RuleTable<Role>,
    statics: RuleTable<Role>,
    sections: RuleTable<Role>,
    member_names: RuleTable<Role>,
    members: Typed,
    atomic_names: RuleTable<Role>,
    atomics: Typed,
}

/// Rules for members of certain types: by type, their places in the list.
#[derive(Debug, Clone, Default)]
struct Typed {
    by_type: RuleTable<usize>,
    rules: Vec<(MemberPattern, Role)>,
}

/// Files rules under the name of a member or, if they are for certain types, under those.
fn file_under<'a>(
    names: &mut RuleTable<Role>,
    typed: &mut Typed,
    layer: u16,
    rules: impl Iterator<Item = (Result<&'a Glob, &'a MemberPattern>, Specificity, Role)>,
) {
    let (mut by_name, mut by_type) = (Vec::new(), Vec::new());
    let mut members = Vec::new();
    for (order, (pattern, specificity, role)) in rules.enumerate() {
        let precedence = Precedence { layer, specificity, order };
        match pattern {
            Ok(name) => by_name.push((name, precedence, role)),
            Err(member) => {
                by_type.push((&member.ty, precedence, typed.rules.len() + members.len()));
                members.push((member.clone(), role));
            }
        }
    }
    names.extend(by_name.into_iter());
    typed.by_type.extend(by_type.into_iter());
    typed.rules.extend(members);
}

impl Knowledge {
    /// The built-in rules.
    #[must_use]
    pub fn builtin() -> Self {
        static BUILTIN_KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| {
            let mut all = Rules::default();
            for (file, text) in BUILTIN {
                // A test reads them all.
                let rules = Rules::parse(text, file).expect("the built-in rules are well-formed");
                all.append(rules);
            }
            Knowledge::none().with(&all)
        });
        BUILTIN_KNOWLEDGE.clone()
    }

    /// No rules, for others that should stand alone.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds rules, which win over all that are there.
    #[must_use]
    pub fn with(mut self, rules: &Rules) -> Self {
        let layer = self.layers;
        self.layers = layer.saturating_add(1);
        let named = [
            (&mut self.types, &rules.types),
            (&mut self.pointers, &rules.pointers),
            (&mut self.cacheline_groups, &rules.cacheline_groups),
            (&mut self.statics, &rules.statics),
            (&mut self.sections, &rules.sections),
        ];
        for (table, rules) in named {
            table.extend((0..).zip(rules).map(|(order, (glob, role))| {
                (glob, Precedence { layer, specificity: glob.specificity(), order }, *role)
            }));
        }

        let members = rules.members.iter().map(|(member, role)| {
            // The same for every type: looked up by the member's name alone.
            let any = member.path.single().filter(|_| member.ty.is_any());
            (any.ok_or(member), member.specificity(), *role)
        });
        file_under(&mut self.member_names, &mut self.members, layer, members);
        let atomics = rules.atomics.iter().map(|(pattern, role)| match pattern {
            AtomicPattern::Name(name) => {
                (Ok(name), Glob::new("*").specificity().and(name.specificity()), *role)
            }
            AtomicPattern::Member(member) => (Err(member), member.specificity(), *role),
        });
        file_under(&mut self.atomic_names, &mut self.atomics, layer, atomics);
        self
    }

    /// Looks up a model's types, members and variables, each once.
    #[must_use]
    pub fn roles(&self, model: &Model) -> Roles {
        Roles::new(self, model, None)
    }

    /// The same, and what the code shows where no rule is for the very type or member.
    #[must_use]
    pub fn roles_with(&self, model: &Model, evidence: Option<&CodeEvidence>) -> Roles {
        Roles::new(self, model, evidence)
    }
}

#[cfg(test)]
mod tests;
