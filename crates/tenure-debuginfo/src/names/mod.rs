//! Names as people say them: without mangling, modules, parameters and the arguments that have defaults.
//!
//! | module | subject |
//! |---|---|
//! | `symbols` | functions and variables |
//! | `types` | types: what they hold, whose they are |

mod symbols;
mod types;

pub use self::symbols::{demangled, function, variable};
pub use self::types::{first, generic, held, module, shortened, type_name};

/// The last step of a path.
#[must_use]
pub fn last(path: &str) -> &str {
    path.rsplit("::").next().unwrap_or(path)
}
