//! Which file lies where in the memory of which process, as a recording tells it.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::Error;
use crate::program::Loaded;

/// Mappings of one process. A browser has two thousand.
const MAX_AREAS: usize = 1 << 14;

/// Mappings that are copied for forked processes, in all.
const MAX_COPIES: usize = 1 << 20;

/// The process that the kernel's mapping names, and where its addresses begin.
const KERNEL: u32 = u32::MAX;
const KERNEL_HALF: u64 = 1 << 63;

/// What perf calls the kernel's mapping: a symbol's name follows, whose address the mapping's offset is.
pub(super) const KERNEL_NAME: &str = "[kernel.kallsyms]";

/// A file, or a part of it, that a process has mapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) pid: u32,
    pub(super) start: u64,
    pub(super) length: u64,
    /// Offset in the file.
    pub(super) offset: u64,
    pub(super) is_code: bool,
    pub(super) path: String,
    pub(super) build_id: Option<Vec<u8>>,
}

/// What changes where files lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SpaceChange {
    Map(Mapping),
    Fork { parent: u32, child: u32 },
    Exec(u32),
}

/// The program that is asked about.
#[derive(Debug)]
pub(super) struct MeasuredProgram {
    pub(super) path: PathBuf,
    pub(super) loaded: Loaded,
}

impl MeasuredProgram {
    pub(super) fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self { path: path.to_owned(), loaded: Loaded::open(path)? })
    }

    /// Whether a mapped file is the program: by the build if that is known of both, else by the name.
    fn is(&self, path: &str, build_id: Option<&[u8]>) -> Whose {
        let name = |path: &Path| path.file_name().map(ToOwned::to_owned);
        let same_name = || name(Path::new(path)).is_some_and(|it| Some(it) == name(&self.path));
        match (build_id, &self.loaded.build_id) {
            // perf fills up short ones with zeros.
            (Some(theirs), Some(ours)) if theirs.starts_with(ours) => Whose::Ours,
            (Some(_), Some(_)) if same_name() => Whose::OtherBuild,
            (Some(_), Some(_)) => Whose::Other,
            _ if same_name() => Whose::Ours,
            _ => Whose::Other,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    Ours,
    /// Another build of the same name.
    OtherBuild,
    Other,
}

/// Where an instruction of a sample lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpacePlace {
    /// The program, at an address of its file.
    Here(u64),
    /// A file that is mapped there: see [`Spaces::name`].
    There(usize),
    Unknown,
}

#[derive(Debug, Clone, Default)]
struct Space {
    /// Areas, by their start.
    areas: BTreeMap<u64, Area>,
    /// Bytes by which the program's addresses are moved, if it is mapped.
    bias: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Area {
    end: u64,
    name: usize,
    bias: Option<u64>,
}

impl Space {
    /// Removes what lies between two addresses, for another mapping.
    fn clear(&mut self, start: u64, end: u64) {
        let mut rest = None;
        if let Some((_, before)) = self.areas.range_mut(..start).next_back()
            && before.end > start
        {
            rest = Some(*before);
            before.end = start;
        }
        let covered: Vec<u64> = self.areas.range(start..end).map(|(start, _)| *start).collect();
        for start in covered {
            rest = self.areas.remove(&start);
        }
        if let Some(rest) = rest.filter(|rest| rest.end > end && self.areas.len() < MAX_AREAS) {
            self.areas.insert(end, rest);
        }
    }
}

/// The memory of all processes.
#[derive(Debug)]
pub(super) struct Spaces<'p> {
    program: &'p MeasuredProgram,
    names: Vec<String>,
    by_name: FxHashMap<String, usize>,
    of: FxHashMap<u32, Rc<Space>>,
    copies_left: usize,
    /// The process that has the program, where no sample says its own: until the next change.
    owner: OnceCell<Option<u32>>,
    /// A file of the program's name is another build.
    pub(super) other_build: bool,
}

impl<'p> Spaces<'p> {
    pub(super) fn new(program: &'p MeasuredProgram) -> Self {
        Self {
            program,
            names: Vec::new(),
            by_name: FxHashMap::default(),
            of: FxHashMap::default(),
            copies_left: MAX_COPIES,
            owner: OnceCell::new(),
            other_build: false,
        }
    }

    pub(super) fn name(&self, name: usize) -> &str {
        &self.names[name]
    }

    pub(super) fn change(&mut self, change: &SpaceChange) {
        self.owner = OnceCell::new();
        match change {
            SpaceChange::Fork { parent, child } => {
                if let Some(space) = self.of.get(parent).filter(|_| parent != child) {
                    self.of.insert(*child, Rc::clone(space));
                }
            }
            SpaceChange::Exec(pid) => {
                self.of.remove(pid);
            }
            SpaceChange::Map(mapping) => self.map(mapping),
        }
    }

    fn map(&mut self, mapping: &Mapping) {
        if mapping.length == 0 {
            return;
        }
        let (start, end) = (mapping.start, mapping.start.saturating_add(mapping.length));
        let whose = self.program.is(&mapping.path, mapping.build_id.as_deref());
        let bias = match mapping.path.strip_prefix(KERNEL_NAME) {
            Some(symbol) => self.kernel_bias(mapping, symbol),
            None if whose == Whose::Ours => {
                let loaded = &self.program.loaded;
                loaded.bias_of(start, mapping.offset, mapping.length, mapping.is_code)
            }
            None => None,
        };
        self.other_build |= whose == Whose::OtherBuild;
        let name = self.number(&mapping.path);
        let space = self.of.entry(mapping.pid).or_default();
        if Rc::strong_count(space) > 1 {
            match self.copies_left.checked_sub(space.areas.len()) {
                Some(left) => self.copies_left = left,
                None => *space = Rc::default(),
            }
        }
        let space = Rc::make_mut(space);
        space.clear(start, end);
        if space.areas.len() < MAX_AREAS {
            space.areas.insert(start, Area { end, name, bias });
        }
        // A program may also map its own file as data, at any address: to read its symbols, say.
        if mapping.is_code {
            space.bias = bias.or(space.bias);
        }
    }

    /// Bytes by which the kernel was moved when it started: its mapping says where one symbol is.
    fn kernel_bias(&mut self, mapping: &Mapping, symbol: &str) -> Option<u64> {
        let loaded = &self.program.loaded;
        let ours = loaded.build_id.as_ref();
        let is_other =
            mapping.build_id.as_ref().zip(ours).is_some_and(|(it, our)| !it.starts_with(our));
        let address = loaded.symbol(symbol)?;
        if is_other {
            self.other_build = true;
            return None;
        }
        Some(mapping.offset.wrapping_sub(address))
    }

    fn number(&mut self, path: &str) -> usize {
        if let Some(known) = self.by_name.get(path) {
            return *known;
        }
        self.names.push(path.to_owned());
        self.by_name.insert(path.to_owned(), self.names.len() - 1);
        self.names.len() - 1
    }

    /// The memory of a process. Where the process is not known, that of the one that has the program.
    fn space(&self, pid: Option<u32>, address: u64) -> Option<&Space> {
        if address >= KERNEL_HALF {
            return self.of.get(&KERNEL).map(|space| &**space);
        }
        if let Some(pid) = pid {
            return self.of.get(&pid).map(|space| &**space);
        }
        let owner = self.owner.get_or_init(|| {
            let mut with = self.of.iter().filter(|(_, space)| space.bias.is_some());
            let (pid, first) = with.next()?;
            with.all(|(_, other)| other.bias == first.bias).then_some(*pid)
        });
        self.of.get(&(*owner)?).map(|space| &**space)
    }

    /// Where an instruction lies.
    pub(super) fn code(&self, pid: Option<u32>, ip: u64) -> SpacePlace {
        let Some(space) = self.space(pid, ip) else {
            // The recording has no mappings: a program with fixed addresses needs none.
            let is_fixed = self.of.is_empty() && self.program.loaded.has_code(ip);
            return if is_fixed { SpacePlace::Here(ip) } else { SpacePlace::Unknown };
        };
        let Some((_, area)) =
            space.areas.range(..=ip).next_back().filter(|(_, area)| ip < area.end)
        else {
            return SpacePlace::Unknown;
        };
        match area.bias {
            Some(bias) => SpacePlace::Here(ip.wrapping_sub(bias)),
            None => SpacePlace::There(area.name),
        }
    }

    /// Whether a file that a line names is another program.
    pub(super) fn file(&mut self, path: &str) -> SpacePlace {
        match self.program.is(path, None) {
            Whose::Other => SpacePlace::There(self.number(path)),
            _ => SpacePlace::Unknown,
        }
    }

    /// The instruction after a symbol of the program.
    pub(super) fn symbol(&self, name: &str, offset: u64) -> SpacePlace {
        let address = self.program.loaded.symbol(name).and_then(|at| at.checked_add(offset));
        address.map_or(SpacePlace::Unknown, SpacePlace::Here)
    }

    /// An address of data, as the program's file has it, if the program lies in that process.
    pub(super) fn data(&self, pid: Option<u32>, address: u64) -> Option<u64> {
        match self.space(pid, address) {
            Some(space) => space.bias.map(|bias| address.wrapping_sub(bias)),
            None => self.of.is_empty().then_some(address),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn this() -> MeasuredProgram {
        MeasuredProgram::open(&std::env::current_exe().unwrap()).unwrap()
    }

    /// The program's code, moved by so much, in a process.
    fn mapped(program: &MeasuredProgram, pid: u32, bias: u64) -> (SpaceChange, u64) {
        let entry = program.loaded.symbol("main").unwrap();
        let path = program.path.display().to_string();
        let build_id = program.loaded.build_id.clone();
        let page = entry & !0xfff;
        let holds = |offset: &u64| program.loaded.bias_of(page, *offset, 1 << 12, true) == Some(0);
        let offset = (0..1 << 32).step_by(1 << 12).find(holds).unwrap();
        let start = page + bias;
        let mapping =
            Mapping { pid, start, length: 1 << 12, offset, is_code: true, path, build_id };
        (SpaceChange::Map(mapping), entry)
    }

    #[test]
    fn an_address_of_a_process_becomes_the_file_s_own() {
        let program = this();
        let mut spaces = Spaces::new(&program);
        let (map, entry) = mapped(&program, 7, 0x5500_0000_0000);
        spaces.change(&map);
        assert_eq!(spaces.code(Some(7), entry + 0x5500_0000_0000), SpacePlace::Here(entry));
        assert_eq!(spaces.code(None, entry + 0x5500_0000_0000), SpacePlace::Here(entry));
        assert_eq!(spaces.code(Some(8), entry + 0x5500_0000_0000), SpacePlace::Unknown);
        assert_eq!(spaces.data(Some(7), 0x5500_0000_1234), Some(0x1234));
    }

    #[test]
    fn a_forked_child_has_its_parent_s_mappings_until_it_runs_another_program() {
        let program = this();
        let mut spaces = Spaces::new(&program);
        let (map, entry) = mapped(&program, 7, 0x1000_0000);
        spaces.change(&map);
        spaces.change(&SpaceChange::Fork { parent: 7, child: 9 });
        assert_eq!(spaces.code(Some(9), entry + 0x1000_0000), SpacePlace::Here(entry));
        spaces.change(&SpaceChange::Exec(9));
        assert_eq!(spaces.code(Some(9), entry + 0x1000_0000), SpacePlace::Unknown);
        assert_eq!(spaces.code(Some(7), entry + 0x1000_0000), SpacePlace::Here(entry));
    }

    #[test]
    fn a_file_of_the_same_name_with_another_build_id_is_another_program() {
        let mut program = this();
        program.loaded.build_id = Some(vec![7; 20]);
        let mut spaces = Spaces::new(&program);
        let (map, entry) = mapped(&program, 7, 0x1000_0000);
        let SpaceChange::Map(map) = map else { unreachable!() };
        spaces.change(&SpaceChange::Map(Mapping { build_id: Some(vec![1; 20]), ..map }));
        assert!(matches!(spaces.code(Some(7), entry + 0x1000_0000), SpacePlace::There(_)));
        assert!(spaces.other_build);
    }

    #[test]
    fn the_kernel_is_moved_by_where_its_mapping_says_that_a_symbol_is() {
        let mut program = this();
        program.loaded.build_id = None;
        let main = program.loaded.symbol("main").unwrap();
        let text = 0xffff_ffff_8100_0000;
        let mut spaces = Spaces::new(&program);
        spaces.change(&SpaceChange::Map(Mapping {
            pid: KERNEL,
            start: text,
            length: 1 << 24,
            offset: text,
            is_code: true,
            path: format!("{KERNEL_NAME}main"),
            build_id: None,
        }));
        assert_eq!(spaces.code(Some(7), text + 64), SpacePlace::Here(main + 64));
        assert_eq!(spaces.data(Some(7), text + 4096), Some(main + 4096));
    }

    #[test]
    fn a_program_that_maps_its_own_file_as_data_is_not_moved_by_that() {
        let program = this();
        let mut spaces = Spaces::new(&program);
        let (map, entry) = mapped(&program, 7, 0x1000_0000);
        spaces.change(&map);
        let SpaceChange::Map(map) = map else { unreachable!() };
        let whole =
            Mapping { start: 0x7000_0000_0000, length: 1 << 30, offset: 0, is_code: false, ..map };
        spaces.change(&SpaceChange::Map(whole));
        assert_eq!(spaces.data(Some(7), 0x1000_1234), Some(0x1234));
        assert_eq!(spaces.code(Some(7), entry + 0x1000_0000), SpacePlace::Here(entry));
    }

    fn other(start: u64, length: u64, path: &str) -> SpaceChange {
        SpaceChange::Map(Mapping {
            pid: 7,
            start,
            length,
            offset: 0,
            is_code: true,
            path: path.to_owned(),
            build_id: None,
        })
    }

    #[test]
    fn a_mapping_hides_what_it_covers_and_no_more() {
        let program = this();
        let mut spaces = Spaces::new(&program);
        for (start, length, path) in
            [(0x1000, 0x9000, "whole"), (0x3000, 0x1000, "middle"), (0x5000, 0, "none")]
        {
            spaces.change(&other(start, length, path));
        }
        let at = |spaces: &Spaces<'_>, ip| match spaces.code(Some(7), ip) {
            SpacePlace::There(name) => spaces.name(name).to_owned(),
            place => format!("{place:?}"),
        };
        let found: Vec<String> = [0x1000, 0x2fff, 0x3000, 0x4000, 0x5000, 0x9fff, 0xa000]
            .into_iter()
            .map(|ip| at(&spaces, ip))
            .collect();
        assert_eq!(found, ["whole", "whole", "middle", "whole", "whole", "whole", "Unknown"]);
        spaces.change(&other(0x2000, 0x2000, "over"));
        assert_eq!(at(&spaces, 0x3000), "over");
        assert_eq!(at(&spaces, 0x4000), "whole");
        assert_eq!(at(&spaces, 0x1fff), "whole");
    }

    #[test]
    fn of_more_mappings_than_are_kept_those_at_the_same_place_are_still_replaced() {
        let program = this();
        let mut spaces = Spaces::new(&program);
        for nth in 0..=MAX_AREAS as u64 {
            spaces.change(&other(nth << 12, 1 << 12, "old"));
        }
        spaces.change(&other(0, 1 << 12, "new"));
        let SpacePlace::There(name) = spaces.code(Some(7), 0) else { panic!("not mapped") };
        assert_eq!(spaces.name(name), "new");
        let (map, _) = mapped(&program, 7, 0x5500_0000_0000);
        spaces.change(&map);
        assert_eq!(spaces.data(Some(7), 0x5500_0000_1234), Some(0x1234));
    }

    #[test]
    fn a_kernel_of_another_build_is_one() {
        let mut program = this();
        program.loaded.build_id = Some(vec![7; 20]);
        let mut spaces = Spaces::new(&program);
        let text = 0xffff_ffff_8100_0000;
        spaces.change(&SpaceChange::Map(Mapping {
            pid: KERNEL,
            start: text,
            length: 1 << 24,
            offset: text,
            is_code: true,
            path: format!("{KERNEL_NAME}main"),
            build_id: Some(vec![1; 20]),
        }));
        assert!(matches!(spaces.code(Some(7), text + 64), SpacePlace::There(_)));
        assert!(spaces.other_build);
    }
}
