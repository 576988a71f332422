use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
struct Fields {
    #[line(contended, read_mostly)]
    two_roles: u64,
    #[line(cold)]
    #[line(embed)]
    in_two_attributes: u64,
    #[line(cold, cold)]
    one_role: u64,
    #[line(group = "a", group = "b")]
    two_groups: u64,
}

#[derive(LineLayout)]
#[line(assume_aligned, assume_aligned)]
struct Aligned(u64);

#[derive(LineLayout)]
#[line(apart = 64, apart = 128)]
struct Apart(u64);

#[derive(LineLayout)]
#[line(crate = tenure, crate = tenure)]
struct Crate(u64);

#[derive(LineLayout)]
#[line(group(name = "a", lines = 1), group(name = "a", lines = 2))]
struct Group(#[line(group = "a")] u64);

fn main() {}
