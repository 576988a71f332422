use tenure::cache_line::LineLayout;

#[derive(LineLayout)]
#[repr(C, align(64))]
#[line(group(name = "tx", lines = 2))]
struct Device {
    #[line(group = "tx", read_mostly)]
    queues: [u64; 4],
    #[line(cold)]
    name: [u8; 32],
    #[line(group = "tx", read_mostly)]
    features: [u64; 9],
    #[line(group = "rx", read_mostly)]
    filter: u64,
    #[line(group = "rx", read_mostly)]
    handler: [u64; 8],
}

fn main() {}
