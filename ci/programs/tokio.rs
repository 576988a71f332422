//! Threads that send through one channel of tokio's, and one that receives. Prints messages per second. An argument
//! says how many each sends.

use std::env;
use std::thread;
use std::time::Instant;

use tokio::sync::mpsc;

const SENDERS: u64 = 3;
const MESSAGES: u64 = 300_000;

fn main() {
    let messages = env::args().nth(1).map_or(MESSAGES, |number| number.parse().expect("a number"));
    let start = Instant::now();
    let (sender, mut receiver) = mpsc::channel(1024);
    for _ in 0..SENDERS {
        let sender = sender.clone();
        thread::spawn(move || {
            (0..messages).for_each(|message| sender.blocking_send(message).unwrap())
        });
    }
    drop(sender);
    let receive = move || std::iter::from_fn(|| receiver.blocking_recv()).count();
    let received = thread::spawn(receive).join().unwrap();
    assert_eq!(received as u64, SENDERS * messages);
    println!("{:.0}", received as f64 / start.elapsed().as_secs_f64());
}
