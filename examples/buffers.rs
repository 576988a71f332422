//! A server whose requests share 4 buffers, however many clients it has: a connection waits for its turn.
//!
//! `cargo run -p tenure-examples --example buffers`

use std::error::Error;
use std::io;

use tenure::pool::{AcquireError, BufferPool};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

const BUFFERS: u64 = 4;
const SIZE: usize = 4096;
const CLIENTS: usize = 100;
const REQUESTS: usize = 20;

/// Sends back what comes in.
async fn serve(mut socket: TcpStream, pool: BufferPool) -> io::Result<()> {
    loop {
        // A connection that waits for its client has no buffer.
        socket.readable().await?;
        let mut request = pool.acquire_async(SIZE).await.map_err(io::Error::other)?;
        // Appends to the empty buffer.
        if socket.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
        // Other connections work meanwhile, as far as there are buffers.
        tokio::task::yield_now().await;
        socket.write_all(&request).await?;
    }
}

async fn ask(address: std::net::SocketAddr, client: usize) -> io::Result<()> {
    let mut socket = TcpStream::connect(address).await?;
    for request in 0..REQUESTS {
        let text = format!("request {request} of client {client}");
        socket.write_all(text.as_bytes()).await?;
        let mut answer = vec![0; text.len()];
        socket.read_exact(&mut answer).await?;
        assert_eq!(answer, text.as_bytes(), "another client's bytes, or zeros");
    }
    Ok(())
}

async fn run() -> Result<(), Box<dyn Error>> {
    let pool = BufferPool::builder().classes(SIZE, 1).limit(BUFFERS * SIZE as u64).build()?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let accept = {
        let pool = pool.clone();
        tokio::spawn(async move {
            let mut connections = Vec::new();
            for _ in 0..CLIENTS {
                let (socket, _) = listener.accept().await?;
                connections.push(tokio::spawn(serve(socket, pool.clone())));
            }
            io::Result::Ok(connections)
        })
    };
    let clients = Vec::from_iter((0..CLIENTS).map(|client| tokio::spawn(ask(address, client))));
    for client in clients {
        client.await??;
    }
    for connection in accept.await?? {
        connection.await??;
    }

    let used = pool.stats();
    println!("{} requests in {} buffers", CLIENTS * REQUESTS, used.made);
    assert!(used.acquired() >= (CLIENTS * REQUESTS) as u64);
    assert!(used.made <= BUFFERS && used.in_use == 0);

    // Tasks that are cancelled while they wait, or just when it is their turn, keep nothing.
    let all = Vec::from_iter((0..BUFFERS).map(|_| pool.acquire(SIZE)));
    assert!(all.iter().all(Result::is_ok) && pool.acquire(SIZE).is_err());
    let wait = || {
        let pool = pool.clone();
        tokio::spawn(async move { pool.acquire_async(SIZE).await.map(drop) })
    };
    let waiting = Vec::from_iter((0..50).map(|_| wait()));
    let last = wait();
    tokio::task::yield_now().await;
    drop(all);
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    last.await??;
    for task in waiting {
        match task.await {
            Ok(had_its_turn) => had_its_turn?,
            Err(error) => assert!(error.is_cancelled()),
        }
    }
    assert_eq!(pool.stats().in_use, 0);

    // The end of the pool is the end of the wait.
    let all = Vec::from_iter((0..BUFFERS).map(|_| pool.acquire(SIZE)));
    let late = wait();
    pool.close();
    assert_eq!(late.await?, Err(AcquireError::Closed));
    drop(all);
    assert_eq!(pool.stats().bytes, 0);
    Ok(())
}

#[cfg_attr(test, test)]
fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(4)
        .enable_io()
        .build()?
        .block_on(run())
}
