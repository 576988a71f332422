//! BTF: every kind, both byte orders, split files, hostile ones and real ones.

mod bits;
mod encoder;
mod hostile;
mod kinds;
mod property;
mod real;
mod split;
