//! divan 0.1: a tree of names beside a table of times.

use tenure_model::Better;

use super::ToolFormat;
use crate::metric::figures::Figures;
use crate::metric::text::{Form, number_and_unit};
use crate::metric::unit::FigureUnit;

/// Which column of the table is read.
const MEDIAN: usize = 2;

/// A divan table. A name's depth in the tree is that of the lines drawn before it.
#[derive(Default)]
pub(super) struct Divan {
    /// Where the columns begin, in characters; 0 before the first table.
    column: usize,
    /// The names from the root to the last row.
    path: Vec<String>,
}

impl ToolFormat for Divan {
    fn read(&mut self, line: &str, figures: &mut Figures) -> bool {
        static HEAD: Form =
            Form::new("│ median", r"^((\S+)\s+)fastest\s+│ slowest\s+│ median\s+│ mean\s+│");
        static NAME: Form = Form::new("─ ", r"^((?:│  |   )*)[├╰]─ (.+)$");
        static NO_NAME: Form = Form::new("", r"^[│ ]*()$");
        if let Some([indent, root]) = HEAD.parts(line) {
            self.column = indent.chars().count();
            self.path = vec![root.to_owned()];
            return true;
        }
        let column = line.char_indices().nth(self.column).map(|(at, _)| at);
        let Some(column) = column.filter(|_| self.column > 0) else { return false };
        let (tree, cells) = line.split_at(column);
        let median = cells.split('│').nth(MEDIAN).and_then(number_and_unit);
        if let Some([lines, name]) = NAME.parts(tree) {
            self.path.truncate(1 + lines.chars().count() / 3);
            self.path.push(name.trim().to_owned());
            if let Some((time, unit)) = median {
                figures.add(&self.path.join("/"), Some(time), unit);
            }
            return true;
        }
        if let (Some([_]), Some((rate, unit))) = (NO_NAME.parts::<1>(tree), median) {
            // The prefix of `MB/s` may differ from run to run, and the name must not. Allocations are counts, of no unit.
            if let Some(base) = FigureUnit::of(unit).filter(|it| it.better == Better::Higher) {
                figures.add_derived(&self.path.join("/"), &base.name, Some(rate), unit);
            }
            return true;
        }
        false
    }
}
