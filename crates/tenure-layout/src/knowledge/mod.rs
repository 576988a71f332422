//! Knowledge of types and members by their names: which words many CPUs write.
//!
//! The built-in tables are rules files (see [`rules`](crate::rules)), one for each world: `linux.toml`, `c.toml`,
//! `cpp.toml` and `rust.toml` in this directory. Each entry names its source.

mod roles;
mod table;

use std::sync::LazyLock;

pub(crate) use roles::Roles;
pub(crate) use roles::{GROUP_BEGIN, GROUP_END};

use crate::evidence::CodeEvidence;
use crate::rules::{AtomicPattern, Glob, MemberPattern, NamedTable, Rules, Specificity};
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
pub(crate) struct Knowledge {
    layers: u16,
    /// The rules of each [`NamedTable`].
    named: [RuleTable<Role>; 5],
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
    for (order, (pattern, specificity, role)) in rules.enumerate() {
        let precedence = Precedence { layer, specificity, order };
        match pattern {
            Ok(name) => names.add(name, precedence, role),
            Err(member) => {
                typed.by_type.add(&member.ty, precedence, typed.rules.len());
                typed.rules.push((member.clone(), role));
            }
        }
    }
}

impl Knowledge {
    /// The built-in rules.
    pub(crate) fn builtin() -> Self {
        static BUILTIN_KNOWLEDGE: LazyLock<Knowledge> = LazyLock::new(|| {
            let mut all = Rules::default();
            for (file, text) in BUILTIN {
                // A test reads them all.
                let rules = Rules::parse(text, file).expect("the built-in rules are well-formed");
                all.append(rules);
            }
            Knowledge::default().with(&all)
        });
        BUILTIN_KNOWLEDGE.clone()
    }

    /// Adds rules, which win over all that are there.
    pub(crate) fn with(mut self, rules: &Rules) -> Self {
        let layer = self.layers;
        self.layers = layer.saturating_add(1);
        for (table, rules) in self.named.iter_mut().zip(&rules.named) {
            for (order, (glob, role)) in rules.iter().enumerate() {
                let precedence = Precedence { layer, specificity: glob.specificity(), order };
                table.add(glob, precedence, *role);
            }
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

    /// Looks up a model's types, members and variables, each once; and what the code shows where no rule is for the very type
    /// or member.
    pub(crate) fn roles(&self, model: &Model, evidence: Option<&CodeEvidence>) -> Roles {
        Roles::new(self, model, evidence)
    }

    fn best(&self, table: NamedTable, name: &str) -> Option<(Precedence, Role)> {
        self.named[table as usize].best(name)
    }
}

#[cfg(test)]
mod tests;
