//! Questions about types.

/// Whether a type has a trait: the type's own constant goes before the trait's.
macro_rules! has {
    ($type:ty: $trait:ident) => {{
        #[allow(dead_code, reason = "of types that have the trait it is not asked")]
        trait Otherwise {
            const HAS: bool = false;
        }
        impl<T: ?Sized> Otherwise for Probe<T> {}
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "of types that have no such trait it is not asked")]
        impl<T: ?Sized + $trait> Probe<T> {
            const HAS: bool = true;
        }
        Probe::<$type>::HAS
    }};
}

#[test]
fn a_probe_tells_what_has_a_trait_from_what_has_not() {
    use std::cell::Cell;
    use std::panic::RefUnwindSafe;
    use std::rc::Rc;
    assert!(has!(u8: Send) && !has!(Rc<u8>: Send));
    assert!(has!(u8: RefUnwindSafe) && !has!(Cell<u8>: RefUnwindSafe));
}
