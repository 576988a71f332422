use object::write::{Object, StandardSegment};
use object::{Architecture, BinaryFormat, Endianness, SectionKind};

#[derive(Debug, Default)]
pub(crate) struct Assembler {
    abbreviations: Vec<u8>,
    codes: u64,
    info: Vec<u8>,
    pub(crate) strings: Vec<u8>,
}

impl Assembler {
    pub(crate) fn abbreviation(
        &mut self,
        tag: gimli::DwTag,
        children: bool,
        attributes: &[(gimli::DwAt, gimli::DwForm)],
    ) -> u8 {
        self.write(tag, children, attributes);
        self.codes.try_into().unwrap()
    }

    pub(crate) fn abbreviation_unused(&mut self) {
        self.write(gimli::DW_TAG_label, false, &[]);
    }

    fn write(
        &mut self,
        tag: gimli::DwTag,
        children: bool,
        attributes: &[(gimli::DwAt, gimli::DwForm)],
    ) {
        self.codes += 1;
        leb(&mut self.abbreviations, self.codes);
        leb(&mut self.abbreviations, tag.0.into());
        self.abbreviations.push(children.into());
        for (name, form) in attributes {
            leb(&mut self.abbreviations, name.0.into());
            leb(&mut self.abbreviations, form.0.into());
        }
        self.abbreviations.extend([0, 0]);
    }

    /// Offsets of entries start at [`FIRST`].
    pub(crate) fn unit(&mut self, entries: &[u8]) {
        // Version 5, a compile unit, 8-byte addresses, the one table of abbreviations.
        let length = u32::try_from(entries.len() + 8).unwrap();
        self.info.extend(length.to_le_bytes());
        self.info.extend([5, 0, 1, 8, 0, 0, 0, 0]);
        self.info.extend(entries);
    }

    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.abbreviations.push(0);
        let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let debug = object.segment_name(StandardSegment::Debug).to_vec();
        for (name, bytes) in [
            (".debug_abbrev", &self.abbreviations),
            (".debug_info", &self.info),
            (".debug_str", &self.strings),
        ] {
            let id = object.add_section(debug.clone(), name.into(), SectionKind::Debug);
            object.append_section_data(id, bytes, 1);
        }
        object.write().unwrap()
    }
}

/// Of a unit's first entry.
pub(crate) const FIRST: usize = 12;

fn leb(to: &mut Vec<u8>, mut value: u64) {
    loop {
        let low = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            to.push(low);
            return;
        }
        to.push(low | 0x80);
    }
}
