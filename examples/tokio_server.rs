//! A server whose tasks share one object: each connection holds an `Arc` of it, and each request reads the current
//! limit.
//!
//! It echoes lines, cut to the limit. `cargo run -p tenure-examples --example tokio_server`

use std::io::Result;

use tenure::rcu::RcuCell;
use tenure::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

/// What all connections share.
struct Shared {
    greeting: &'static str,
    /// The longest line that is echoed. An administrator may replace it at any time.
    limit: RcuCell<usize>,
}

async fn serve(stream: TcpStream, shared: Arc<Shared>) -> Result<()> {
    let mut stream = BufReader::new(stream);
    stream.write_all(shared.greeting.as_bytes()).await?;
    let mut line = Vec::new();
    while stream.read_until(b'\n', &mut line).await? > 0 {
        // A few loads and stores, whatever the number of threads. The guard ends before the next `await`.
        let limit = *shared.limit.load();
        line.truncate(limit);
        stream.write_all(&line).await?;
        line.clear();
    }
    Ok(())
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) -> Result<()> {
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(serve(stream, Arc::clone(&shared)));
    }
}

async fn run() -> Result<()> {
    let shared = Arc::new(Shared { greeting: "hello\n", limit: RcuCell::new(64) });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let server = tokio::spawn(accept(listener, Arc::clone(&shared)));

    let mut client = TcpStream::connect(address).await?;
    client.write_all(b"a line\n").await?;
    let mut answer = [0; 13];
    client.read_exact(&mut answer).await?;
    assert_eq!(&answer, b"hello\na line\n");

    shared.limit.store(4);
    client.write_all(b"another line\n").await?;
    let mut answer = [0; 4];
    client.read_exact(&mut answer).await?;
    assert_eq!(&answer, b"anot");
    println!("{address} answered, before and after the limit was replaced");

    server.abort();
    Ok(())
}

#[cfg_attr(test, test)]
fn main() -> Result<()> {
    Builder::new_multi_thread().worker_threads(2).enable_io().build()?.block_on(run())
}
