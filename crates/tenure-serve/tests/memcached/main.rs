//! The memcached server, fed from memory: its answers, its cache, its clients.

#![cfg(target_os = "linux")]

mod cache;
mod clients;
mod expiry;
mod features;
mod fuzz;
mod memory;
mod requests;
mod stress;
mod support;
mod transcripts;
