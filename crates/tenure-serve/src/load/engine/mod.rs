//! The engine: threads with connections, each of which has requests under way.
//!
//! ```text
//!  Protocol::ask ──▶ one write ──▶ server ──▶ one read ──▶ Protocol::scan ──▶ Tally
//!       ▲                                                        │
//!       └──── closed loop: as many as were answered ◀────────────┘
//!       └──── open loop: as many as are due (Schedule)
//! ```
//!
//! A thread has one epoll instance, one buffer to read into and one to write from; a request allocates
//! nothing. It reads the clock once for each read from a socket, so that of requests that are answered in one
//! piece all have the same latency.

mod after;
mod client;
mod clock;
pub(super) mod job;
pub(super) mod lines;
pub(super) mod protocol;
pub(super) mod schedule;
mod socket;
pub(super) mod tally;
pub(super) mod worker;
