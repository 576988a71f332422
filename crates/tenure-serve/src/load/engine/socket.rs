//! Connections that do not wait.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_nodelay;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, ipproto, socket_with};

/// Starts a connection. Over loopback it is there by the time this returns, so that the caller may write at
/// once; elsewhere that write is told to come again.
///
/// # Errors
///
/// As `socket` and `connect`; that the connection is under way is none.
pub(crate) fn open(target: &SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if target.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(family, SocketType::STREAM, flags, Some(ipproto::TCP))?;
    set_tcp_nodelay(&socket, true)?;
    match connect(&socket, target) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket),
        Err(error) => Err(error),
    }
}
