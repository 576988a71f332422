use tenure::cache_line::{CachePadded, LineLayout};

#[derive(LineLayout)]
struct Count {
    #[line(contended)]
    value: u64,
}

#[derive(LineLayout)]
#[repr(C)]
struct Entry {
    key: u64,
    #[line(embed)]
    refs: Count,
}

#[derive(LineLayout)]
#[repr(C)]
struct Table {
    name: CachePadded<[u8; 16]>,
    #[line(read_mostly)]
    mask: u64,
    #[line(embed)]
    first: Entry,
}

fn main() {}
