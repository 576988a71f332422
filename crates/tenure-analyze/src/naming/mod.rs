//! Names for what was recorded: the objects that lines are parts of, their words, the code and the threads that use them.

pub(crate) mod described;
pub(crate) mod names;
pub(crate) mod objects;
pub(crate) mod role;
mod source;
#[cfg(test)]
mod table;
pub(crate) mod threads;
pub(crate) mod value;
