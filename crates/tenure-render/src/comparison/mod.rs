//! Shows comparisons: which of two programs is faster. One module a format.

mod markdown;
mod page;
mod terminal;
mod words;

pub use markdown::markdown;
pub use page::page;
pub use terminal::terminal;

#[cfg(test)]
mod fixtures;
