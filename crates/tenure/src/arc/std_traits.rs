//! The traits of std: files, descriptors, handles.

use super::Arc;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, SeekFrom, Write};
use std::string::String;
use std::vec::Vec;

/// Reads through `&File`: the position is shared by all who hold the file.
impl Read for Arc<File> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        (&**self).read(buf)
    }
    fn read_vectored(&mut self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&**self).read_vectored(bufs)
    }
    fn read_to_end(&mut self, buf: &mut Vec<u8>) -> io::Result<usize> {
        (&**self).read_to_end(buf)
    }
    fn read_to_string(&mut self, buf: &mut String) -> io::Result<usize> {
        (&**self).read_to_string(buf)
    }
}

/// Writes through `&File`: the position is shared by all who hold the file.
impl Write for Arc<File> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        (&**self).write(buf)
    }
    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        (&**self).write_vectored(bufs)
    }
    fn flush(&mut self) -> io::Result<()> {
        (&**self).flush()
    }
}

/// Moves the position that is shared by all who hold the file.
impl Seek for Arc<File> {
    fn seek(&mut self, pos: SeekFrom) -> io::Result<u64> {
        (&**self).seek(pos)
    }
    fn stream_position(&mut self) -> io::Result<u64> {
        (&**self).stream_position()
    }
}

#[cfg(any(unix, target_os = "wasi"))]
mod fd {
    use super::Arc;
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

    impl<T: ?Sized + AsFd> AsFd for Arc<T> {
        fn as_fd(&self) -> BorrowedFd<'_> {
            (**self).as_fd()
        }
    }

    impl<T: AsRawFd> AsRawFd for Arc<T> {
        fn as_raw_fd(&self) -> RawFd {
            (**self).as_raw_fd()
        }
    }
}

#[cfg(windows)]
mod windows {
    use super::Arc;
    use std::os::windows::io::{AsHandle, AsSocket, BorrowedHandle, BorrowedSocket};

    impl<T: ?Sized + AsHandle> AsHandle for Arc<T> {
        fn as_handle(&self) -> BorrowedHandle<'_> {
            (**self).as_handle()
        }
    }

    impl<T: AsSocket> AsSocket for Arc<T> {
        fn as_socket(&self) -> BorrowedSocket<'_> {
            (**self).as_socket()
        }
    }
}
