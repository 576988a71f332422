//! The readers: BTF and DWARF, real, made by hand and hostile; and against pahole.

mod btf;
mod dwarf;
mod pahole;
