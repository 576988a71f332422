//! What the values of attributes, and tags, stand for.

use gimli::{AttributeValue, DwTag, Encoding};

use super::table::What;
use super::unit::Value;
use crate::model::{Qualifier, Scalar};

/// The offset of a member, if it is the same in every object.
pub(super) fn offset(value: &Value<'_>, encoding: Encoding) -> Option<u64> {
    let bytes = match value {
        AttributeValue::Block(bytes) => bytes,
        AttributeValue::Exprloc(expression) => &expression.0,
        constant => return constant.udata_value(),
    };
    let mut rest = *bytes;
    let first = gimli::Operation::parse(&mut rest, encoding).ok()?;
    let offset = match first {
        gimli::Operation::PlusConstant { value } => value,
        gimli::Operation::UnsignedConstant { value } => {
            match gimli::Operation::parse(&mut rest, encoding).ok()? {
                gimli::Operation::Plus => value,
                _ => return None,
            }
        }
        _ => return None,
    };
    rest.is_empty().then_some(offset)
}

/// A number that fits; 0 for others.
#[inline]
pub(super) fn small(value: &Value<'_>) -> u32 {
    value.udata_value().and_then(|value| u32::try_from(value).ok()).unwrap_or(0)
}

/// A bound: C's `int a[0]` has had an upper one of -1, in as many bits as it took.
pub(super) fn signed(value: &Value<'_>) -> Option<i64> {
    match *value {
        AttributeValue::Data4(u32::MAX) | AttributeValue::Data8(u64::MAX) => Some(-1),
        AttributeValue::Sdata(value) => Some(value),
        _ => value.udata_value().and_then(|value| i64::try_from(value).ok()),
    }
}

/// What a number is.
pub(super) fn encoded(encoding: Option<u64>) -> Scalar {
    let encoding = encoding.and_then(|encoding| u8::try_from(encoding).ok()).unwrap_or(0);
    match gimli::DwAte(encoding) {
        gimli::DW_ATE_boolean => Scalar::Boolean,
        gimli::DW_ATE_float
        | gimli::DW_ATE_complex_float
        | gimli::DW_ATE_imaginary_float
        | gimli::DW_ATE_decimal_float => Scalar::Float,
        _ => Scalar::Integer,
    }
}

/// What a tag says that a type is; none for what is no type.
#[inline]
pub(super) fn what(tag: DwTag) -> Option<What> {
    Some(match tag {
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_interface_type => {
            What::Struct
        }
        gimli::DW_TAG_union_type => What::Union,
        gimli::DW_TAG_enumeration_type => What::Enumeration,
        gimli::DW_TAG_base_type => What::Scalar(Scalar::Integer),
        gimli::DW_TAG_typedef | gimli::DW_TAG_template_alias | gimli::DW_TAG_subrange_type => {
            What::Alias
        }
        gimli::DW_TAG_pointer_type
        | gimli::DW_TAG_reference_type
        | gimli::DW_TAG_rvalue_reference_type
        | gimli::DW_TAG_ptr_to_member_type => What::Pointer,
        gimli::DW_TAG_array_type => What::Array,
        gimli::DW_TAG_const_type => What::Qualified(Qualifier::Const),
        gimli::DW_TAG_volatile_type => What::Qualified(Qualifier::Volatile),
        gimli::DW_TAG_atomic_type => What::Qualified(Qualifier::Atomic),
        gimli::DW_TAG_restrict_type
        | gimli::DW_TAG_packed_type
        | gimli::DW_TAG_shared_type
        | gimli::DW_TAG_immutable_type => What::Qualified(Qualifier::Other),
        gimli::DW_TAG_subroutine_type => What::Function,
        gimli::DW_TAG_unspecified_type
        | gimli::DW_TAG_string_type
        | gimli::DW_TAG_set_type
        | gimli::DW_TAG_file_type
        | gimli::DW_TAG_coarray_type
        | gimli::DW_TAG_dynamic_type => What::Opaque,
        _ => return None,
    })
}
