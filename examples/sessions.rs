//! One session per user, shared by all of that user's connections, gone with the last of them.
//!
//! `cargo run -p tenure-examples --example sessions`

use std::sync::Mutex;
use std::thread;

use tenure::registry::{Registered, Registry};

struct Session {
    cart: Mutex<Vec<u32>>,
}

/// A connection of a user.
struct Connection {
    session: Registered<String, Session>,
}

impl Connection {
    fn open(sessions: &Registry<String, Session>, user: &str) -> Self {
        // Finds the session without a lock, or creates it: once, however many connections come at a time.
        let create = || Session { cart: Mutex::new(Vec::new()) };
        Self { session: sessions.acquire(user, create) }
    }

    fn put_into_cart(&self, article: u32) {
        self.session.cart.lock().unwrap().push(article);
    }
}

#[cfg_attr(test, test)]
fn main() {
    let sessions = Registry::new();
    let first = Connection::open(&sessions, "ann");
    thread::scope(|scope| {
        for article in 0..8 {
            let sessions = &sessions;
            scope.spawn(move || Connection::open(sessions, "ann").put_into_cart(article));
        }
    });
    assert_eq!(first.session.cart.lock().unwrap().len(), 8, "all were the same session");
    assert_eq!(sessions.len(), 1);
    println!("{} has 8 articles in one cart", Registered::key(&first.session));

    drop(first);
    assert!(sessions.get("ann").is_none(), "the last connection took the session along");
}
