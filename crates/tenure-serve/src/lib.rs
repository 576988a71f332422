//! The end-to-end proof of [`tenure`]: servers in which every request uses an object that all threads
//! share, and the load generators that measure them.
//!
//! | module | what it is for |
//! |---|---|
//! | [`memcached`] | a cache that speaks memcached's text protocol |
//! | [`http`] | HTTP/1.1: static files, and an answer of a fixed size |
//! | [`handler`] | what a protocol is to the event loop: bytes in, bytes and counted chunks out |
//! | [`net`] | the event loop: a thread for each core, connections, timeouts, limits, shutdown |
//! | [`buffers`] | the buffers of connections, from a pool whose free list is chosen at run time |
//! | [`open_files`] | the limit of open files, which connections count as |
//! | [`running`] | a server of either protocol, from start to stop |
//! | [`summary`] | what happened on a server, by eye and for machines |
//! | [`load`] | load generators for both protocols, and what they find |
//! | [`e2e`] | whole servers beside those of others, measured in turns |
//!
//! For Linux, whose epoll and sockets it uses: elsewhere this crate is empty.

#![cfg(target_os = "linux")]

mod allocator;
pub mod buffers;
pub mod e2e;
pub mod handler;
pub mod http;
pub mod load;
pub mod memcached;
pub mod net;
pub mod open_files;
pub mod running;
pub mod summary;
