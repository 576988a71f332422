//! Threads that read the environment: its lock lies in std, and no generic code takes it.

fn main() {
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..300_000 {
                    std::hint::black_box(std::env::var_os("PATH"));
                }
            });
        }
    });
}
