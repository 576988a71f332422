//! From a way to fix a contended line to words and code, in the program's own language.
//!
//! All instruments ask here: `run` and `watch` with a [`Remedy`](tenure_model::Remedy) that the simulator tried, `layout` with a
//! new order of a type's members. Nothing here decides which change applies, or whether it pays.
//!
//! | module | subject |
//! |---|---|
//! | [`repair`] | what a change says to do, and what to write |
//! | [`layout`] | what a new layout of a type moves, costs and asks to check |
//! | [`words`] | what a program calls the words of a change |
//! | [`language`] | the language of a source file |

pub mod language;
pub mod layout;
pub mod repair;
pub mod words;

mod code;
mod written;
