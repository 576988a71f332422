use tenure::cache_line::{CachePadded, LineLayout};

struct Refs(CachePadded<u64>);

#[derive(LineLayout)]
struct Wrapped {
    #[line(contended, group = "refs")]
    refs: Refs,
}

#[derive(LineLayout)]
struct Wide {
    #[line(read_mostly, group = "table")]
    table: CachePadded<[u64; 12]>,
}

fn main() {}
