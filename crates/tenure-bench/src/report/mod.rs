//! What a run found, told three ways: tables for a terminal, JSON for machines, and one HTML file
//! for people who were not there.
//!
//! All three read a [`Report`](crate::result::Report) and nothing else, so that a file of JSON from
//! another machine can be told the same ways.

pub mod html;
pub mod json;
pub mod table;
pub(crate) mod words;

#[cfg(test)]
pub(crate) mod fixtures;
