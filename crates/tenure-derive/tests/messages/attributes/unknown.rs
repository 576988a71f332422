use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[line(padded)]
struct Unknown {
    field: u64,
}

#[derive(LineLayout)]
struct UnknownOnFields {
    #[line(hot)]
    one: u64,
    #[line(contended, writers = 3)]
    two: u64,
    #[line]
    three: u64,
    #[line = "cold"]
    four: u64,
}

fn main() {}
