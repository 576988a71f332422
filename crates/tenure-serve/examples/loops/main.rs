//! The same cache behind three event loops: this crate's, mio and tokio.
//!
//! ```text
//! cargo run --release -p tenure-serve --example loops -- epoll|mio|tokio [ADDRESS [THREADS]]
//! tenure load memcached ADDRESS --pid PID
//! ```
//!
//! All call the same [`Handler`](tenure_serve::handler::Handler) with the same buffers, read once for each event unless
//! more is there than fits, and send all answers by one system call. The loops of mio and tokio have no limits,
//! timeouts or shutdown, which is to their advantage.

#[cfg(target_os = "linux")]
mod connection;
#[cfg(target_os = "linux")]
mod with_mio;
#[cfg(target_os = "linux")]
mod with_tokio;

#[cfg(target_os = "linux")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    use std::net::{SocketAddr, TcpListener};

    use tenure_serve::buffers::{Buffers, DEFAULT_BYTES, PoolKind};
    use tenure_serve::memcached::{Config, start};
    use tenure_serve::net::Settings;

    let mut words = std::env::args().skip(1);
    let kind = words.next().unwrap_or_default();
    let address = words.next().unwrap_or_else(|| "127.0.0.1:11311".to_owned());
    let address: SocketAddr = address.parse()?;
    let mut settings = Settings::at(address);
    if let Some(threads) = words.next() {
        settings.threads = threads.parse()?;
    }
    let bind = || TcpListener::bind(address);
    let buffers = Buffers::new(PoolKind::Magazines, DEFAULT_BYTES)?;
    println!("{kind}: process {}, at {address}", std::process::id());
    match &*kind {
        "epoll" => {
            let _running = start(&Config::default(), settings)?;
            loop {
                std::thread::park();
            }
        }
        "mio" => with_mio::serve(&bind()?, &buffers, settings.threads)?,
        "tokio" => with_tokio::serve(&bind()?, &buffers, settings.threads)?,
        _ => Err("usage: loops epoll|mio|tokio [ADDRESS [THREADS]]")?,
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn main() {}
