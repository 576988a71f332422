//! Why a type has no better layout: sentences.

use super::MIN_SCORE;
use crate::lines::LayoutModel;
use crate::sharing::in_type;
use tenure_model::{Alternative, Suggestion};
use tenure_types::model::TypeId;

/// Why there is no layout at all.
pub(super) fn nothing(layouts: &LayoutModel<'_>, id: TypeId) -> String {
    let name = layouts.spelled(id);
    let found = in_type(layouts, id);
    if found.is_empty() {
        return format!("{name} has nothing beside a contended word.");
    }
    if found.iter().all(|one| one.score < MIN_SCORE) {
        return format!(
            "There is nothing to gain: what {name} has beside its contended words hardly suffers (score 0)."
        );
    }
    format!("No small set of moves, and no line of its own, makes {name} clearly better.")
}

/// Why no order is proposed. `together` says that there would be one if functions did not use its members together.
pub(super) fn no_order(layouts: &LayoutModel<'_>, id: TypeId, together: bool) -> String {
    let name = layouts.spelled(id);
    if layouts.size_of(id) <= layouts.line_bytes {
        return format!("No order helps: {name} is no larger than a line.");
    }
    if together {
        return format!(
            "No order helps: it would tear apart what functions of {name} use together."
        );
    }
    format!("No small set of moves makes {name} clearly better without enlarging a type.")
}

/// One of those that are not recommended.
pub(super) fn alternative(other: Suggestion) -> Alternative {
    let Suggestion { means, summary, price, score_after, after, .. } = other;
    Alternative { means, summary, size: after.size, price, score_after }
}
