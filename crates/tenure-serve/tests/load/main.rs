//! The load generators, against servers that follow a script.

#![cfg(target_os = "linux")]

mod http;
mod memcached;
mod scripted;
