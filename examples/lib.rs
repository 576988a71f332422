//! Small programs that use Tenure, one per file. `cargo run -p tenure-examples --example tokio_server`
//!
//! | example | what it shows |
//! |---|---|
//! | `contended` | a server whose workers contend for a few lines, for `tenure run` to find; and the same fixed |
//! | `tokio_server` | state that all tasks of a server share: `Arc`, and a limit that is replaced while it runs |
//! | `buffers` | requests of many clients that wait for one of 4 buffers: `BufferPool` under tokio |
//! | `app_state` | the state of a web program, on axum and tokio: `Owner`, `Shared` and `Counter` |
//! | `state_cost` | what such a state costs each request, as an `Arc` and as a `Shared` |
//! | `connection_pool` | connections that are made once and used again: `SlotPool` |
//! | `config` | a configuration that all threads read and one replaces: `RcuCell` |
//! | `sessions` | one session per user, shared by all of that user's connections: `Registry` |
//! | `tenants` | tenants that tasks load and share, and that linger; a configuration across awaits: `Registry`, `RcuCell`, `Owner` |
//! | `line_layout` | a struct whose hot counter stays off the lines of its read-mostly fields: `LineLayout` |
//! | `simulated` | your own lock-free code, timed on 1 to 64 simulated CPUs: `tenure-sim` |
