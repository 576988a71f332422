//! The loop with tokio: a runtime of one thread for each thread, a task for each connection.

use std::cell::RefCell;
use std::io::{self, ErrorKind, IoSlice};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::thread;
use std::time::{Duration, Instant};

use tenure_serve::buffers::Buffers;
use tenure_serve::handler::Handler;
use tokio::runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::{LocalSet, spawn_local};

use crate::connection::{Connection, Protocol, cache};

pub(crate) fn serve(listener: &TcpListener, buffers: &Buffers, threads: usize) -> io::Result<()> {
    let cache = cache();
    let mut workers = Vec::new();
    for _ in 0..threads {
        let (sender, arrivals) = unbounded_channel();
        let (cache, buffers) = (cache.clone(), buffers.clone());
        thread::spawn(move || {
            let runtime = runtime::Builder::new_current_thread().enable_all().build();
            let protocol = Rc::new(RefCell::new(cache.handler()));
            let tasks = LocalSet::new();
            tasks.block_on(&runtime.expect("epoll works"), accept(arrivals, protocol, buffers));
        });
        workers.push(sender);
    }
    for sender in workers.iter().cycle() {
        let (socket, from) = listener.accept()?;
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        sender.send((socket, from)).map_err(io::Error::other)?;
    }
    Ok(())
}

async fn accept(
    mut arrivals: UnboundedReceiver<(TcpStream, SocketAddr)>,
    protocol: Rc<RefCell<Protocol>>,
    buffers: Buffers,
) {
    let clock = Rc::clone(&protocol);
    spawn_local(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            clock.borrow_mut().tick(Instant::now());
        }
    });
    while let Some((socket, from)) = arrivals.recv().await {
        let (protocol, buffers) = (Rc::clone(&protocol), buffers.clone());
        spawn_local(async move {
            let opened = Connection::open(&mut protocol.borrow_mut(), from.ip(), &buffers);
            let Ok(mut connection) = opened else { return };
            if let Ok(socket) = tokio::net::TcpStream::from_std(socket) {
                let _ = drive(&socket, &mut connection, &protocol).await; // The client has gone.
            }
            connection.close(&mut protocol.borrow_mut());
        });
    }
}

async fn drive(
    socket: &tokio::net::TcpStream,
    connection: &mut Connection,
    protocol: &RefCell<Protocol>,
) -> io::Result<()> {
    loop {
        let send = |slices: &[IoSlice<'_>]| socket.try_write_vectored(slices);
        let answered = connection.answer(&mut protocol.borrow_mut(), send);
        match answered {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                socket.writable().await?;
                continue;
            }
            Err(error) => return Err(error),
        }
        socket.readable().await?;
        match socket.try_read(connection.room()) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => connection.input.commit(count),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}
