//! Models
mod counts;
mod memory;
mod stage;
