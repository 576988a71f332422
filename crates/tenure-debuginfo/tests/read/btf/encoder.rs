#[derive(Debug, Clone)]
pub(crate) struct Encoder {
    big: bool,
    types: Vec<u8>,
    strings: Vec<u8>,
    /// Pairs of bytes for each kind, in the section that Linux 7.1 added.
    layout: Option<Vec<(u8, u8)>>,
    /// Bytes between the header and the types.
    more_header: usize,
    next: u32,
    strings_before: u32,
}

pub(crate) const INT: u32 = 1;
pub(crate) const PTR: u32 = 2;
pub(crate) const ARRAY: u32 = 3;
pub(crate) const STRUCT: u32 = 4;
pub(crate) const UNION: u32 = 5;
pub(crate) const ENUM: u32 = 6;
pub(crate) const FWD: u32 = 7;
pub(crate) const TYPEDEF: u32 = 8;
pub(crate) const VOLATILE: u32 = 9;
pub(crate) const CONST: u32 = 10;
pub(crate) const RESTRICT: u32 = 11;
pub(crate) const FUNC: u32 = 12;
pub(crate) const FUNC_PROTO: u32 = 13;
pub(crate) const VAR: u32 = 14;
pub(crate) const DATASEC: u32 = 15;
pub(crate) const FLOAT: u32 = 16;
pub(crate) const DECL_TAG: u32 = 17;
pub(crate) const TYPE_TAG: u32 = 18;
pub(crate) const ENUM64: u32 = 19;

/// Of a type's second word: chooses the form of members' places.
pub(crate) const FLAG: u32 = 1 << 31;

pub(crate) const BOOLEAN: u32 = 4 << 24;

impl Encoder {
    pub(crate) fn new(big: bool) -> Self {
        Self {
            big,
            types: Vec::new(),
            strings: vec![0],
            layout: None,
            more_header: 0,
            next: 1,
            strings_before: 0,
        }
    }

    /// Split BTF.
    pub(crate) fn on(base: &Self) -> Self {
        Self {
            strings: Vec::new(),
            next: base.next,
            strings_before: base.strings.len() as u32,
            ..Self::new(base.big)
        }
    }

    pub(crate) fn with_layout(mut self, layout: Vec<(u8, u8)>) -> Self {
        self.layout = Some(layout);
        self
    }

    pub(crate) fn with_more_header(mut self, bytes: usize) -> Self {
        self.more_header = bytes;
        self
    }

    pub(crate) fn name(&mut self, name: &str) -> u32 {
        if name.is_empty() {
            return 0;
        }
        let ended: Vec<u8> = name.bytes().chain([0]).collect();
        let at = self.strings.windows(ended.len()).position(|there| there == ended);
        let at = at.unwrap_or_else(|| {
            self.strings.extend_from_slice(&ended);
            self.strings.len() - ended.len()
        });
        self.strings_before + at as u32
    }

    pub(crate) fn add(&mut self, name: &str, info: u32, word: u32, rest: &[u32]) -> u32 {
        let name = self.name(name);
        for word in [name, info, word].iter().chain(rest) {
            let bytes = self.word(*word);
            self.types.extend_from_slice(&bytes);
        }
        self.next += 1;
        self.next - 1
    }

    pub(crate) fn plain(&mut self, kind: u32, name: &str, word: u32) -> u32 {
        self.add(name, kind << 24, word, &[])
    }

    pub(crate) fn int(&mut self, name: &str, size: u32) -> u32 {
        self.add(name, INT << 24, size, &[size * 8])
    }

    pub(crate) fn array(&mut self, element: u32, by: u32, count: u32) -> u32 {
        self.add("", ARRAY << 24, 0, &[element, by, count])
    }

    /// `info` is the kind, shifted, perhaps with [`FLAG`]; members are names, types and places as in the file.
    pub(crate) fn composite(
        &mut self,
        info: u32,
        name: &str,
        size: u32,
        members: &[(&str, u32, u32)],
    ) -> u32 {
        let words: Vec<u32> =
            members.iter().flat_map(|(name, ty, at)| [self.name(name), *ty, *at]).collect();
        self.add(name, info | members.len() as u32, size, &words)
    }

    pub(crate) fn structure(&mut self, name: &str, size: u32, members: &[(&str, u32, u32)]) -> u32 {
        self.composite(STRUCT << 24, name, size, members)
    }

    /// Variables are type, offset, size.
    pub(crate) fn section(&mut self, name: &str, size: u32, variables: &[[u32; 3]]) -> u32 {
        self.add(name, DATASEC << 24 | variables.len() as u32, size, variables.as_flattened())
    }

    pub(crate) fn finish(&self) -> Vec<u8> {
        let known = if self.layout.is_some() { 32 } else { 24 };
        let layout: Vec<u8> =
            self.layout.iter().flatten().flat_map(|(once, each)| [*once, *each, 0, 0]).collect();
        let (types, strings) = (self.types.len() as u32, self.strings.len() as u32);
        let mut bytes = if self.big { vec![0xeb, 0x9f] } else { vec![0x9f, 0xeb] };
        bytes.extend_from_slice(&[1, 0]);
        let length = (known + self.more_header) as u32;
        for word in [length, 0, types, types, strings] {
            bytes.extend_from_slice(&self.word(word));
        }
        if self.layout.is_some() {
            for word in [types + strings, layout.len() as u32] {
                bytes.extend_from_slice(&self.word(word));
            }
        }
        bytes.resize(bytes.len() + self.more_header, 0);
        [bytes, self.types.clone(), self.strings.clone(), layout].concat()
    }

    fn word(&self, word: u32) -> [u8; 4] {
        if self.big { word.to_be_bytes() } else { word.to_le_bytes() }
    }
}
