//! Names for what was recorded: the objects that lines are parts of, their words, the code and the threads that use them.

pub(crate) mod described;
pub(crate) mod names;
pub(crate) mod objects;
mod source;
pub(crate) mod threads;
pub(crate) mod value;
