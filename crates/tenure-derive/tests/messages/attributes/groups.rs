use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[line(group(name = "tx"))]
struct WithoutLines(#[line(group = "tx")] u64);

#[derive(LineLayout)]
#[line(group(lines = 2))]
struct WithoutName(#[line(group = "tx")] u64);

#[derive(LineLayout)]
#[line(group(name = "tx", lines = 0))]
struct OfNoLines(#[line(group = "tx")] u64);

#[derive(LineLayout)]
#[line(group(name = "tx", lines = "two"))]
struct OfText(#[line(group = "tx")] u64);

#[derive(LineLayout)]
#[line(group(name = "tx", bytes = 64))]
struct OfBytes(#[line(group = "tx")] u64);

#[derive(LineLayout)]
#[line(group(name = "xt", lines = 2))]
struct Misspelt(#[line(group = "tx")] u64);

#[derive(LineLayout)]
struct Nameless(#[line(group = "")] u64);

#[derive(LineLayout)]
struct NotAString(#[line(group = tx)] u64);

fn main() {}
