//! Shows findings of contended cache lines ([`tenure_model::Report`]): one renderer each for a terminal, JSON and HTML.
//!
//! Findings come from a program's types (`tenure layout`) or from a run of it (`tenure run`). Nothing here knows how they
//! were made: the renderers read a report and nothing else, so that JSON from another machine can be shown too. Names in
//! a report come from files that may be hostile: each renderer first removes what would steer a terminal or turn text around, and
//! HTML escapes the rest.
//!
//! | module | subject |
//! |---|---|
//! | [`terminal`], [`html`](mod@html), [`json`] | one renderer each |
//!
//! A *line map* has one row for each cache line and cells as wide as members are long. Beside its colour each cell has
//! a sign:
//!
//! | sign | the member |
//! |---|---|
//! | `!` | is a contended word |
//! | `*` | suffers: it shares the line with one and is likely read meanwhile |
//! | `✓` | suffered, and no longer does in the suggested order |
//! | `→` | changes place in the suggested order |
//! | `=` | is read mostly |
//! | `~` | is cold |
//! | `░` | is none: a hole |

pub mod html;
pub mod json;
pub mod terminal;

mod clean;
mod maps;
mod picture;
mod words;

#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod hostile;
