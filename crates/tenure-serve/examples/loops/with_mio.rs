//! The loop with mio: an edge-triggered `Poll` for each thread.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Instant;

use mio::{Events, Interest, Poll, Registry, Token, Waker};
use slab::Slab;
use tenure_serve::buffers::Buffers;
use tenure_serve::handler::Handler;

use crate::connection::{Connection, Protocol, cache};

const WAKER: Token = Token(usize::MAX);

pub(crate) fn serve(listener: &TcpListener, buffers: &Buffers, threads: usize) -> io::Result<()> {
    let cache = cache();
    let mut workers = Vec::new();
    for _ in 0..threads {
        let (sender, arrivals) = channel();
        let poll = Poll::new()?;
        let waker = Waker::new(poll.registry(), WAKER)?;
        let (cache, buffers) = (cache.clone(), buffers.clone());
        thread::spawn(move || {
            Worker { protocol: cache.handler(), buffers, arrivals, connections: Slab::new() }
                .run(poll)
                .expect("epoll works");
        });
        workers.push((sender, waker));
    }
    for (sender, waker) in workers.iter().cycle() {
        let (socket, from) = listener.accept()?;
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        sender.send((socket, from)).map_err(io::Error::other)?;
        waker.wake()?;
    }
    Ok(())
}

struct Worker {
    protocol: Protocol,
    buffers: Buffers,
    arrivals: Receiver<(TcpStream, SocketAddr)>,
    connections: Slab<(mio::net::TcpStream, Connection)>,
}

impl Worker {
    fn run(&mut self, mut poll: Poll) -> io::Result<()> {
        let mut events = Events::with_capacity(1024);
        loop {
            match poll.poll(&mut events, None) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                polled => polled?,
            }
            self.protocol.tick(Instant::now());
            for event in &events {
                match event.token() {
                    WAKER => self.adopt(poll.registry())?,
                    Token(key) => self.turn(key),
                }
            }
        }
    }

    fn adopt(&mut self, registry: &Registry) -> io::Result<()> {
        while let Ok((socket, from)) = self.arrivals.try_recv() {
            let connection = Connection::open(&mut self.protocol, from.ip(), &self.buffers)?;
            let mut socket = mio::net::TcpStream::from_std(socket);
            let entry = self.connections.vacant_entry();
            let interest = Interest::READABLE | Interest::WRITABLE;
            registry.register(&mut socket, Token(entry.key()), interest)?;
            entry.insert((socket, connection));
        }
        Ok(())
    }

    fn turn(&mut self, key: usize) {
        let Some((socket, connection)) = self.connections.get_mut(key) else { return };
        match drive(socket, connection, &mut self.protocol) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => {
                let (_, mut connection) = self.connections.remove(key);
                connection.close(&mut self.protocol);
            }
            _ => {}
        }
    }
}

fn drive(
    socket: &mut mio::net::TcpStream,
    connection: &mut Connection,
    protocol: &mut Protocol,
) -> io::Result<()> {
    // Edge-triggered: reads until a read does not fill the buffer.
    let mut drained = false;
    loop {
        connection.answer(protocol, |slices: &[IoSlice<'_>]| socket.write_vectored(slices))?;
        if drained {
            return Ok(());
        }
        let room = connection.room();
        let len = room.len();
        let count = socket.read(room)?;
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        connection.input.commit(count);
        drained = count < len;
    }
}
