//! Names as people say them: without mangling, modules, parameters and the arguments that have defaults.
//!
//! | module | subject |
//! |---|---|
//! | `known` | what a name says of a function, a member or a library's file: a library's, a lock |
//! | `symbols` | functions and variables |
//! | `types` | types: what they hold, whose they are |

mod known;
mod symbols;
mod types;

pub use self::known::{
    SystemLibrary, is_lock, is_lock_of_c, is_of_library, is_wrapper, mentions_lock, system_library,
    takes_lock, waits_for_thread,
};
pub use self::symbols::{demangled, function, variable};
pub use self::types::{first, generic, held, module, shortened, type_name};

/// The last step of a path.
#[must_use]
pub fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}

/// The words that a name is made of, in lower case: of `RwLock::read_raw` rw, lock, read and raw.
#[must_use]
pub fn words(name: &str, is_of_word: impl Fn(char) -> bool) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for part in name.split(|letter| !is_of_word(letter)) {
        let mut before = None;
        for letter in part.chars() {
            if before.is_none_or(|before: char| before.is_lowercase() && letter.is_uppercase()) {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(letter.to_lowercase());
            }
            before = Some(letter);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_begin_behind_what_is_no_letter_and_where_a_capital_follows_a_small_one() {
        for (name, letters, all) in [
            ("RwLock::read_raw", "rw lock read raw", "rw lock read raw"),
            ("ngx_http_init", "ngx http init", "ngx http init"),
            ("initWorker2", "init worker", "init worker2"),
            ("tcp_v4_rcv", "tcp v rcv", "tcp v4 rcv"),
            ("__IO", "io", "io"),
            ("", "", ""),
        ] {
            assert_eq!(words(name, char::is_alphabetic).join(" "), letters, "{name}");
            assert_eq!(words(name, char::is_alphanumeric).join(" "), all, "{name}");
        }
    }
}
