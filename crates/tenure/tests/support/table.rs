//! Tests that are one call each: `name => call, call;`

macro_rules! tests {
    ($($(#[$attribute:meta])* $name:ident => $($call:expr),+;)*) => {$(
        #[test]
        $(#[$attribute])*
        fn $name() {
            $($call;)+
        }
    )*};
}
