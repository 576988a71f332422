use super::index::{FIRST, FUNCTION, Index, IntBits, NO_TYPE, VOID};
use super::names::{Names, NoName};
use super::prototypes::{self, Prototype};
use super::record::{BtfKind, BtfRecord, TRIPLE, Words};
use crate::model::{
    BitField, Builder, Format, Malformed, Member, Model, Name, Qualifier, Scalar, Shape, Static,
    Type, TypeId, TypeKind,
};

/// The bit of an `INT`'s encoding that says boolean.
const BOOLEAN: u32 = 4 << 24;

/// The linkage of a `VAR` that another file defines.
const EXTERN: u32 = 2;

/// The model, with the prototypes of functions if they are wanted.
pub(super) fn model(
    index: &Index<'_>,
    with_prototypes: bool,
) -> Result<(Model, Vec<Prototype>), Malformed> {
    let strings = |part: usize| index.parts.get(part).map_or(&[][..], |part| part.sections.strings);
    let (base, own) =
        if index.parts.len() > 1 { (strings(0), strings(1)) } else { (&[][..], strings(0)) };
    let mut conversion = Conversion {
        index,
        names: Names::new(base, own),
        builder: Builder::with_capacity(index.types as usize),
        words: index.parts[0].sections.types,
        id: 0,
        tag: 0,
    };
    conversion.push(Name::default(), 0, TypeKind::Opaque);
    conversion.push(Name::default(), 0, TypeKind::Function);
    const { assert!(VOID == 0 && FUNCTION == 1 && FIRST == 2) };
    let mut strings = 0;
    for part in &index.parts {
        conversion.words = part.sections.types;
        strings += part.sections.strings.len();
        conversion.names.end_at(strings);
        let mut byte = 0;
        for id in part.ids.clone() {
            conversion.id = id;
            let cut_off = |_| Malformed::new(format!("BTF type {id} cannot be read"));
            let record = BtfRecord::at(part.sections.types, byte).map_err(cut_off)?;
            byte = record.end(part.sections.types, part.sections.layout).map_err(cut_off)?;
            conversion.convert(&record)?;
        }
    }
    // Last: their names leave what bounds the names of types as it is.
    let prototypes =
        if with_prototypes { prototypes::read(index, &mut conversion.names) } else { Vec::new() };
    Ok((conversion.builder.finish(Format::Btf, 1)?, prototypes))
}

struct Conversion<'i, 'a> {
    index: &'i Index<'a>,
    names: Names<'a>,
    builder: Builder,
    words: Words<'a>,
    id: u32,
    /// The first tag in the index that no earlier type had.
    tag: usize,
}

impl Conversion<'_, '_> {
    fn convert(&mut self, record: &BtfRecord) -> Result<(), Malformed> {
        let size = u64::from(record.word);
        let (size, kind) = match record.kind {
            BtfKind::Int => (size, self.int(record)?),
            BtfKind::Float => (size, TypeKind::Scalar(Scalar::Float)),
            BtfKind::Enum | BtfKind::Enum64 => (size, TypeKind::Scalar(Scalar::Enumeration)),
            BtfKind::Ptr if record.word == 0 => (self.index.pointer, TypeKind::Pointer(None)),
            BtfKind::Ptr => {
                (self.index.pointer, TypeKind::Pointer(Some(self.refers(record.word)?)))
            }
            BtfKind::Array => {
                let [element, by, count] = self.array(record)?;
                self.refers(by)?;
                let element = self.refers(element)?;
                (0, TypeKind::Array { element, count: u64::from(count) })
            }
            BtfKind::Struct => (size, self.composite(record, Shape::Struct)?),
            BtfKind::Union => (size, self.composite(record, Shape::Union)?),
            BtfKind::Fwd | BtfKind::Newer(_) => (0, TypeKind::Opaque),
            BtfKind::Typedef => (0, TypeKind::Alias(self.refers(record.word)?)),
            BtfKind::Volatile => (0, self.qualified(Qualifier::Volatile, record)?),
            BtfKind::Const => (0, self.qualified(Qualifier::Const, record)?),
            BtfKind::Restrict => (0, self.qualified(Qualifier::Other, record)?),
            BtfKind::TypeTag => {
                let kind = self.qualified(Qualifier::Other, record)?;
                self.push(Name::default(), 0, kind);
                return Ok(());
            }
            BtfKind::Datasec => return self.section(record),
            BtfKind::Func => return self.refers(record.word).map(|_| ()),
            BtfKind::DeclTag | BtfKind::Var => return self.known(record.word).map(|_| ()),
            BtfKind::FuncProto => return Ok(()),
        };
        let name = self.name(record.name)?;
        self.push(name, size, kind);
        Ok(())
    }

    fn push(&mut self, name: Name, size: u64, kind: TypeKind) {
        self.builder.push(Type::new(name, size, kind));
    }

    fn int(&self, record: &BtfRecord) -> Result<TypeKind, Malformed> {
        let encoding = self.words.at(record.rest).unwrap_or_default();
        let bits = IntBits::of(self.words, record);
        if u64::from(bits.offset + bits.count) > bits.whole {
            let (count, offset, size) = (bits.count, bits.offset, record.word);
            return Err(self.bad(format!("has {count} bits from bit {offset} on in {size} bytes")));
        }
        let boolean = encoding & BOOLEAN != 0;
        Ok(TypeKind::Scalar(if boolean { Scalar::Boolean } else { Scalar::Integer }))
    }

    fn array(&self, record: &BtfRecord) -> Result<[u32; 3], Malformed> {
        let bytes = self.words.bytes.get(record.rest..).and_then(|bytes| bytes.first_chunk());
        bytes.map(|bytes| self.words.triple(bytes)).ok_or_else(|| self.bad("is cut off"))
    }

    fn qualified(&self, qualifier: Qualifier, record: &BtfRecord) -> Result<TypeKind, Malformed> {
        Ok(TypeKind::Qualified(qualifier, self.refers(record.word)?))
    }

    fn composite(&mut self, record: &BtfRecord, shape: Shape) -> Result<TypeKind, Malformed> {
        let words = self.words;
        let mut members = Vec::with_capacity(record.count as usize);
        for (which, bytes) in (0..).zip(triples(words, record)) {
            let [name, ty, place] = words.triple(bytes);
            let (offset, bits) = self.place(record, which, ty, place)?;
            let mut member = Member::new(self.name(name)?, offset, self.refers(ty)?);
            member.bits = bits;
            members.push(member);
        }
        self.tag(&mut members)?;
        Ok(TypeKind::Composite { shape, members })
    }

    fn place(
        &self,
        record: &BtfRecord,
        which: u32,
        ty: u32,
        place: u32,
    ) -> Result<(u64, Option<BitField>), Malformed> {
        let (at, count) = match record.flag {
            true => (u64::from(place & 0x00ff_ffff), place >> 24),
            false if self.index.odd_ints || !place.is_multiple_of(8) => self.old_bits(ty, place),
            false => (u64::from(place), 0),
        };
        let first = (at % 8) as u8;
        if count == 0 && first != 0 {
            return Err(self.bad(format!("has a member {which} that begins within a byte")));
        }
        if (at + u64::from(count)).div_ceil(8) > u64::from(record.word) {
            let size = record.word;
            return Err(self.bad(format!("has a member {which} at bit {at} of its {size} bytes")));
        }
        Ok((at / 8, (count != 0).then_some(BitField { first, count })))
    }

    /// The older form: a member's first bit and bits; 0 bits if it is no bit field.
    fn old_bits(&self, ty: u32, place: u32) -> (u64, u32) {
        let at = u64::from(place);
        let Some(bits) = self.index.int_bits(ty) else { return (at, 0) };
        let at = at + u64::from(bits.offset);
        (at, if at.is_multiple_of(8) && bits.is_whole() { 0 } else { bits.count })
    }

    /// Adds `DECL_TAG`s to members.
    fn tag(&mut self, members: &mut [Member]) -> Result<(), Malformed> {
        while let Some(tag) = self.index.tags.get(self.tag).filter(|tag| tag.ty <= self.id) {
            self.tag += 1;
            if tag.ty < self.id {
                continue;
            }
            let name = self.name(tag.name)?;
            let Some(member) = members.get_mut(tag.member as usize) else {
                let (id, which, count) = (tag.id, tag.member, members.len());
                return Err(
                    self.bad(format!("has {count} members, and type {id} tags number {which}"))
                );
            };
            member.tags.push(name);
        }
        Ok(())
    }

    fn section(&mut self, record: &BtfRecord) -> Result<(), Malformed> {
        let words = self.words;
        let section = self.name(record.name)?;
        if record.word == 0 || section.contains("percpu") {
            return Ok(());
        }
        for bytes in triples(words, record) {
            let [id, offset, size] = words.triple(bytes);
            if u64::from(offset) + u64::from(size) > u64::from(record.word) {
                let end = record.word;
                return Err(self.bad(format!("has {size} bytes at {offset} of its {end}")));
            }
            self.known(id)?;
            let Some((variable, part)) = self.index.record(id) else { continue };
            match variable.kind {
                BtfKind::Var if part.sections.types.at(variable.rest) == Some(EXTERN) => {}
                BtfKind::Var => {
                    let (name, ty) = (self.name(variable.name)?, self.refers(variable.word)?);
                    let (section, address) = (Name::clone(&section), u64::from(offset));
                    self.builder.push_static(Static { name, section, address, ty, declared: None });
                }
                // The kernel defines these functions of BPF objects.
                BtfKind::Func => {}
                _ => return Err(self.bad(format!("has type {id} in it, which is no variable"))),
            }
        }
        Ok(())
    }

    fn refers(&self, id: u32) -> Result<TypeId, Malformed> {
        match self.known(id)? {
            NO_TYPE => Err(self.bad(format!("refers to {id}, a variable, a section or a tag"))),
            place => Ok(Builder::nth(place)),
        }
    }

    fn known(&self, id: u32) -> Result<u32, Malformed> {
        self.index.place(id).ok_or_else(|| {
            let last = self.index.len() - 1;
            self.bad(format!("refers to type {id}, and the last is {last}"))
        })
    }

    fn name(&mut self, offset: u32) -> Result<Name, Malformed> {
        self.names.at(offset).map_err(|why| {
            self.bad(match why {
                NoName::Beyond => format!("has a name at {offset}, beyond the strings"),
                NoName::TooMuch => "has a name that overlaps too many others".to_owned(),
            })
        })
    }

    #[cold]
    fn bad(&self, what: impl AsRef<str>) -> Malformed {
        Malformed::new(format!("BTF type {} {}", self.id, what.as_ref()))
    }
}

fn triples<'a>(
    words: Words<'a>,
    record: &BtfRecord,
) -> impl Iterator<Item = &'a [u8; TRIPLE]> + use<'a> {
    let bytes = words.bytes.get(record.rest..).unwrap_or_default();
    bytes.as_chunks().0.iter().take(record.count as usize)
}
