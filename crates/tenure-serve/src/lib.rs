//! The end-to-end proof of [`tenure`]: servers whose every request uses an object that all threads share, and the load
//! generators that measure them.
//!
//! Linux only, for epoll and its sockets: elsewhere this crate is empty.

#![cfg(target_os = "linux")]

/// An enum of names on the command line, with an error for others.
macro_rules! choice {
    (
        $(#[$about:meta])* $kind:ident, $error:literal;
        $($(#[$doc:meta])* $name:ident = $text:literal,)*
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub enum $kind {
            $($(#[$doc])* $name,)*
        }

        impl $kind {
            /// With their names on the command line.
            pub const ALL: [(Self, &'static str); [$($text),*].len()] =
                [$((Self::$name, $text)),*];
        }

        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(Self::ALL.iter().find(|(kind, _)| kind == self).map_or("", |(_, name)| name))
            }
        }

        impl std::str::FromStr for $kind {
            type Err = String;
            fn from_str(text: &str) -> Result<Self, String> {
                let known = Self::ALL.iter().find(|(_, name)| *name == text);
                known.map(|(kind, _)| *kind).ok_or_else(|| $error.to_owned())
            }
        }
    };
}

pub mod buffers;
pub mod e2e;
pub mod handler;
pub mod http;
pub mod load;
mod lock;
pub mod memcached;
pub mod net;
mod number;
pub mod process;
mod relaxed;
pub mod running;
pub mod script;
