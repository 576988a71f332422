//! [`SocketFile`]: the file of a socket that listens at a path.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

/// The file of a listening socket. Its drop removes it, unless another has its path by now.
pub(super) struct SocketFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl SocketFile {
    /// A socket that is bound to a path, with those permissions, and its file.
    ///
    /// A socket that is there already makes way if nobody listens to it: a server that was killed has left it.
    pub(super) fn bind(path: &Path, permissions: u32) -> io::Result<(OwnedFd, Self)> {
        let address = SocketAddrUnix::new(path)?;
        let socket = socket()?;
        // The file has these permissions from the start, less the umask: nobody connects before the last call.
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
        // The umask may have taken more away than was asked for.
        fs::set_permissions(path, Permissions::from_mode(permissions))?;
        Ok((socket, file))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let is_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|file| (file.dev(), file.ino()) == (self.device, self.inode));
        if is_ours {
            // A file that stays is replaced by the next server.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?)
}

/// Whether there is a socket at a path to which nobody listens.
fn is_stale(path: &Path, address: &SocketAddrUnix) -> io::Result<bool> {
    let is_socket = fs::symlink_metadata(path)?.file_type().is_socket();
    Ok(is_socket && rustix::net::connect(&socket()?, address) == Err(Errno::CONNREFUSED))
}
