//! What the fuzz targets share: what has to hold for any bytes at all.

use std::fmt::Display;

use tenure_layout::sharing;
use tenure_layout::knowledge::Knowledge;
use tenure_layout::lines::Layouts;
use tenure_types::model::{Kind, Model};
use tenure_layout::suggest::{Pins, suggest};

/// Types that a run looks at closely: of the time that a run may take, most is the reader's.
const LOOKED_AT: usize = 8;

/// Bytes are either a model or an error of one line.
pub fn check<E: Display>(result: Result<Model, E>) {
    match result {
        Ok(model) => {
            rules(&model);
            analysis(&model);
        }
        Err(error) => {
            let line = error.to_string();
            assert!(!line.is_empty() && !line.contains(char::is_control));
        }
    }
}

/// What everything after the readers relies on: the rules of the module `model`.
fn rules(model: &Model) {
    for (id, ty) in model.iter() {
        assert!(ty.align.is_power_of_two());
        let _ = (model.resolved(id), model.spelled(id), model.holes(id));
        if let Kind::Composite { members, .. } = &ty.kind {
            assert!(members.is_sorted_by_key(|member| member.offset));
            for member in members {
                assert!(member.ty.index() < model.types().len());
                assert!(member.bits.is_none_or(|bits| bits.first < 8 && bits.count > 0));
                assert!(member.offset <= ty.size);
            }
        }
    }
    assert!(model.statics().iter().all(|variable| variable.ty.index() < model.types().len()));
}

/// Whatever was read can be analysed.
fn analysis(model: &Model) {
    let roles = Knowledge::builtin().roles(model);
    let layouts = Layouts::new(model, &roles, 64);
    let found = sharing::find(&layouts);
    let ranked: Vec<_> = (1..).zip(&found).take(LOOKED_AT).collect();
    for finding in sharing::findings(&layouts, &ranked) {
        assert!((0.0..=100.0).contains(&finding.score) && !finding.victims.is_empty());
    }
    for (id, _, _) in model.composites().take(LOOKED_AT) {
        let map = layouts.map(id);
        assert!(map.lines.iter().flat_map(|line| &line.cells).all(|cell| cell.size > 0));
        let _ = suggest(&layouts, id, &Pins::default());
    }
}
