//! Sockets: listening ones, accepting, reading and writing without waiting.

use std::io::{self, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrAny, SocketFlags,
    SocketType,
};

use super::socket_file::SocketFile;
use super::{Address, Settings};

/// Connections that wait to be accepted; the system may allow fewer.
const BACKLOG: i32 = 4096;

/// Sockets that listen at the same address, one for each worker.
pub(super) struct Listeners {
    pub(super) sockets: Vec<OwnedFd>,
    pub(super) address: Address,
    /// Where they listen at a path.
    pub(super) file: Option<SocketFile>,
}

/// As many sockets that listen where the settings say.
pub(super) fn listen(settings: &Settings) -> io::Result<Listeners> {
    match &settings.listen {
        Address::Internet(address) => {
            let sockets = listen_at_address(*address, settings.threads)?;
            let address = self::address(&sockets[0])?.into();
            Ok(Listeners { sockets, address, file: None })
        }
        Address::Unix(path) => {
            let (socket, file) = SocketFile::bind(path, settings.socket_mode)?;
            rustix::net::listen(&socket, BACKLOG)?;
            // One queue of connections for all workers: such sockets cannot share a path.
            let others = (1..settings.threads).map(|_| socket.try_clone());
            let mut sockets = others.collect::<io::Result<Vec<_>>>()?;
            sockets.push(socket);
            Ok(Listeners { sockets, address: settings.listen.clone(), file: Some(file) })
        }
    }
}

/// As many sockets that listen at the same address; with port 0, at the one that the first is given. Connections
/// inherit that small answers go at once.
fn listen_at_address(address: SocketAddr, count: usize) -> io::Result<Vec<OwnedFd>> {
    // Beside sockets that share an address, another server could be started there, and would get half of the
    // connections. Alone it could not.
    drop(bound(address, false)?);
    let first = bound(address, true)?;
    let address = self::address(&first)?;
    let mut sockets = vec![first];
    for _ in 1..count {
        sockets.push(bound(address, true)?);
    }
    for socket in &sockets {
        rustix::net::listen(socket, BACKLOG)?;
    }
    Ok(sockets)
}

fn bound(address: SocketAddr, shared: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, shared)?;
    sockopt::set_tcp_nodelay(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

/// The address that a socket is bound to.
fn address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    let address = rustix::net::getsockname(socket)?;
    SocketAddr::try_from(address)
        .map_err(|_| io::Error::other("the socket has no internet address"))
}

/// Why nothing was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotAccepted {
    /// Nobody waits.
    Nobody,
    /// The client has gone already; another may wait.
    Gone,
    /// The process or the system has no more files or memory.
    Exhausted,
}

/// The next connection that waits, and where it comes from.
pub(super) fn accept(listener: &OwnedFd) -> Result<(OwnedFd, IpAddr), NotAccepted> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    match rustix::net::acceptfrom_with(listener, flags) {
        Ok((socket, from)) => Ok((socket, ip(from))),
        Err(Errno::AGAIN) => Err(NotAccepted::Nobody),
        Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
            Err(NotAccepted::Exhausted)
        }
        Err(_) => Err(NotAccepted::Gone),
    }
}

/// The address of a client; the unspecified one if it has none, as at a path.
fn ip(from: Option<SocketAddrAny>) -> IpAddr {
    let address = from.and_then(|from| SocketAddr::try_from(from).ok());
    address
        .map_or(IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED), |address| address.ip().to_canonical())
}

/// What came of a read or a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    /// So many bytes; 0 of a read is the client's end.
    Bytes(usize),
    /// None: the socket has nothing, or no room.
    Blocked,
    /// The connection is broken.
    Broken,
}

impl From<Result<usize, Errno>> for Moved {
    fn from(result: Result<usize, Errno>) -> Self {
        match result {
            Ok(count) => Self::Bytes(count),
            Err(Errno::AGAIN | Errno::INTR) => Self::Blocked,
            Err(_) => Self::Broken,
        }
    }
}

/// Reads what is there.
pub(super) fn read(socket: BorrowedFd<'_>, into: &mut [u8]) -> Moved {
    Moved::from(rustix::net::recv(socket, into, RecvFlags::empty()).map(|(_, count)| count))
}

/// Writes what there is room for. What is written `last` waits for the end of the connection, which has to follow, so that
/// a short answer and the end make one packet.
pub(super) fn write(socket: BorrowedFd<'_>, slices: &[IoSlice<'_>], last: bool) -> Moved {
    // No signal if the client has gone.
    let mut flags = SendFlags::NOSIGNAL;
    flags.set(SendFlags::MORE, last);
    Moved::from(match slices {
        [slice] => rustix::net::send(socket, slice, flags),
        slices => rustix::net::sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), flags),
    })
}

/// Tells the client that nothing more will come. A client that has gone does not mind.
pub(super) fn end_output(socket: BorrowedFd<'_>) {
    let _ = rustix::net::shutdown(socket, Shutdown::Write);
}
