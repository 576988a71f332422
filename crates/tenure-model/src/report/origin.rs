//! Whose a source file is, by the folders in which compilers, package managers and people keep what was written elsewhere.

use super::Origin;

/// Folders, wherever they are. Where a path has several, the first one here counts: Go has a `vendor/` of its own, and
/// packages of Node may be in `/usr/lib/`.
const FOLDERS: [(&str, Origin); 13] = [
    ("/rustlib/src/", Origin::Standard),
    // What Rust's std is built from.
    ("/rust/deps/", Origin::Standard),
    ("/include/c++/", Origin::Standard),
    ("-linux-gnu/c++/", Origin::Standard),
    ("/usr/local/go/src/", Origin::Standard),
    ("/golang.org/toolchain@", Origin::Standard),
    ("/git/checkouts/", Origin::Dependency),
    ("/vendor/", Origin::Dependency),
    ("/third_party/", Origin::Dependency),
    ("/node_modules/", Origin::Dependency),
    ("/usr/include/", Origin::Dependency),
    ("/usr/local/include/", Origin::Dependency),
    // The headers of compilers.
    ("/usr/lib/", Origin::Standard),
];

/// What rustc leaves of the paths of its own crates.
const OF_RUST: [&str; 6] = ["alloc", "core", "proc_macro", "std", "stdarch", "test"];

/// Packages of Go's own that share words between threads, wherever Go is installed.
const OF_GO: [&str; 5] = [
    "/src/runtime/",
    "/src/sync/",
    "/src/internal/runtime/",
    "/src/internal/sync/",
    "/src/internal/poll/",
];

impl Origin {
    /// Whose a source file is, by its path, which a line may follow: `src/server.rs:52`.
    #[must_use]
    pub fn of_file(path: &str) -> Self {
        // Files in the directory where a command runs are named without it.
        let is_in = |folder: &str| path.contains(folder) || path.starts_with(&folder[1..]);
        let file = path.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == ':');
        let is_of_rust = path.starts_with("/rustc/")
            || path.strip_prefix("library/").is_some_and(|rest| OF_RUST.contains(&first(rest)));
        let is_of_go = || file.ends_with(".go") && OF_GO.iter().any(|package| is_in(package));
        match FOLDERS.iter().find(|(folder, _)| is_in(folder)) {
            _ if is_of_rust => Self::Standard,
            Some((_, origin)) => *origin,
            None if of_cargo(path).or_else(|| of_go_module(path)).is_some() => Self::Dependency,
            None if is_of_go() => Self::Standard,
            None => Self::Yours,
        }
    }
}

/// What a file is part of, if it was not written for the program: a crate with its version, a module of Go's, a standard library.
pub(super) fn package(path: &str) -> Option<&str> {
    if path.starts_with("/rustc/") || path.contains("/rustlib/src/rust/") {
        return behind(path, "library/").map(first);
    }
    let folders = ["git/checkouts/", "vendor/", "third_party/"];
    let of_folder = || folders.iter().find_map(|folder| behind(path, folder)).map(first);
    of_cargo(path).or_else(of_folder).or_else(|| of_go_module(path))
}

/// `dashmap-5.5.3`, of a file of a crate from a registry, whose index comes before. A crate that is named `registry` has no version
/// there.
fn of_cargo(path: &str) -> Option<&str> {
    let (_, rest) = behind(path, "registry/src/")?.split_once('/')?;
    let has_version = |name: &&str| {
        name.split('-').skip(1).any(|part| part.starts_with(|it: char| it.is_ascii_digit()))
    };
    Some(first(rest)).filter(has_version)
}

/// `client_golang@v1.19.0`, of `…/go/pkg/mod/github.com/prometheus/client_golang@v1.19.0/prometheus/counter.go`.
fn of_go_module(path: &str) -> Option<&str> {
    let module = behind(path, "pkg/mod/")?;
    let version = module.find('@')?;
    let start = module[..version].rfind('/').map_or(0, |at| at + 1);
    Some(first(&module[start..]))
}

/// What follows a folder in a path.
fn behind<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let mut places = path.match_indices(folder).map(|(at, _)| at);
    let at = places.find(|&at| at == 0 || path[..at].ends_with('/'))?;
    Some(&path[at + folder.len()..])
}

/// The first part of a path that does not begin with `/`.
fn first(path: &str) -> &str {
    path.split('/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_path_says_whose_it_is() {
        for (path, whose) in [
            ("src/server.rs:52", Origin::Yours),
            ("", Origin::Yours),
            ("/rustc/5980/library/std/src/sync/mutex.rs:3", Origin::Standard),
            ("/home/me/rustc/src/main.rs", Origin::Yours),
            // Mbed TLS, built in its own folder.
            ("library/ssl_tls.c:9", Origin::Yours),
            ("/root/.rustup/a/lib/rustlib/src/rust/library/std/a.rs", Origin::Standard),
            ("/rust/deps/hashbrown-0.15.2/src/raw/mod.rs", Origin::Standard),
            ("/usr/include/c++/12/atomic", Origin::Standard),
            ("/opt/gcc/include/c++/13/atomic", Origin::Standard),
            ("/usr/include/x86_64-linux-gnu/c++/12/bits/c++config.h", Origin::Standard),
            ("/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h", Origin::Standard),
            ("/usr/include/boost/atomic.hpp", Origin::Dependency),
            ("/usr/local/include/absl/base/spinlock.h", Origin::Dependency),
            ("/root/.cargo/registry/src/index/dashmap-5.5.3/src/lock.rs:18", Origin::Dependency),
            (".cargo/registry/src/index/crossbeam-utils-0.8.21/src/a.rs", Origin::Dependency),
            ("crates/registry/src/map/mod.rs", Origin::Yours),
            ("/root/.cargo/git/checkouts/tokio-6ff3/a1b2/tokio/src/park.rs", Origin::Dependency),
            ("vendor/bytes/src/lib.rs", Origin::Dependency),
            ("/home/me/vendor/bytes/src/lib.rs", Origin::Dependency),
            ("src/vendor.rs", Origin::Yours),
            ("/home/me/leveldb/third_party/benchmark/src/a.cc", Origin::Dependency),
            ("node_modules/sharp/src/pipeline.cc", Origin::Dependency),
            ("/usr/lib/node_modules/sharp/src/pipeline.cc", Origin::Dependency),
            ("/root/go/pkg/mod/github.com/me/lru@v1.2.0/lru.go:7", Origin::Dependency),
            ("/home/me/server/pkg/mod/mod.go", Origin::Yours),
            ("/usr/local/go/src/net/http/server.go", Origin::Standard),
            ("/usr/local/go/src/vendor/golang.org/x/net/idna/idna.go", Origin::Standard),
            ("/usr/lib/go-1.22/src/net/http/server.go", Origin::Standard),
            ("/root/go/pkg/mod/golang.org/toolchain@v0.0.1-go1.22/src/os/a.go", Origin::Standard),
            ("/root/sdk/go1.22.0/src/runtime/proc.go:12", Origin::Standard),
            ("/root/sdk/go1.22.0/src/sync/mutex.go", Origin::Standard),
            ("/root/sdk/go1.22.0/src/internal/runtime/atomic/types.go", Origin::Standard),
            ("/root/sdk/go1.22.0/src/internal/sync/mutex.go", Origin::Standard),
            ("/root/sdk/go1.22.0/src/internal/poll/fd_mutex.go", Origin::Standard),
            ("/go/src/app/internal/cache.go", Origin::Yours),
            ("/home/me/server/src/internal/cache.go", Origin::Yours),
            ("/home/me/server/src/runtime/pool.rs", Origin::Yours),
        ] {
            assert_eq!(Origin::of_file(path), whose, "{path}");
        }
        for name in ["alloc", "core", "proc_macro", "std", "stdarch", "test"] {
            assert_eq!(Origin::of_file(&format!("library/{name}/src/lib.rs")), Origin::Standard);
        }
    }
}
