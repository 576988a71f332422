//! The lines of answers that several commands have.

use super::item::Chunk;
use crate::handler::Output;

/// What is to be sent to a client.
pub(super) type Answer<C> = Output<Chunk<C>>;

/// The memcached whose answers these are, and this server. Clients read the numbers in front, and one of them refuses a 0.
pub(super) const VERSION: &str = concat!("1.6.45-tenure-", env!("CARGO_PKG_VERSION"));

pub(super) const BAD_LINE: &[u8] = b"CLIENT_ERROR bad command line format\r\n";
pub(super) const TOO_LARGE: &[u8] = b"SERVER_ERROR object too large for cache\r\n";
pub(super) const NO_MEMORY: &[u8] = b"SERVER_ERROR out of memory storing object\r\n";
pub(super) const ERROR: &[u8] = b"ERROR\r\n";
pub(super) const NON_NUMERIC: &[u8] =
    b"CLIENT_ERROR cannot increment or decrement non-numeric value\r\n";
