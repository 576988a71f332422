//! Sockets, used without waiting.

use std::fs::{self, Permissions};
use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::sockopt;
use rustix::net::{
    AddressFamily, RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown, SocketAddrAny,
    SocketAddrUnix, SocketFlags, SocketType,
};

use super::{Address, Settings};

/// The system may allow fewer.
const BACKLOG: i32 = 4096;

pub(super) struct Listeners {
    pub(super) sockets: Vec<OwnedFd>,
    pub(super) address: Address,
    /// Present where they listen at a path.
    pub(super) file: Option<SocketFile>,
}

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
            // Such sockets cannot share a path: all workers share one queue.
            let others = (1..settings.threads).map(|_| socket.try_clone());
            let mut sockets = others.collect::<io::Result<Vec<_>>>()?;
            sockets.push(socket);
            Ok(Listeners { sockets, address: settings.listen.clone(), file: Some(file) })
        }
    }
}

/// With port 0, all listen at the port that the first one gets.
fn listen_at_address(address: SocketAddr, count: usize) -> io::Result<Vec<OwnedFd>> {
    // Another server could bind beside sockets that share an address, and get half of the connections; not beside this
    // one.
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

fn socket(family: AddressFamily) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(rustix::net::socket_with(family, SocketType::STREAM, flags, None)?)
}

fn bound(address: SocketAddr, shared: bool) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket(family)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    sockopt::set_socket_reuseport(&socket, shared)?;
    // Connections inherit it: small answers go at once.
    sockopt::set_tcp_nodelay(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

fn address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    let address = rustix::net::getsockname(socket)?;
    SocketAddr::try_from(address)
        .map_err(|_| io::Error::other("the socket has no internet address"))
}

/// The file of a listening socket. Its drop removes it, unless another file has its path by now.
pub(super) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// Replaces a socket without a listener, which a killed server left.
    fn bind(path: &Path, permissions: u32) -> io::Result<(OwnedFd, Self)> {
        let address = SocketAddrUnix::new(path)?;
        let socket = socket(AddressFamily::UNIX)?;
        // The file has these permissions, less the umask, before a client can connect.
        rustix::fs::fchmod(&socket, Mode::from_raw_mode(permissions))?;
        match rustix::net::bind(&socket, &address) {
            Err(Errno::ADDRINUSE) if is_stale(path, &address)? => {
                fs::remove_file(path)?;
                rustix::net::bind(&socket, &address)?;
            }
            bound => bound?,
        }
        let file = fs::symlink_metadata(path)?;
        let file = Self { path: path.to_owned(), device: file.dev(), inode: file.ino() };
        // The umask may have taken some away.
        fs::set_permissions(path, Permissions::from_mode(permissions))?;
        Ok((socket, file))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|file| (file.dev(), file.ino()) == (self.device, self.inode));
        if is_ours {
            // If this fails, the next server replaces the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Whether the path has a socket without a listener.
fn is_stale(path: &Path, address: &SocketAddrUnix) -> io::Result<bool> {
    let is_socket = fs::symlink_metadata(path)?.file_type().is_socket();
    Ok(is_socket
        && rustix::net::connect(&socket(AddressFamily::UNIX)?, address) == Err(Errno::CONNREFUSED))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotAccepted {
    NoneWaits,
    /// Another client may wait.
    Gone,
    /// There are no more files, or no memory.
    Exhausted,
}

pub(super) fn accept(listener: &OwnedFd) -> Result<(OwnedFd, IpAddr), NotAccepted> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    match rustix::net::acceptfrom_with(listener, flags) {
        Ok((socket, from)) => Ok((socket, ip(from))),
        Err(Errno::AGAIN) => Err(NotAccepted::NoneWaits),
        Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
            Err(NotAccepted::Exhausted)
        }
        Err(_) => Err(NotAccepted::Gone),
    }
}

/// Unspecified if the client has none, as at a path.
fn ip(from: Option<SocketAddrAny>) -> IpAddr {
    let address = from.and_then(|from| SocketAddr::try_from(from).ok());
    address.map_or(Ipv4Addr::UNSPECIFIED.into(), |address| address.ip().to_canonical())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moved {
    /// A read of 0 is the client's end.
    Bytes(usize),
    /// Nothing to read, or no room.
    Blocked,
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

pub(super) fn read(socket: BorrowedFd<'_>, into: &mut [u8]) -> Moved {
    Moved::from(rustix::net::recv(socket, into, RecvFlags::empty()).map(|(_, count)| count))
}

/// What is written `last` waits for the connection's end, which has to follow: a short answer and the end make one
/// packet.
pub(super) fn write(socket: BorrowedFd<'_>, slices: &[IoSlice<'_>], last: bool) -> Moved {
    // No signal if the client has gone.
    let mut flags = SendFlags::NOSIGNAL;
    flags.set(SendFlags::MORE, last);
    Moved::from(match slices {
        [slice] => rustix::net::send(socket, slice, flags),
        slices => rustix::net::sendmsg(socket, slices, &mut SendAncillaryBuffer::default(), flags),
    })
}

/// Ends the output: the client reads an end of file. Fails only if the client has gone.
pub(super) fn end_output(socket: BorrowedFd<'_>) {
    let _ = rustix::net::shutdown(socket, Shutdown::Write);
}
