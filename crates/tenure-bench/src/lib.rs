//! Benchmarks of Tenure: scenarios, the measuring method, and the report.

pub mod result;
