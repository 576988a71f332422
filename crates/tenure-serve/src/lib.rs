//! The end-to-end proof of [`tenure`]: servers in which the shared object is really shared, and the load
//! generators that measure them.
//!
//! | room | what it is for |
//! |---|---|
//! | [`handler`] | what a protocol is to the event loop: bytes in, bytes and counted chunks out |
//! | [`buffers`] | the buffers of connections, from a pool whose free list is chosen at run time |
//! | [`load`] | load generators for both protocols, and what they find |

pub mod buffers;
pub mod handler;
pub mod load;
