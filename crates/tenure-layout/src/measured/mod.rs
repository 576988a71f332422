//! What `perf` has measured of the program: samples with the address of the data and where it came from.
//!
//! `perf c2c record` and `perf mem record` write such samples, where the processor can tell (`perf record -d` writes addresses
//! alone). A sample belongs to the variable at its address of data, or else to the member that its instruction accesses, as
//! [`sweep`](tenure_code::sweep) knows it. A *HITM* is a load that found the line modified in another core's cache.
//!
//! | module | subject |
//! |---|---|
//! | `recording` | all samples of one program; errors |
//! | `file`, `sample` | `perf.data` |
//! | `text` | what `perf script` prints |
//! | `source` | the bits of `data_src` |
//! | `space` | from addresses of a process to the file's own |
//! | `parts` | samples by type and member |
//! | `join` | findings with what was measured, and findings that only measuring shows |

mod bytes;
mod file;
mod join;
mod parts;
mod recording;
mod sample;
mod source;
mod space;
mod text;

pub(crate) use join::{EntrySource, Joined, ListEntry, Own, entries};
pub(crate) use recording::ProgramSamples;
