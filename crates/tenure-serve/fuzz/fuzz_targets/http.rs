//! Any bytes as requests: at once, and in pieces, of which the first byte tells the size. The answers are the same, and
//! nothing that is not below the root is among them.
//!
//! `cargo +nightly fuzz run http corpus/http seeds/http`, in this crate's folder.
#![no_main]

use std::cell::RefCell;
use std::fs;
use std::process;

use libfuzzer_sys::fuzz_target;
use tenure::sync::Arc;
use tenure_serve::http::{Config, Fixed, Http, Limits, Site};
use tenure_serve_fuzz::converse;

const SECRET: &str = "what nobody may see";

thread_local! {
    static HTTP: RefCell<Http> = RefCell::new(http());
}

fn http() -> Http {
    let directory = std::env::temp_dir().join(format!("tenure-fuzz-{}", process::id()));
    let root = directory.join("root");
    fs::create_dir_all(root.join("sub")).expect("a directory for the files");
    for (name, contents) in
        [("index.html", "<p>hello</p>"), ("sub/a", "a file"), ("large", &"0123456789".repeat(1000))]
    {
        fs::write(root.join(name), contents).expect("a file");
    }
    fs::write(directory.join("secret"), SECRET).expect("a file");
    let config = Config {
        root: Some(root),
        fixed: Some(Fixed { path: "/fixed".into(), bytes: 100 }),
        stats: Some("/stats".into()),
        limits: Limits { held: 5000, ..Limits::default() },
    };
    let site = Site::new(&config).expect("a directory");
    Http::new(Arc::new(site), || "{}".to_owned())
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&size, bytes)) = bytes.split_first() else { return };
    HTTP.with_borrow_mut(|http| {
        let whole = converse(http, [bytes].into_iter());
        let pieces = converse(http, bytes.chunks(usize::from(size).max(1)));
        assert_eq!(whole, pieces);
        let answers = String::from_utf8_lossy(&whole.answers);
        assert!(answers.is_empty() || answers.starts_with("HTTP/1.1 "));
        assert!(!answers.contains(SECRET));
    });
});
