//! Findings, ranks and proposals on models that are made for one claim each.

mod claims;
mod properties;
mod suggestions;

use crate::knowledge::Knowledge;
use crate::lines::LayoutModel;
use crate::sharing;
use tenure_debuginfo::model::Model;
use tenure_model::Finding;

fn with_layouts<R>(model: &Model, see: impl FnOnce(&LayoutModel<'_>) -> R) -> R {
    let roles = Knowledge::builtin().roles(model, None);
    see(&LayoutModel::new(model, &roles, 64))
}

fn findings_of(model: &Model) -> Vec<Finding> {
    with_layouts(model, |layouts| {
        let found = sharing::find(layouts);
        (1..).zip(&found).map(|(rank, one)| sharing::finding(layouts, rank, one)).collect()
    })
}
