//! What all of a program's code does to members and variables: a count of the instructions that read, write and
//! atomically change each, by function.
//!
//! Every function that has DWARF is decoded once. An operand in memory belongs to the type that its base register points to, by
//! the locations of variables in DWARF and by what registers were loaded from (`walk` says how), or to the variable at its
//! address. Unit after unit, on all cores; only counters are kept.
//!
//! Of a file that has BTF and no DWARF, as most kernels, every function with a symbol is decoded. Its prototype says what its
//! arguments point to (`declared`). Nothing is known of variables.
//!
//! Operands on the stack, of the thread or CPU itself (`fs`, `gs`) and in constants are not shared, and not counted. Of the
//! rest [`Operands`] says how many were attributed.
//!
//! Not read: code for other processors than x86-64, object files, split DWARF, and functions without an entry.

mod declared;
mod decoded;
mod fields;
mod memory;
mod operand;
mod registers;
mod step;
mod steps;
mod tally;
mod unit;
mod walk;

use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

use object::{Architecture, File, ObjectKind};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

pub(crate) use self::decoded::{LOST, number};
pub use self::fields::{first_like, has_array_at};
pub(crate) use self::registers::{BP, SP};
pub use self::tally::{AccessedPart, OperandCounts, OperandUse, Operands, Subject};

use self::fields::Fields;
use self::memory::StaticMemory;
use self::tally::Tally;
use self::unit::{CodeFunction, UnitCode};
use self::walk::{Around, WalkScratch, walk};
use crate::result::CodeText;
use tenure_debuginfo::Error;
use tenure_debuginfo::model::{Model, Name};
use tenure_debuginfo::names;
use tenure_debuginfo::program::image::Image;
use tenure_debuginfo::program::symbols::Symbols;
use tenure_debuginfo::program::units::{Reader, Units};
use tenure_debuginfo::read::file::MappedFile;
use tenure_debuginfo::read::{EntryLinks, EntryTypes, Input, Options, Prototype, read_linked};
use tenure_model::Progress;

/// What the code of a program does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sweep {
    /// Names of functions, as people say them, each once.
    pub functions: Vec<Name>,
    /// Those that call a function whose name says that it takes a lock, in order.
    pub lockers: Vec<u32>,
    /// Uses, in the order of parts, then functions.
    pub uses: Vec<OperandUse>,
    /// Operands by language: `C`, `C++`, `Rust`, `other`.
    pub operands: Vec<(&'static str, Operands)>,
    /// The functions with the most atomic operands that are not known to be of anything, and how many each has.
    pub unattributed: Vec<(Name, u64)>,
    /// Units, or parts of them, that could not be read.
    pub skipped: u64,
    /// Functions of units that do not say where variables are, as Rust's precompiled standard library. Of those only what is
    /// done to variables at fixed addresses is known, and only that is counted.
    pub blind: u64,
    /// What the instructions access that [`read_at`] was asked about, as far as that is known: by address, each once.
    pub at: Vec<(u64, AccessedPart)>,
}

/// How many functions are listed.
const MAX_LISTED: usize = 8;

impl Sweep {
    /// Operands of all languages together.
    #[must_use]
    pub fn total(&self) -> Operands {
        let mut total = Operands::default();
        self.operands.iter().for_each(|(_, one)| total.add(one));
        total
    }
}

/// Reads the types of a file, and what its code does. The second is a reason in words if the code cannot be read.
///
/// # Errors
///
/// Those of [`read`](tenure_debuginfo::read::read).
pub fn read(
    input: &Input,
    options: &Options,
    progress: &dyn Progress,
) -> Result<(Model, Result<Sweep, String>), Error> {
    read_at(input, options, &[], progress)
}

/// The same, and what the instructions at some addresses access: see [`Sweep::at`].
///
/// # Errors
///
/// Those of [`read`](tenure_debuginfo::read::read).
pub fn read_at(
    input: &Input,
    options: &Options,
    addresses: &[u64],
    progress: &dyn Progress,
) -> Result<(Model, Result<Sweep, String>), Error> {
    let (model, links) = read_linked(input, options, progress)?;
    let sweep = sweep(input, options, (&model, &links), addresses, progress);
    Ok((model, sweep))
}

fn sweep(
    input: &Input,
    options: &Options,
    (model, links): (&Model, &EntryLinks),
    addresses: &[u64],
    progress: &dyn Progress,
) -> Result<Sweep, String> {
    let Input::File(path) = input else {
        return Err("the running kernel shows its types and no code; name its vmlinux".to_owned());
    };
    let file = MappedFile::open(path).map_err(|error| error.to_string())?;
    let object = File::parse(file.bytes()).map_err(|_| match links {
        EntryLinks::Entries(_) => "it is no single program or library; name the linked program",
        EntryLinks::Prototypes(_) => {
            "BTF alone holds no code; name the program or vmlinux that has it"
        }
    })?;
    use object::Object as _;
    if object.architecture() != Architecture::X86_64 {
        return Err(format!("code for {:?} is not read, only for x86-64", object.architecture()));
    }
    if object.kind() == ObjectKind::Relocatable {
        return Err("the code of object files is not read; name the linked program".to_owned());
    }
    let text = CodeText::open(path).filter(|text| text.length() > 0);
    let text = text.ok_or("the file holds no code; name the program itself")?;
    let memory = StaticMemory::new(model, &object);
    let shared = SweepContext {
        model,
        text: &text,
        memory: &memory,
        asked: addresses.iter().copied().collect(),
        // Functions may share code: a hostile file could have each instruction decoded again and again.
        budget: Mutex::new((text.length() as u64).saturating_mul(4)),
    };
    let found = match links {
        EntryLinks::Entries(entries) => {
            let image = Image::open_with(path, options.debug_file.as_deref());
            shared.units(&image.map_err(|error| error.to_string())?, entries, progress)?
        }
        EntryLinks::Prototypes(prototypes) => {
            shared.declared((&object, file.bytes().len()), prototypes, progress)?
        }
    };
    Ok(gather(found))
}

/// Functions that are read at one time, where no unit holds them.
const FUNCTIONS_AT_ONCE: usize = 256;

struct SweepContext<'s> {
    model: &'s Model,
    text: &'s CodeText,
    memory: &'s StaticMemory,
    /// Addresses of instructions.
    asked: FxHashSet<u64>,
    /// Bytes of code that may still be decoded.
    budget: Mutex<u64>,
}

/// What was found in one unit.
#[derive(Default)]
struct SweptUnit {
    names: Vec<Box<str>>,
    /// Functions are places among the names.
    uses: Vec<OperandUse>,
    language: &'static str,
    operands: Operands,
    locked_unknown: Vec<(u32, u64)>,
    lockers: Vec<u32>,
    is_cut: bool,
    blind: u64,
    at: Vec<(u64, AccessedPart)>,
}

impl SweepContext<'_> {
    /// Sweeps what DWARF's units describe.
    fn units(
        &self,
        image: &Image,
        entries: &EntryTypes,
        progress: &dyn Progress,
    ) -> Result<Vec<SweptUnit>, String> {
        if entries.is_empty() {
            return Err("no entry of its DWARF has a type".to_owned());
        }
        let units = Units::headers_of(image);
        let found = self.each(units.count(), progress, |which, fields, scratch| {
            let mut found = SweptUnit::default();
            let reader = Reader::new(image, &units);
            let Some(unit) = reader.unit_once(which) else {
                found.is_cut = true;
                return found;
            };
            let (code, is_cut) = unit::read(&reader, &unit, entries, fields);
            found.is_cut = is_cut;
            found.language = language(code.language);
            self.walk(&code, &code.functions, &image.symbols, (fields, scratch), &mut found);
            found
        });
        if found.iter().all(|unit| !unit.is_cut && unit.blind == unit.names.len() as u64) {
            return Err("no unit says where the variables of its functions are; split DWARF \
                        (-gsplit-dwarf) is not read"
                .to_owned());
        }
        Ok(found)
    }

    /// Sweeps what symbols name, with the prototypes of BTF.
    fn declared(
        &self,
        (object, length): (&File<'_>, usize),
        prototypes: &[Prototype],
        progress: &dyn Progress,
    ) -> Result<Vec<SweptUnit>, String> {
        let code = declared::read((object, length), prototypes, &Fields::new(self.model));
        let code = code.ok_or("it has no symbol of a function that its BTF declares")?;
        let mut symbols = Symbols::default();
        symbols.extend(object, length);
        let parts: Vec<_> = code.functions.chunks(FUNCTIONS_AT_ONCE).collect();
        Ok(self.each(parts.len(), progress, |which, fields, scratch| {
            let mut found = SweptUnit { language: "C", ..SweptUnit::default() };
            self.walk(&code, parts[which], &symbols, (fields, scratch), &mut found);
            found
        }))
    }

    /// Parts of the work, on all cores.
    fn each(
        &self,
        count: usize,
        progress: &dyn Progress,
        read: impl Fn(usize, &Fields<'_>, &mut WalkScratch) -> SweptUnit + Sync,
    ) -> Vec<SweptUnit> {
        progress.begin("reading code", count as u64);
        let found = (0..count).into_par_iter().map_init(
            || (Fields::new(self.model), WalkScratch::new()),
            |(fields, scratch), which| {
                let found = read(which, fields, scratch);
                progress.advance(1);
                found
            },
        );
        let found = found.collect();
        progress.end();
        found
    }

    fn walk(
        &self,
        code: &UnitCode,
        functions: &[CodeFunction],
        symbols: &Symbols,
        (fields, scratch): (&Fields<'_>, &mut WalkScratch),
        found: &mut SweptUnit,
    ) {
        let known = RefCell::new(FxHashMap::default());
        let takes_lock = |address: u64| {
            *known.borrow_mut().entry(address).or_insert_with(|| {
                symbols
                    .function(address)
                    .is_some_and(|symbol| names::takes_lock(&symbols.name(symbol)))
            })
        };
        let around = Around {
            fields,
            memory: self.memory,
            text: self.text,
            calls: &code.calls,
            results: &code.results,
            takes_lock: &takes_lock,
            asked: &self.asked,
        };
        for function in functions {
            let lengths = function.ranges.iter().map(|range| range.end - range.begin);
            let bytes = lengths.fold(0, u64::saturating_add);
            if !self.spend(bytes) {
                found.is_cut = true;
                break;
            }
            let mut tally = walk(&around, function, scratch);
            if !code.has_variables {
                tally.operands = tally.operands.only_known();
                found.blind += 1;
            }
            found.take(&function.name, &tally);
        }
    }

    /// Whether so much more may be decoded.
    fn spend(&self, bytes: u64) -> bool {
        let mut left = self.budget.lock().unwrap_or_else(PoisonError::into_inner);
        let rest = left.checked_sub(bytes);
        *left = rest.unwrap_or(*left);
        rest.is_some()
    }
}

impl SweptUnit {
    fn take(&mut self, name: &str, tally: &Tally) {
        let function = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.into());
        self.operands.add(&tally.operands);
        if tally.operands.locked_unknown > 0 {
            self.locked_unknown.push((function, tally.operands.locked_unknown));
        }
        self.at.extend(&tally.at);
        if tally.takes_lock {
            self.lockers.push(function);
        }
        let uses = tally.parts.iter();
        self.uses.extend(uses.map(|(part, counts)| OperandUse {
            part: *part,
            function,
            counts: *counts,
        }));
    }
}

fn language(code: Option<u64>) -> &'static str {
    let code = code.and_then(|code| u16::try_from(code).ok()).map(gimli::DwLang);
    match code {
        Some(
            gimli::DW_LANG_C
            | gimli::DW_LANG_C89
            | gimli::DW_LANG_C99
            | gimli::DW_LANG_C11
            | gimli::DW_LANG_C17,
        ) => "C",
        Some(
            gimli::DW_LANG_C_plus_plus
            | gimli::DW_LANG_C_plus_plus_03
            | gimli::DW_LANG_C_plus_plus_11
            | gimli::DW_LANG_C_plus_plus_14
            | gimli::DW_LANG_C_plus_plus_17
            | gimli::DW_LANG_C_plus_plus_20,
        ) => "C++",
        Some(gimli::DW_LANG_Rust) => "Rust",
        _ => "other",
    }
}

/// One function of each name: copies of an inline function, or of a generic one, count once.
fn gather(found: Vec<SweptUnit>) -> Sweep {
    let mut sweep = Sweep::default();
    let mut numbers: FxHashMap<Box<str>, u32> = FxHashMap::default();
    let mut operands: FxHashMap<&'static str, Operands> = FxHashMap::default();
    let mut unknown: FxHashMap<u32, u64> = FxHashMap::default();
    for unit in found {
        sweep.skipped += u64::from(unit.is_cut);
        sweep.blind += unit.blind;
        sweep.at.extend(unit.at);
        if unit.operands.all() > 0 {
            operands.entry(unit.language).or_default().add(&unit.operands);
        }
        let mut of_unit = Vec::with_capacity(unit.names.len());
        for name in unit.names {
            let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
            of_unit.push(*numbers.entry(name).or_insert(next));
        }
        sweep.lockers.extend(unit.lockers.iter().map(|function| of_unit[*function as usize]));
        for (function, count) in unit.locked_unknown {
            *unknown.entry(of_unit[function as usize]).or_default() += count;
        }
        let uses = unit.uses.into_iter();
        sweep
            .uses
            .extend(uses.map(|one| OperandUse { function: of_unit[one.function as usize], ..one }));
    }
    // Numbers in the order of names: the same whatever the order of units.
    let mut names: Vec<(Box<str>, u32)> = numbers.into_iter().collect();
    names.par_sort_unstable();
    let mut places = vec![0; names.len()];
    for (place, (name, number)) in (0..).zip(&names) {
        places[*number as usize] = place;
        sweep.functions.push(Name::from(&**name));
    }
    for one in &mut sweep.uses {
        one.function = places[one.function as usize];
    }
    for locker in &mut sweep.lockers {
        *locker = places[*locker as usize];
    }
    sweep.lockers.sort_unstable();
    sweep.lockers.dedup();
    sweep.uses.par_sort_unstable_by_key(|one| (one.part, one.function));
    sweep.uses.dedup_by(|later, earlier| {
        let same = (later.part, later.function) == (earlier.part, earlier.function);
        if same {
            earlier.counts.add(&later.counts);
        }
        same
    });
    sweep.uses.shrink_to_fit();
    sweep.at.sort_unstable();
    sweep.at.dedup_by_key(|(address, _)| *address);
    sweep.operands = operands.into_iter().collect();
    sweep.operands.sort_by_key(|(language, _)| *language);
    let named = |(number, count): (u32, u64)| {
        (sweep.functions[places[number as usize] as usize].clone(), count)
    };
    let mut unattributed: Vec<(Name, u64)> = unknown.into_iter().map(named).collect();
    unattributed.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    unattributed.truncate(MAX_LISTED);
    sweep.unattributed = unattributed;
    sweep
}
