//! Benchmarks of Tenure: scenarios, the measuring method, and the report.

pub mod machine;
pub mod report;
pub mod result;
pub mod run;
