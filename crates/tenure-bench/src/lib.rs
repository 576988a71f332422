//! Benchmarks of Tenure: scenarios, the measuring method, and the report.
//!
//! The data flows in one line:
//!
//! ```text
//! scenario ─> variants ─> runner ─> samples ─> rows with ratios ─> claims ─> table, JSON, HTML
//! ```
//!
//! | module | what it does |
//! |---|---|
//! | [`scenario`] | what is measured |
//! | [`runner`] | how: interleaved slices on pinned threads |
//! | [`stats`] | medians and intervals |
//! | [`claims`] | what the figures say |
//! | [`run`] | from a request to a report |
//! | [`result`] | the report's shape, which is the JSON schema |

pub mod claims;
pub mod result;
pub mod run;
pub mod runner;
pub mod scenario;
pub mod stats;

/// Placeholder until the machine room lands.
mod machine {
    use crate::result::Machine;
    pub(crate) fn describe() -> Machine {
        Machine {
            cpu: String::new(),
            arch: String::new(),
            cpus: 0,
            cores: 0,
            smt: 0,
            sockets: 0,
            caches: vec![],
            memory_bytes: 0,
            kernel: String::new(),
            virtualisation: String::new(),
            governor: String::new(),
        }
    }
}
