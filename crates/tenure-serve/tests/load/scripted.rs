//! Servers that answer as a test wants them to.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tenure_serve::load::settings::{Length, Settings};
use tenure_serve::load::{Outcome, Plan, run};

/// Calls `serve` with each connection and its number from 0 on, on threads that end with the test's process.
pub(crate) fn server(serve: impl Fn(usize, TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for (index, stream) in listener.incoming().enumerate() {
            let serve = Arc::clone(&serve);
            let stream = stream.unwrap();
            stream.set_nodelay(true).unwrap();
            thread::spawn(move || serve(index, stream));
        }
    });
    address
}

#[track_caller]
pub(crate) fn made(plan: impl Into<Plan>) -> Outcome {
    run(&plan.into(), &()).unwrap()
}

#[derive(Debug, Default)]
pub(crate) struct Counter(Mutex<u64>);

impl Counter {
    /// Returns how many there were before.
    pub(crate) fn add(&self) -> u64 {
        let mut count = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *count += 1;
        *count - 1
    }

    pub(crate) fn get(&self) -> u64 {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Request {
    Get(String),
    Set(String, Vec<u8>),
}

/// `None` at the end of the connection.
pub(crate) fn request(stream: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    if stream.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let words: Vec<&str> = line.strip_suffix("\r\n").unwrap().split(' ').collect();
    match words[..] {
        ["get", key] => Some(Request::Get(key.to_owned())),
        ["set", key, "0", "0", length] => {
            let mut value = vec![0; length.parse::<usize>().unwrap() + 2];
            stream.read_exact(&mut value).ok()?;
            assert!(value.ends_with(b"\r\n"));
            value.truncate(value.len() - 2);
            Some(Request::Set(key.to_owned(), value))
        }
        _ => panic!("no request: {line}"),
    }
}

#[derive(Debug, Default)]
pub(crate) struct Store(Mutex<HashMap<String, Vec<u8>>>);

impl Store {
    pub(crate) fn answer(&self, request: Request) -> Vec<u8> {
        let mut store = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match request {
            Request::Set(key, value) => {
                store.insert(key, value);
                b"STORED\r\n".to_vec()
            }
            Request::Get(key) => match store.get(&key) {
                None => b"END\r\n".to_vec(),
                Some(value) => {
                    let header = format!("VALUE {key} 0 {}\r\n", value.len()).into_bytes();
                    [&header, &value[..], b"\r\nEND\r\n"].concat()
                }
            },
        }
    }
}

/// Answers go through `send`, with the request's number from 0 on. A connection ends where that returns `false`.
pub(crate) fn memcached(
    send: impl Fn(u64, &Request, Vec<u8>, &mut TcpStream) -> bool + Send + Sync + 'static,
) -> SocketAddr {
    let (store, count) = (Store::default(), Counter::default());
    server(move |_, stream| {
        let mut output = stream.try_clone().unwrap();
        let mut input = BufReader::new(stream);
        while let Some(request) = request(&mut input) {
            let answer = store.answer(request.clone());
            if !send(count.add(), &request, answer, &mut output) {
                return;
            }
        }
    })
}

pub(crate) fn send(bytes: &[u8], stream: &mut TcpStream) -> bool {
    stream.write_all(bytes).is_ok()
}

/// `None` at the end of the connection.
pub(crate) fn head(stream: &mut BufReader<TcpStream>) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    Some(head)
}

/// One thread, without a warm-up.
pub(crate) fn settings(target: SocketAddr, clients: usize, length: Length) -> Settings {
    Settings { threads: 1, clients, length, warmup: Duration::ZERO, ..Settings::new(target) }
}
