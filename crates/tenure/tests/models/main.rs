//! Models
mod arc;
mod counts;
mod memory;
mod stage;
mod ticket;
mod twins;
