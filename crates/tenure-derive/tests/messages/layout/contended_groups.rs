use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[repr(C, align(64))]
struct Ring {
    #[line(contended, group = "producer")]
    head: usize,
    #[line(contended, group = "consumer")]
    tail: usize,
}

fn main() {}
