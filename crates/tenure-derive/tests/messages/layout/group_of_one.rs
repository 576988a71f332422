use tenure::line::{Isolated, LineLayout};

struct Refs(Isolated<u64>);

#[derive(LineLayout)]
struct Wrapped {
    #[line(contended, group = "refs")]
    refs: Refs,
}

#[derive(LineLayout)]
struct Wide {
    #[line(read_mostly, group = "table")]
    table: Isolated<[u64; 12]>,
}

fn main() {}
