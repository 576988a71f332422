use tenure::line::{Isolated, LineLayout};

struct Inner {
    refs: u64,
}

#[derive(LineLayout)]
struct Outer {
    #[line(embed)]
    inner: Inner,
    #[line(embed)]
    isolated: Isolated<Inner>,
}

fn main() {}
