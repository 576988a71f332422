//! What `perf` has measured of a program: samples with the address of the data and where it came from.
//!
//! `perf c2c record` and `perf mem record` write such samples, where the processor can tell (`perf record -d` writes addresses
//! alone). A *HITM* is a load that found the line modified in another core's cache.
//!
//! | module | subject |
//! |---|---|
//! | `recording` | all samples of one program; errors |
//! | `file`, `sample` | `perf.data` |
//! | `text` | what `perf script` prints |
//! | `source` | the bits of `data_src` |
//! | `space` | from addresses of a process to the file's own |

mod bytes;
mod file;
mod recording;
mod sample;
mod source;
mod space;
mod text;

pub use self::recording::ProgramSamples;
