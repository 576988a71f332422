//! The event loop: one thread for each core, each with its own epoll and its own listening socket.
//!
//! ```text
//!            ┌─ Worker 0: epoll ─┬─ listening socket (SO_REUSEPORT)
//!  Server ───┤                   ├─ inbox: connections that another worker hands over
//!            │                   └─ connections ── Handler
//!            └─ Worker 1: ...
//! ```
//!
//! # The life of a connection
//!
//! | state | waits for | leaves it when |
//! |---|---|---|
//! | reading | bytes of the client | they came: the handler answers all it can, and all answers go out in one `sendmsg` |
//! | writing | room in the socket | all is sent. **Nothing is read meanwhile**: a client that does not read its answers cannot ask for more |
//! | lingering | the client's end | it came, or two seconds later |
//!
//! A connection that moves no byte for [`Settings::idle`] is closed, in any state. A whole request may take longer: a
//! client that sends a byte within each such time keeps its connection.
//!
//! # Buffers
//!
//! A worker has one receive and one send buffer, which serve its connections in turn. A connection keeps them only
//! while many bytes wait in them, and the worker takes new ones from the pool. A short part of a request is copied to
//! memory of its own length. With a handler that [keeps buffers](crate::handler::Handler::KEEPS_BUFFERS) a connection
//! has its own pair during a request. Either way ten thousand idle connections need no buffers, and the pool gives a
//! burst's memory back.
//!
//! # System calls
//!
//! A request on an open connection costs `recv`, `sendmsg` and a share of an `epoll_wait`; a read that does not fill
//! the buffer is the last. A short connection costs `accept4`, `recv`, `sendmsg` and `close`: a new socket is read at
//! once, and added to epoll only if nothing was there.

mod connection;
mod counters;
mod poll;
mod server;
mod settings;
mod shared;
mod socket;
mod worker;

pub use counters::Statistics;
pub use server::Server;
pub use settings::{Address, Settings};
pub use shared::Shared;
