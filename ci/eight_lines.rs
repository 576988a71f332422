//! A small program, for ci/answer.py: it ends at once, and so should its report.
use std::sync::{Arc, atomic::{AtomicU64, Ordering}};
struct App { hits: AtomicU64 }
fn main() {
    let app = Arc::new(App { hits: AtomicU64::new(0) });
    let add = |app: Arc<App>| move || for _ in 0..400_000 { app.hits.fetch_add(1, Ordering::Relaxed); };
    let all = [(); 2].map(|()| std::thread::spawn(add(app.clone())));
    for thread in all { thread.join().unwrap(); }
    println!("hits: {}", app.hits.load(Ordering::Relaxed));
}
