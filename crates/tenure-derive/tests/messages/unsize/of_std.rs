use std::fmt::Display;
use std::sync::Arc;

fn main() {
    let shown = tenure::unsize!(Arc::new(5) => dyn Display);
}
