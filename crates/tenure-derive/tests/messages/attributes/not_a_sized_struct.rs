use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
enum Enum {
    Variant(#[line(contended)] u64),
}

#[derive(LineLayout)]
union Union {
    word: u64,
}

#[derive(LineLayout)]
struct Slice {
    len: usize,
    items: [u64],
}

#[derive(LineLayout)]
struct Object(u64, dyn Send);

#[derive(LineLayout)]
struct Text(u64, str);

fn main() {}
