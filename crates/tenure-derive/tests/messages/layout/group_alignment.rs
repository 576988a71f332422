use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[repr(C)]
struct Device {
    #[line(group = "tx")]
    queues: u64,
    #[line(group = "tx")]
    features: u64,
}

fn main() {}
