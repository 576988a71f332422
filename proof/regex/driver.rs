//! One regular expression that all threads search with: THREADS, BYTES of text for each search, and `owner` if the first of
//! them is to own the pool's first value; otherwise the main thread owns it, as in a server.

use regex_automata::meta::Regex;

mod timed;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize| words[at].parse::<usize>().expect("a number");
    let (threads, bytes) = (number(0), number(1));
    let regex = Regex::new(r"[0-9]{3}-[a-z]+@\w+").unwrap();
    let text = "ab ".repeat(bytes.div_ceil(3));
    let text = &text[..bytes];
    if words.get(2).is_none() {
        assert!(!regex.is_match(text));
    }
    timed::rate(threads, |_| || assert!(!regex.is_match(std::hint::black_box(text))));
}
