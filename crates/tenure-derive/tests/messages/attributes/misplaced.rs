use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[line(contended)]
struct RoleOfAStruct {
    field: u64,
}

#[derive(LineLayout)]
#[line(group = "tx")]
struct GroupOfAStruct {
    field: u64,
}

#[derive(LineLayout)]
struct OfFields {
    #[line(assume_aligned)]
    aligned: u64,
    #[line(apart = 128)]
    apart: u64,
    #[line(group(name = "tx", lines = 2))]
    group: u64,
}

fn main() {}
