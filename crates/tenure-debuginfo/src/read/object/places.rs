use object::{Object as _, ObjectSection as _, SectionFlags, SectionIndex, SectionKind};

use crate::model::Name;

#[derive(Debug, Default)]
pub(in crate::read) struct SectionPlaces {
    names: Vec<Name>,
    /// Start, end, index of the name; none where variables have no single fixed address.
    ranges: Vec<(u64, u64, Option<u32>)>,
    /// Sections by index, in relocatable files.
    by_index: Option<Vec<Option<u32>>>,
}

impl SectionPlaces {
    pub(super) fn of(object: &object::File<'_>, relocatable: bool) -> Self {
        let mut places = Self { by_index: relocatable.then(Vec::new), ..Self::default() };
        for section in object.sections() {
            if !takes_memory(&section) {
                continue;
            }
            let name = String::from_utf8_lossy(section.name_bytes().unwrap_or_default());
            let fixed = !is_thread_local(&section) && !name.contains("percpu");
            let name = fixed.then(|| {
                places.names.push(name.into());
                u32::try_from(places.names.len() - 1).unwrap_or(u32::MAX)
            });
            match &mut places.by_index {
                Some(by_index) => {
                    // At most the number of sections, which the file holds headers of.
                    let index = section.index().0;
                    if by_index.len() <= index {
                        by_index.resize(index + 1, None);
                    }
                    by_index[index] = name;
                }
                // Thread-local sections have addresses that others have as well.
                None if !is_thread_local(&section) => {
                    let end = section.address().saturating_add(section.size());
                    places.ranges.push((section.address(), end, name));
                }
                None => {}
            }
        }
        places.ranges.sort_unstable();
        places
    }

    pub(in crate::read) fn name(&self, index: u32) -> Name {
        self.names[index as usize].clone()
    }

    /// In a relocatable file, the section that the address's relocation names.
    pub(in crate::read) fn find(&self, address: u64, origin: Option<SectionIndex>) -> Option<u32> {
        match &self.by_index {
            Some(by_index) => *by_index.get(origin?.0)?,
            None => {
                let after = self.ranges.partition_point(|(start, ..)| *start <= address);
                let (_, end, name) = self.ranges[..after].last()?;
                name.filter(|_| address < *end)
            }
        }
    }
}

fn takes_memory(section: &object::Section<'_, '_>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(object::elf::SHF_ALLOC),
        _ => matches!(
            section.kind(),
            SectionKind::Data
                | SectionKind::ReadOnlyData
                | SectionKind::ReadOnlyDataWithRel
                | SectionKind::UninitializedData
                | SectionKind::Text
        ),
    }
}

fn is_thread_local(section: &object::Section<'_, '_>) -> bool {
    match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.contains(object::elf::SHF_TLS),
        _ => matches!(
            section.kind(),
            SectionKind::Tls | SectionKind::UninitializedTls | SectionKind::TlsVariables
        ),
    }
}
