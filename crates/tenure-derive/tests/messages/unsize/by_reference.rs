use std::fmt::Display;
use tenure::sync::Arc;

fn main() {
    let number = Arc::new(5);
    let shown: Arc<dyn Display> = tenure::unsize!(&number => dyn Display);
}
