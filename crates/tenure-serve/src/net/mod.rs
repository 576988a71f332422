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
//! | reading | bytes of the client | they came: the handler is called until it has no more to answer, and all answers go out in one `sendmsg` |
//! | writing | room in the socket | all is sent. **Nothing is read meanwhile**: a client that does not read its answers cannot ask for more |
//! | lingering | the client's end | it came, or two seconds later |
//!
//! A connection that neither sent nor took a byte for [`Settings::idle`] is closed, in whatever state, unless that is switched off. There is no limit
//! on the time of a whole request: a client that sends a byte within each such time keeps its connection.
//!
//! # Buffers
//!
//! A worker has one receive buffer and one send buffer, which serve all of its connections in turn. A connection gets
//! them only while bytes wait: a good part of a request, or an answer that the socket did not take. Then the worker takes
//! new ones from the pool. A short part of a request is copied to memory of its own length. With a handler that
//! [keeps buffers](crate::handler::Handler::KEEPS_BUFFERS) a connection has a pair instead, from the first byte of a request
//! to the last byte of its answer. Either way ten thousand idle connections need no buffers, and after a burst the pool
//! gives its memory back.
//!
//! # System calls
//!
//! A request on an open connection costs `recv` and `sendmsg`, and its share of an `epoll_wait`; there is no second
//! `recv` to find out that there is no more. A short connection costs `accept4`, `recv`, `sendmsg` and
//! `close`: a new socket is read at once, and epoll hears of it only if nothing was there.

mod address;
mod connection;
mod counters;
mod inbox;
mod poll;
mod server;
mod settings;
mod shared;
mod socket;
mod socket_file;
mod worker;

pub use address::Address;
pub(crate) use counters::Counter;
pub use counters::Statistics;
pub use server::Server;
pub use settings::Settings;
pub use shared::Shared;
