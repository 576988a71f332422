use proptest::prelude::ProptestConfig;

/// A quarter under a sanitizer. Failures are not written to files.
pub(crate) fn cases(native: u32, miri: u32) -> ProptestConfig {
    let cases = if cfg!(miri) {
        miri
    } else if cfg!(sanitized) {
        native / 4
    } else {
        native
    };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}
