//! Finds the caller of a function that is not the program's own, such as a lock's or the allocator's.
//!
//! The kernel copies the top of the stack with each sample. The unwinding tables of the module say where in it the return
//! address is. Functions of the C and C++ libraries are known by their files, those of Rust's and of locks by their
//! symbols.

use std::cell::{OnceCell, RefCell};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EhFrameOffset, EndianSlice, LittleEndian, Register,
    RegisterRule, UnwindContext, UnwindSection as _,
};
use object::{
    Object as _, ObjectSection as _, ObjectSymbol as _, ObjectSymbolTable as _, SymbolIndex,
    SymbolKind,
};
use rustc_hash::FxHashMap;
use tenure_analyze::Programs;
use tenure_debuginfo::names;
use tenure_model::recording::Module;

use crate::arch::{FRAME, RETURN, Registers, STACK, VENDOR, code_address};
use crate::sys::Sample;

/// Callers that are followed, at most.
const MAX_CALLS: usize = 6;

/// The modules of a process, as far as they were asked.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    modules: Vec<Module>,
    files: FxHashMap<String, Rc<Unwound>>,
    /// For each address, whether the function there is not the program's.
    foreign: FxHashMap<u64, bool>,
    programs: Programs,
}

/// What a module's file says.
#[derive(Debug, Default)]
struct Unwound {
    path: PathBuf,
    /// `.eh_frame`, and where it lies.
    frames: (u64, Vec<u8>),
    /// The entries of that by the addresses that they are for: where these begin and end, and where the entry is.
    entries: OnceCell<Vec<(u64, u64, EhFrameOffset)>>,
    /// For each address in the file, where the caller's stack begins, and where its registers were saved.
    rules: RefCell<FxHashMap<u64, Option<Rule>>>,
    /// Functions by address: where they begin and end.
    functions: Vec<(u64, u64, SymbolIndex)>,
    /// The names of functions that were asked for.
    names: RefCell<FxHashMap<SymbolIndex, Option<String>>>,
    is_library: bool,
}

/// The caller's stack pointer is so far from a register; its frame pointer and the return address were saved so far from
/// that, if they were.
#[derive(Debug, Clone, Copy)]
struct Rule {
    register: Register,
    offset: i64,
    frame: Option<i64>,
    back: Option<i64>,
}

impl Callers {
    /// Those in these modules. Functions `through` which calls go are passed over.
    pub(crate) fn new(modules: Vec<Module>, through: Vec<String>) -> Self {
        Self { modules, programs: Programs::through(through), ..Self::default() }
    }

    /// Forgets everything: the program has other modules now.
    pub(crate) fn set(&mut self, modules: Vec<Module>) {
        self.modules = modules;
        (self.files, self.foreign) = Default::default();
    }

    /// Whether a return address is of a function of a library for C and C++.
    pub(crate) fn is_of_library(&mut self, code: u64) -> bool {
        self.file(code).is_some_and(|(_, file)| file.is_library)
    }

    /// The return address in the program's own code, if the access of a sample, which ends at an address, is of a function
    /// that is not the program's.
    pub(crate) fn caller(&mut self, end: u64, sample: &Sample) -> Option<u64> {
        if !self.is_foreign(end) {
            return None;
        }
        self.called_from(sample.ip, sample)
    }

    /// The first return address in the program's own code, from an address on at which a sample found its thread.
    pub(crate) fn called_from(&mut self, ip: u64, sample: &Sample) -> Option<u64> {
        let registers = sample.registers.as_ref()?;
        let (mut code, mut stack) = (ip, registers.0[Registers::SP]);
        let mut frame = registers.0[Registers::BP];
        let mut link = registers.link();
        for _ in 0..MAX_CALLS {
            let (module, file) = self.file(code)?;
            let inside = code.wrapping_sub(module.bias);
            let step = file.step(inside, stack, frame, link.is_some())?;
            let back = match step.back {
                Some(saved) => sample.word(saved)?,
                None => link?,
            };
            let back = code_address(back);
            // It is the return address of the innermost function alone.
            link = None;
            if let Some(saved) = step.frame {
                frame = sample.word(saved)?;
            }
            stack = step.canonical;
            if !self.is_foreign(back) {
                self.file(back)?;
                return Some(back);
            }
            // The call, not what follows it.
            code = back.checked_sub(1)?;
        }
        None
    }

    /// Whether an address lies in one of the modules.
    pub(crate) fn has(&self, code: u64) -> bool {
        self.modules.iter().any(|it| (it.start..it.end).contains(&code))
    }

    /// The function that a return address is of.
    pub(crate) fn name(&mut self, back: u64) -> Option<String> {
        let (module, file) = self.file(back)?;
        Some(names::demangled(&file.function(back.wrapping_sub(module.bias))?))
    }

    /// Whether an address is part of a function that has a symbol.
    pub(crate) fn is_named(&mut self, code: u64) -> bool {
        let named = |(module, file): (Module, Rc<Unwound>)| {
            file.symbol(code.wrapping_sub(module.bias)).is_some()
        };
        self.file(code).is_some_and(named)
    }

    /// Where the function begins that an address is of.
    pub(crate) fn start(&mut self, code: u64) -> Option<u64> {
        let (module, file) = self.file(code)?;
        Some(file.start(code.wrapping_sub(module.bias))?.wrapping_add(module.bias))
    }

    /// Whether a return address is of a function that is not the program's.
    pub(crate) fn is_foreign(&mut self, code: u64) -> bool {
        if let Some(known) = self.foreign.get(&code) {
            return *known;
        }
        let is_foreign = self.file(code).is_some_and(|(module, file)| {
            let inside = code.wrapping_sub(module.bias);
            let passes_over = |symbol: String| self.programs.passes_over(&names::function(&symbol));
            // What the program passes to a library may be inlined there.
            file.function(inside).is_some_and(passes_over)
                || file.is_foreign(inside)
                    && (file.is_library || !self.programs.is_own(&module.path, inside))
        });
        self.foreign.insert(code, is_foreign);
        is_foreign
    }

    fn file(&mut self, code: u64) -> Option<(Module, Rc<Unwound>)> {
        let module = self.modules.iter().find(|it| (it.start..it.end).contains(&code))?.clone();
        let open = || Rc::new(Unwound::open(Path::new(&module.path)).unwrap_or_default());
        let file = Rc::clone(self.files.entry(module.path.clone()).or_insert_with(open));
        Some((module, file))
    }
}

/// The way from a function to its caller.
struct CallerStep {
    /// The stack pointer before the call.
    canonical: u64,
    /// Where the caller's frame pointer and the return address were saved, if they were.
    frame: Option<u64>,
    back: Option<u64>,
}

impl Unwound {
    fn open(path: &Path) -> Option<Self> {
        let cache = object::ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let section = file.section_by_name(".eh_frame");
        let frames = section.and_then(|it| Some((it.address(), it.data().ok()?.to_vec())));
        let name = path.file_name()?.to_str()?;
        let is_library = names::system_library(name).is_some();
        // Libraries are stripped, but for what they export.
        let symbols: Vec<_> = match is_library {
            true => file.dynamic_symbols().collect(),
            false => file.symbols().collect(),
        };
        let mut functions: Vec<_> = symbols
            .iter()
            .filter(|it| it.kind() == SymbolKind::Text)
            .map(|it| (it.address(), it.address() + it.size(), it.index()))
            .collect();
        functions.sort_unstable_by_key(|(start, ..)| *start);
        let (path, frames) = (path.to_owned(), frames.unwrap_or_default());
        Some(Self { path, frames, functions, is_library, ..Self::default() })
    }

    /// Whether a return address is of a function that is not the program's.
    fn is_foreign(&self, address: u64) -> bool {
        self.is_library
            || self.function(address).is_some_and(|symbol| names::is_of_library(&symbol))
    }

    /// The symbol of the function.
    fn function(&self, address: u64) -> Option<String> {
        // A return address may be the function's end.
        let index = self.symbol(address.checked_sub(1)?)?;
        let read = || self.name(index);
        self.names.borrow_mut().entry(index).or_insert_with(read).clone()
    }

    fn name(&self, index: SymbolIndex) -> Option<String> {
        let cache = object::ReadCache::new(File::open(&self.path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let symbol = match self.is_library {
            true => file.dynamic_symbol_table()?.symbol_by_index(index),
            false => file.symbol_by_index(index),
        };
        let symbol = symbol.ok()?;
        Some(symbol.name().ok()?.to_owned())
    }

    /// The symbol of the function that an address is part of.
    fn symbol(&self, address: u64) -> Option<SymbolIndex> {
        let after = self.functions.partition_point(|(start, ..)| *start <= address);
        let (.., index) = self.functions[..after].last().filter(|(_, end, _)| address < *end)?;
        Some(*index)
    }

    /// The way from the function at an address; `is_leaf` if it has called no other one yet.
    fn step(&self, address: u64, stack: u64, frame: u64, is_leaf: bool) -> Option<CallerStep> {
        if self.frames.1.is_empty() {
            // Go has frame pointers, and no such tables.
            let canonical = frame.checked_add(16)?;
            return Some(CallerStep { canonical, frame: Some(frame), back: Some(canonical - 8) });
        }
        let read = || self.rule(address);
        let Some(rule) = *self.rules.borrow_mut().entry(address).or_insert_with(read) else {
            // Functions in assembly may have no tables, and save nothing.
            return is_leaf.then_some(CallerStep { canonical: stack, frame: None, back: None });
        };
        let from = if rule.register == STACK { stack } else { frame };
        let canonical = from.wrapping_add_signed(rule.offset);
        let saved = |offset: i64| canonical.wrapping_add_signed(offset);
        Some(CallerStep { canonical, frame: rule.frame.map(saved), back: rule.back.map(saved) })
    }

    /// Where the function begins that an address is of, by the unwinding tables.
    fn start(&self, address: u64) -> Option<u64> {
        Some(self.entry(address)?.0)
    }

    fn section(&self) -> (EhFrame<EndianSlice<'_, LittleEndian>>, BaseAddresses) {
        let (start, bytes) = &self.frames;
        let mut section = EhFrame::new(bytes, LittleEndian);
        section.set_vendor(VENDOR);
        (section, BaseAddresses::default().set_eh_frame(*start))
    }

    /// The entry for an address. Tables are long, and are read once.
    fn entry(&self, address: u64) -> Option<(u64, u64, EhFrameOffset)> {
        let read = || {
            let (section, bases) = self.section();
            let mut all = Vec::new();
            let mut entries = section.entries(&bases);
            while let Ok(Some(entry)) = entries.next() {
                let CieOrFde::Fde(entry) = entry else { continue };
                let Ok(entry) = entry.parse(EhFrame::cie_from_offset) else { continue };
                let start = entry.initial_address();
                // It would hide the one that covers the address.
                if entry.len() == 0 {
                    continue;
                }
                all.push((start, start.wrapping_add(entry.len()), EhFrameOffset(entry.offset())));
            }
            all.sort_unstable_by_key(|(start, ..)| *start);
            all
        };
        let all = self.entries.get_or_init(read);
        let after = all.partition_point(|(start, ..)| *start <= address);
        all[..after].last().filter(|(_, end, _)| address < *end).copied()
    }

    fn rule(&self, address: u64) -> Option<Rule> {
        let (section, bases) = self.section();
        let (.., at) = self.entry(address)?;
        let entry = section.fde_from_offset(&bases, at, EhFrame::cie_from_offset).ok()?;
        let mut context = UnwindContext::new();
        let row = entry.unwind_info_for_address(&section, &bases, &mut context, address).ok()?;
        let (register, offset) = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => (*register, *offset),
            CfaRule::Expression(_) => return None,
        };
        let saved = |register| match row.register(register) {
            Some(RegisterRule::Offset(offset)) => Some(offset),
            _ => None,
        };
        let (frame, back) = (saved(FRAME), saved(RETURN));
        [FRAME, STACK].contains(&register).then_some(Rule { register, offset, frame, back })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modules_file_is_read_once_until_the_program_has_other_code() {
        let path = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
        let module = Module { path, start: 0x1000, end: 0x3000, bias: 0 };
        let mut callers = Callers::new(vec![module.clone()], Vec::new());
        let (_, first) = callers.file(0x1000).unwrap();
        assert!(Rc::ptr_eq(&first, &callers.file(0x2000).unwrap().1));
        assert!(callers.file(0x3000).is_none());
        callers.set(vec![module]);
        assert!(!Rc::ptr_eq(&first, &callers.file(0x1000).unwrap().1));
    }

    /// This test's own file has tables and symbols.
    #[test]
    fn a_file_says_how_to_go_up_from_an_address() {
        let file = Unwound::open(&std::env::current_exe().unwrap()).unwrap();
        let (start, end, _) = *file
            .functions
            .iter()
            .find(|(start, ..)| {
                let name = file.function(start + 1).unwrap_or_default();
                name.contains("a_file_says_how_to_go_up_from_an_address")
            })
            .unwrap();
        assert!(start < end && !file.is_foreign(start + 1));
        // At its first instruction the return address lies on top of the stack, or is in a register.
        let is_on_stack = Registers::default().link().is_none();
        let (canonical, back) = if is_on_stack { (0x1008, Some(0x1000)) } else { (0x1000, None) };
        let step = file.step(start, 0x1000, 0x2000, !is_on_stack).unwrap();
        assert_eq!((step.canonical, step.frame, step.back), (canonical, None, back));
    }
}
