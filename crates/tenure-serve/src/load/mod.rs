//! Load generators: how a server is measured where memtier_benchmark and wrk are not at hand.
//!
//! ```text
//!  Plan ──▶ threads, each with clients ──▶ server
//!   │        engine/: one epoll each, closed or open loop
//!   │                      │
//!   │                      ▼
//!   └─ --with ─▶ tool/ ──▶ Outcome ──▶ table, JSON
//!      memtier, wrk
//! ```
//!
//! | module | what it is for |
//! |---|---|
//! | [`settings`] | from where, to where, how much and for how long |
//! | [`memcached`], [`http`] | plans: what to ask, and how to read the answers |
//! | `engine` | connections, requests under way, the schedule of an open loop |
//! | `tool` | other generators, and what they print |
//! | [`outcome`] | what a run found: `docs/load.schema.json` |
//! | [`table`] | the same for a terminal |
//!
//! # Closed and open loops
//!
//! In a *closed loop* each client sends a request when one is answered. It finds out what a server can do; its
//! latencies are those of a server that is as busy as it gets, and a server that stops for a second delays one
//! request of each client. In an *open loop* requests are due at fixed times, and each one's latency
//! counts from then, sent or not: the latency of users that do not wait for each other.
//!
//! # Cost
//!
//! Generator and server share a machine, so the generator's CPU time is part of every result
//! ([`Outcome::client_cpu`]). An unpipelined request costs it one `send` and one `recv`, and a share of an
//! `epoll_wait`. Linux only.

mod cpu;
mod engine;
mod error;
pub mod http;
pub mod memcached;
pub mod outcome;
mod run;
pub mod settings;
pub mod table;
mod tool;
mod workload;

pub use error::Error;
pub use outcome::Outcome;
pub use run::{Plan, run};
pub use tenure_report::Progress;
