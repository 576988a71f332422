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
use crate::rules::{MemberPattern, NamedTable, Rules, WordPattern};
use table::{Precedence, RuleTable};
use tenure_debuginfo::model::Model;
use tenure_model::Role;

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
    members: WordRules,
    atomics: WordRules,
}

/// Rules for members and variables.
#[derive(Debug, Clone, Default)]
struct WordRules {
    by_name: RuleTable<Role>,
    /// The places in the list of the rules for members of certain types.
    by_type: RuleTable<usize>,
    rules: Vec<(MemberPattern, Role)>,
}

impl WordRules {
    fn add(&mut self, layer: u16, rules: &[(WordPattern, Role)]) {
        for (order, (pattern, role)) in rules.iter().enumerate() {
            let precedence = Precedence { layer, specificity: pattern.specificity(), order };
            match pattern {
                WordPattern::Name(name) => self.by_name.add(name, precedence, *role),
                WordPattern::Member(member) => {
                    self.by_type.add(&member.ty, precedence, self.rules.len());
                    self.rules.push((member.clone(), *role));
                }
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
        self.members.add(layer, &rules.members);
        self.atomics.add(layer, &rules.atomics);
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
