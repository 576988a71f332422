use tenure::cache_line::{CachePadded, LineLayout};

struct Inner {
    refs: u64,
}

#[derive(LineLayout)]
struct Outer {
    #[line(embed)]
    inner: Inner,
    #[line(embed)]
    isolated: CachePadded<Inner>,
}

fn main() {}
