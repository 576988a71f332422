//! Traffic in both protocols, for tests of hostile clients.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::server::{Protocol, Server};

/// More bytes than the buffers of two sockets hold.
pub(crate) const LARGE: usize = 900_000;

pub(crate) fn start(protocol: Protocol, more: &[&str]) -> Server {
    let server = Server::start(protocol, more);
    let large: Vec<u8> = (0..LARGE).map(byte).collect();
    match protocol {
        Protocol::Http => {
            server.file("small", "hello");
            server.file("large", &large);
        }
        Protocol::Memcached => {
            let mut request = b"set small 0 0 5\r\nhello\r\n".to_vec();
            request.extend(format!("set large 0 0 {LARGE}\r\n").into_bytes());
            request.extend(large);
            request.extend(b"\r\nquit\r\n");
            assert_eq!(server.talk(&request), b"STORED\r\nSTORED\r\n");
        }
    }
    server
}

fn byte(at: usize) -> u8 {
    (at % 251) as u8
}

/// Removes what [`start`] put there, and stops the server: nothing is left.
#[track_caller]
pub(crate) fn stop(server: Server) {
    if server.protocol == Protocol::Memcached {
        let answer = server.talk(b"delete small\r\ndelete large\r\nquit\r\n");
        assert_eq!(answer, b"DELETED\r\nDELETED\r\n");
        let left = server.figures();
        assert_eq!((left["curr_items"], left["bytes"]), (0, 0), "{left:?}");
    }
    let left = server.stop();
    for (name, figure) in left {
        assert!(
            !name.starts_with("curr_") || name == "curr_files" || figure == 0,
            "{name}: {figure}"
        );
    }
}

pub(crate) fn small(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Http => b"GET /small HTTP/1.1\r\nHost: x\r\n\r\n",
        Protocol::Memcached => b"get small\r\n",
    }
}

pub(crate) fn large(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Http => b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n",
        Protocol::Memcached => b"get large\r\n",
    }
}

pub(crate) fn write(protocol: Protocol) -> &'static [u8] {
    match protocol {
        Protocol::Http => b"POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nworld",
        Protocol::Memcached => b"set other 0 0 5\r\nworld\r\n",
    }
}

#[track_caller]
pub(crate) fn expect_small(server: &Server, client: &mut TcpStream) {
    let body = expect(server, client, 5);
    assert_eq!(body, b"hello");
}

#[track_caller]
pub(crate) fn expect_large(server: &Server, client: &mut TcpStream) {
    let body = expect(server, client, LARGE);
    assert!(body.iter().enumerate().all(|(at, &value)| value == byte(at)));
}

#[track_caller]
fn expect(server: &Server, client: &mut TcpStream, len: usize) -> Vec<u8> {
    let (begins, head_ends, tail) = match server.protocol {
        Protocol::Http => ("HTTP/1.1 200 OK\r\n", &b"\r\n\r\n"[..], &b""[..]),
        Protocol::Memcached => ("VALUE ", &b"\r\n"[..], &b"\r\nEND\r\n"[..]),
    };
    let mut head = Vec::new();
    while !head.ends_with(head_ends) {
        let mut byte = [0];
        client.read_exact(&mut byte).unwrap();
        head.extend(byte);
    }
    assert!(head.starts_with(begins.as_bytes()), "{}", String::from_utf8_lossy(&head));
    let mut body = vec![0; len + tail.len()];
    client.read_exact(&mut body).unwrap();
    assert!(body.ends_with(tail));
    body.truncate(len);
    body
}

#[track_caller]
pub(crate) fn is_served(server: &Server) {
    let mut client = server.connect();
    client.write_all(small(server.protocol)).unwrap();
    expect_small(server, &mut client);
}

/// Until the server ends the connection, in whatever way.
pub(crate) fn drain(client: &mut TcpStream) -> Vec<u8> {
    let mut all = Vec::new();
    let end = client.read_to_end(&mut all);
    if let Err(error) = end {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    }
    all
}
