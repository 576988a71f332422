//! Edits of Rust: the declaration first, then what the compiler says of its uses.
//!
//! [`edits`] changes a declaration, and what its file constructs it with. It needs no types: a parser finds the
//! declaration, and gives the bytes of every node. The uses need types, and the compiler knows them. So the caller builds,
//! hands the compiler's messages to [`follow_up`], applies what comes back, and builds again, until the program builds or an
//! error is refused. The caller limits the rounds. A refusal withdraws the change: what was edited is taken back.
//!
//! Not seen:
//!
//! - Uses that the build leaves out, under a condition or in tests that it does not build: build all targets.
//! - Text of `macro_rules!`, and of macros whose arguments are not expressions: an error there is refused.
//! - What is printed: `crossbeam_utils::CachePadded` shows itself in `{:?}`, the other types do not.

mod apart;
mod borrow;
mod count;
mod diagnostic;
mod follow;
mod order;
mod place;
mod source;
mod stand_in;
mod store;
mod uses;

pub use follow::{Asked, follow_up};

use crate::{EditOptions, Refusal, SourceChange, SourcePlace};
use source::RustSource;
use tenure_model::SourceEdit;

/// The edits of the file that declares what the change is about.
///
/// # Errors
///
/// A [`Refusal`] if the declaration is not at the place, is made by a macro or declared under conditions, or if the change
/// could alter what the program does.
pub fn edits(
    source: &str,
    change: &SourceChange,
    place: &SourcePlace,
    options: &EditOptions,
) -> Result<Vec<SourceEdit>, Refusal> {
    let source = RustSource::parse(&place.file, source)?;
    let mut edits = match change {
        SourceChange::MembersApart { .. } => {
            apart::members(&source, &change.names(), place, options)
        }
        SourceChange::VariablesApart { names } => apart::variables(&source, names, place, options),
        SourceChange::TypeApart => apart::whole_type(&source, place, options),
        SourceChange::Order { members } => order::order(&source, members, place),
        SourceChange::TestBeforeStore { name } => store::test_before(&source, name, place),
        SourceChange::CountPerThread { name } => count::per_thread(&source, name, place, options),
        SourceChange::Borrow => borrow::borrow(&source, place),
    }?;
    edits.sort_by_key(|edit| edit.range);
    Ok(edits)
}
