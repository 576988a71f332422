//! What an analysis found, told three ways: text with line maps for a terminal, JSON for machines, and
//! one HTML file with pictures.
//!
//! All three read a [`Report`](crate::result::Report) and nothing else, so that a file of JSON from another
//! machine can be told the same ways. Names in it come out of files that nobody vouches for: whatever
//! is shown is cleaned first, of what would steer a terminal or turn text around, and HTML escapes it.
//!
//! A *line map* has one row for each cache line and cells as wide as members are long. What a cell is,
//! a sign says beside its colour:
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
