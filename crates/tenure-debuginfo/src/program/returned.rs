//! Which general registers a function returns a value in, by its type.

use super::entries::EntryValue;
use super::units::Reader;
use super::{Program, scopes};

/// How often a type may be a qualified or renamed other one.
const MAX_HOPS: usize = 16;

/// Bytes of a general register.
const REGISTER_BYTES: u64 = 8;

/// What an entry says of a type.
enum ReturnedType {
    /// It is a qualified or renamed other one, or nothing.
    Other(Option<usize>),
    /// A number or an address of so many bytes in general registers.
    Scalar(u64),
    /// A structure or the like.
    Composite(Option<u64>),
}

impl Program {
    /// Whether the function that an address lies in returns anything in the first general register for that (0), or in
    /// the second (1). `None` where that is not known: a pair of small values may be in both.
    #[must_use]
    pub fn returns(&self, address: u64, register: u64) -> Option<bool> {
        let reader = self.reader();
        let (_, levels) = scopes::levels(&reader, address)?;
        let function = levels.first()?.at;
        // A type that is kept elsewhere, as in a type unit, is one that is not known.
        let mut next = reader.ask(function, |unit, it| match it.get(gimli::DW_AT_type) {
            Some(ty) => Reader::target(unit, ty).map(Some),
            None => Some(None),
        })?;
        for _ in 0..MAX_HOPS {
            let Some(at) = next else { return Some(false) };
            match reader.ask(at, |unit, entry| {
                let bytes = entry.number(gimli::DW_AT_byte_size);
                Some(match entry.tag {
                    gimli::DW_TAG_const_type
                    | gimli::DW_TAG_volatile_type
                    | gimli::DW_TAG_atomic_type
                    | gimli::DW_TAG_restrict_type
                    | gimli::DW_TAG_typedef => {
                        ReturnedType::Other(match entry.get(gimli::DW_AT_type) {
                            Some(target) => Some(Reader::target(unit, target)?),
                            None => None,
                        })
                    }
                    gimli::DW_TAG_base_type => {
                        let is_real = matches!(
                            entry.get(gimli::DW_AT_encoding),
                            Some(EntryValue::Encoding(
                                gimli::DW_ATE_float
                                    | gimli::DW_ATE_complex_float
                                    | gimli::DW_ATE_imaginary_float
                                    | gimli::DW_ATE_decimal_float
                            ))
                        );
                        ReturnedType::Scalar(if is_real { 0 } else { bytes? })
                    }
                    gimli::DW_TAG_enumeration_type => ReturnedType::Scalar(bytes?),
                    gimli::DW_TAG_pointer_type
                    | gimli::DW_TAG_reference_type
                    | gimli::DW_TAG_rvalue_reference_type => ReturnedType::Scalar(REGISTER_BYTES),
                    // A class that is copied by its own code is returned in memory.
                    _ if entry.get(gimli::DW_AT_calling_convention)
                        == Some(EntryValue::CallingConvention(gimli::DW_CC_pass_by_reference)) =>
                    {
                        ReturnedType::Scalar(0)
                    }
                    _ => ReturnedType::Composite(bytes),
                })
            })? {
                ReturnedType::Other(target) => next = target,
                ReturnedType::Scalar(bytes) => return Some(register * REGISTER_BYTES < bytes),
                // A larger one is returned in memory.
                ReturnedType::Composite(Some(bytes)) if bytes > 2 * REGISTER_BYTES => {
                    return Some(false);
                }
                // C has a small one in one register, Rust may have two small values in two.
                ReturnedType::Composite(bytes) => {
                    let is_in = bytes.is_some_and(|bytes| register * REGISTER_BYTES < bytes);
                    return is_in.then_some(true);
                }
            }
        }
        None
    }
}
