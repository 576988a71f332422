//! Any model that BTF can hold survives a round trip.

use proptest::prelude::*;
use tenure_debuginfo::model::{
    BitField, Builder, Format, Member, Model, Name, Qualifier, Scalar, Shape, Static, Type, TypeId,
    TypeKind,
};
use tenure_debuginfo::read::btf;

use super::encoder::*;

/// A type to be. Numbers of other types are reduced to the possible ones: any for pointers, earlier ones for parts.
#[derive(Debug, Clone)]
enum Spec {
    Int { size: u32, boolean: bool },
    Float,
    Enum { wide: bool, values: u32 },
    Pointer(usize),
    Array { element: usize, count: u32 },
    Composite { union: bool, flag: bool, members: Vec<(usize, u32, u32)> },
    Forward,
    Alias(usize),
    Qualified { kind: u32, of: usize },
    Function,
    Prototype,
    Variable { of: usize, addresses: Vec<u32> },
    Tag { on: usize, member: usize },
}

fn spec() -> impl Strategy<Value = Spec> {
    let which = || 0..1000_usize;
    let member = (which(), 0..3_u32, 1..32_u32);
    prop_oneof![
        (0..4_u32, any::<bool>()).prop_map(|(log, boolean)| Spec::Int { size: 1 << log, boolean }),
        Just(Spec::Float),
        (any::<bool>(), 0..4_u32).prop_map(|(wide, values)| Spec::Enum { wide, values }),
        which().prop_map(Spec::Pointer),
        (which(), 0..20_u32).prop_map(|(element, count)| Spec::Array { element, count }),
        (any::<bool>(), any::<bool>(), prop::collection::vec(member, 0..8))
            .prop_map(|(union, flag, members)| Spec::Composite { union, flag, members }),
        Just(Spec::Forward),
        which().prop_map(Spec::Alias),
        (prop::sample::select(vec![VOLATILE, CONST, RESTRICT, TYPE_TAG]), which())
            .prop_map(|(kind, of)| Spec::Qualified { kind, of }),
        Just(Spec::Function),
        Just(Spec::Prototype),
        (which(), prop::collection::vec(0..1000_u32, 0..4))
            .prop_map(|(of, addresses)| Spec::Variable { of, addresses }),
        (which(), which()).prop_map(|(on, member)| Spec::Tag { on, member }),
    ]
}

struct Writer<'s> {
    specs: &'s [Spec],
    file: Encoder,
    builder: Builder,
    /// By BTF id, if it is a type of the model.
    places: Vec<Option<TypeId>>,
    /// By BTF id, pointers too.
    sizes: Vec<u64>,
    section: Vec<[u32; 3]>,
}

/// By BTF id, as the reader documents: `void`, one function, and then the types in their order.
fn places(specs: &[Spec]) -> Vec<Option<TypeId>> {
    let mut next = 2;
    let of_specs = specs.iter().map(|spec| match spec {
        Spec::Function | Spec::Prototype => Some(Builder::nth(1)),
        Spec::Variable { .. } | Spec::Tag { .. } => None,
        _ => {
            next += 1;
            Some(Builder::nth(next - 1))
        }
    });
    [Some(Builder::nth(0))].into_iter().chain(of_specs).collect()
}

impl Writer<'_> {
    /// An id below `end` that is a type.
    fn below(&self, which: usize, end: usize) -> (u32, TypeId, u64) {
        let types: Vec<usize> = (0..end).filter(|id| self.places[*id].is_some()).collect();
        let id = types[which % types.len()];
        (id as u32, self.places[id].unwrap(), self.sizes.get(id).copied().unwrap_or(0))
    }

    fn write(&mut self) {
        for (at, spec) in self.specs.iter().enumerate() {
            let id = at + 1;
            let name = format!("t{}", id % 7);
            let size = match spec {
                Spec::Pointer(_) => 8,
                _ => self.spec(id, spec, &name),
            };
            if let Spec::Pointer(to) = spec {
                let (to, target, _) = self.below(*to, self.places.len());
                self.file.plain(PTR, &name, to);
                let kind = TypeKind::Pointer((to != 0).then_some(target));
                self.builder.push(Type::new(&*name, 8, kind));
            }
            self.sizes.push(size);
        }
    }

    fn spec(&mut self, id: usize, spec: &Spec, name: &str) -> u64 {
        let (size, kind) = match spec {
            Spec::Int { size, boolean } => {
                let encoding = (if *boolean { BOOLEAN } else { 0 }) | (size * 8);
                self.file.add(name, INT << 24, *size, &[encoding]);
                let scalar = if *boolean { Scalar::Boolean } else { Scalar::Integer };
                (u64::from(*size), TypeKind::Scalar(scalar))
            }
            Spec::Float => {
                self.file.plain(FLOAT, name, 16);
                (16, TypeKind::Scalar(Scalar::Float))
            }
            Spec::Enum { wide, values } => {
                let (kind, each) = if *wide { (ENUM64, 3) } else { (ENUM, 2) };
                self.file.add(name, kind << 24 | values, 4, &vec![0; (values * each) as usize]);
                (4, TypeKind::Scalar(Scalar::Enumeration))
            }
            Spec::Array { element, count } => {
                let (of, element, size) = self.below(*element, id);
                let count = if size > 1 << 10 { 1 } else { *count };
                self.file.add(name, ARRAY << 24, 0, &[of, of, count]);
                (size * u64::from(count), TypeKind::Array { element, count: u64::from(count) })
            }
            Spec::Composite { union, flag, members } => {
                return self.composite(id, name, *union, *flag, members);
            }
            Spec::Forward => {
                self.file.plain(FWD, name, 0);
                (0, TypeKind::Opaque)
            }
            Spec::Alias(of) => {
                let (of, target, size) = self.below(*of, id);
                self.file.plain(TYPEDEF, name, of);
                (size, TypeKind::Alias(target))
            }
            Spec::Qualified { kind, of } => {
                let (of, target, size) = self.below(*of, id);
                self.file.plain(*kind, name, of);
                let qualifier = match *kind {
                    VOLATILE => Qualifier::Volatile,
                    CONST => Qualifier::Const,
                    _ => Qualifier::Other,
                };
                let name = if *kind == TYPE_TAG { "" } else { name };
                self.builder.push(Type::new(name, 0, TypeKind::Qualified(qualifier, target)));
                return size;
            }
            Spec::Function => {
                self.file.plain(FUNC, name, 0);
                return 0;
            }
            Spec::Prototype => {
                self.file.add("", FUNC_PROTO << 24 | 2, 0, &[0, 1, 0, 0]);
                return 0;
            }
            Spec::Variable { of, addresses } => {
                let (of, ty, _) = self.below(*of, id);
                let variable = self.file.add(name, VAR << 24, of, &[1]);
                for address in addresses {
                    self.section.push([variable, *address, 4]);
                    let (section, address) = (Name::from(".bss"), u64::from(*address));
                    let name = Name::from(name);
                    self.builder.push_static(Static { name, section, address, ty, declared: None });
                }
                return 0;
            }
            Spec::Tag { on, member } => {
                let on = on % self.places.len();
                // The reader refuses tags of members that do not exist.
                let member = on.checked_sub(1).and_then(|at| match &self.specs[at] {
                    Spec::Composite { members, .. } if members.is_empty() => None,
                    Spec::Composite { members, .. } => Some(member % members.len()),
                    _ => Some(*member),
                });
                let member = member.map_or(u32::MAX, |member| member as u32);
                self.file.add(&format!("tag{id}"), DECL_TAG << 24, on as u32, &[member]);
                return 0;
            }
            Spec::Pointer(_) => unreachable!("written by its caller"),
        };
        self.builder.push(Type::new(name, size, kind));
        size
    }

    fn composite(
        &mut self,
        id: usize,
        name: &str,
        union: bool,
        flag: bool,
        wanted: &[(usize, u32, u32)],
    ) -> u64 {
        let (mut end, mut size) = (0_u64, 0_u64);
        let (mut words, mut members) = (Vec::new(), Vec::new());
        for (which, (of, gap, width)) in wanted.iter().enumerate() {
            let (mut of, mut ty, mut bytes) = self.below(*of, id);
            if bytes > 1 << 12 {
                (of, ty, bytes) = (0, Builder::nth(0), 0);
            }
            let is_bits = flag && *gap == 2;
            let bit = if union { u64::from(*gap) } else { end + u64::from(*gap) };
            let bit = if is_bits { bit } else { bit.next_multiple_of(8) };
            let bits = is_bits.then_some(BitField { first: (bit % 8) as u8, count: *width });
            end = bit + if is_bits { u64::from(*width) } else { bytes * 8 };
            size = size.max(end.div_ceil(8));
            let member_name = format!("m{which}");
            let place = bit as u32 | if is_bits { width << 24 } else { 0 };
            words.push((member_name.clone(), of, place));
            let mut member = Member::new(member_name, bit / 8, ty);
            member.bits = bits;
            member.tags = self.tags(id, which, wanted.len());
            members.push(member);
        }
        let flag = if flag { FLAG } else { 0 };
        let info = if union { UNION } else { STRUCT } << 24 | flag;
        let words: Vec<_> = words.iter().map(|(name, of, at)| (&**name, *of, *at)).collect();
        self.file.composite(info, name, size as u32, &words);
        let shape = if union { Shape::Union } else { Shape::Struct };
        self.builder.push(Type::new(name, size, TypeKind::Composite { shape, members }));
        size
    }

    fn tags(&self, id: usize, which: usize, members: usize) -> Vec<Name> {
        let ids = 1..=self.specs.len();
        ids.zip(self.specs)
            .filter(|(_, spec)| match spec {
                Spec::Tag { on, member } => {
                    on % self.places.len() == id && member % members == which
                }
                _ => false,
            })
            .map(|(id, _)| Name::from(format!("tag{id}")))
            .collect()
    }
}

fn write(specs: &[Spec], big: bool) -> (Vec<u8>, Model) {
    let mut writer = Writer {
        specs,
        file: Encoder::new(big),
        builder: Builder::new(),
        places: places(specs),
        sizes: vec![0],
        section: Vec::new(),
    };
    writer.builder.add("", 0, TypeKind::Opaque);
    writer.builder.add("", 0, TypeKind::Function);
    writer.write();
    writer.file.section(".bss", 2000, &writer.section);
    (writer.file.finish(), writer.builder.finish(Format::Btf, 1).unwrap())
}

proptest! {
    #[test]
    fn a_model_comes_back_as_it_was(specs in prop::collection::vec(spec(), 0..40), big: bool) {
        let (file, model) = write(&specs, big);
        prop_assert_eq!(btf::parse(&file, None).unwrap(), model);
    }

    #[test]
    fn a_corrupted_file_is_refused_or_harmless(
        specs in prop::collection::vec(spec(), 0..20),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        big: bool,
    ) {
        let (mut file, _) = write(&specs, big);
        for (at, value) in changes {
            *at.get_mut(&mut file) = value;
        }
        let _ = btf::parse(&file, None);
    }

    #[test]
    fn a_file_on_top_of_another_leaves_the_others_types_as_they_were(
        below in prop::collection::vec(spec(), 0..20),
        big: bool,
    ) {
        let (base, model) = write(&below, big);
        let mut empty = Encoder::new(big).finish();
        // This split file has no strings, not even the empty one.
        let strings = if big { 1_u32.to_be_bytes() } else { 1_u32.to_le_bytes() };
        prop_assert_eq!(&empty[20..24], &strings);
        empty[20..24].fill(0);
        prop_assert_eq!(btf::parse(&empty, Some(&base)).unwrap(), model);
    }
}
