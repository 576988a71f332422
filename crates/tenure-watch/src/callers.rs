//! Finds from where in the program's own code a function was called: one of the program, of a lock or of the allocator.
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
use crate::goroutines;
use crate::sys::Sample;

/// Calls that are followed from one function of the program to the next, at most.
const MAX_CALLS: usize = 6;

/// The function that the kernel starts a program at.
const ENTRY_SYMBOL: &str = "_start";

/// Functions that no function of the program calls: Rust's is part of longer symbols.
const OUTERMOST: [&str; 2] = [ENTRY_SYMBOL, "main"];
const RUST_OUTERMOST: &str = "__rust_begin_short_backtrace";

/// The modules of a process, as far as they were asked.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    modules: Vec<Module>,
    files: RefCell<FxHashMap<String, Rc<Unwound>>>,
    /// Functions by return addresses.
    functions: FxHashMap<u64, KnownFunction>,
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
    is_go: bool,
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
        (self.files, self.functions) = Default::default();
    }

    /// Whether a return address is of a function of a library for C and C++.
    pub(crate) fn is_of_library(&self, code: u64) -> bool {
        self.file(code).is_some_and(|(_, file)| file.is_library)
    }

    /// The first return address in the program's own code, from an address on at which a sample found its thread.
    pub(crate) fn called_from(&mut self, ip: u64, sample: &Sample) -> Option<u64> {
        CallStack::new(ip, sample).own(0, self)
    }

    /// Whether an address lies in one of the modules.
    pub(crate) fn has(&self, code: u64) -> bool {
        self.modules.iter().any(|it| (it.start..it.end).contains(&code))
    }

    /// The function that a return address is of.
    pub(crate) fn name(&self, back: u64) -> Option<String> {
        let (module, file) = self.file(back)?;
        Some(names::demangled(&file.function(back.wrapping_sub(module.bias))?))
    }

    /// Whether an address is part of a function that has a symbol.
    pub(crate) fn is_named(&self, code: u64) -> bool {
        let named = |(module, file): (&Module, Rc<Unwound>)| {
            file.symbol(code.wrapping_sub(module.bias)).is_some()
        };
        self.file(code).is_some_and(named)
    }

    /// Where the function begins that an address is of.
    pub(crate) fn start(&self, code: u64) -> Option<u64> {
        let (module, file) = self.file(code)?;
        Some(file.start(code.wrapping_sub(module.bias))?.wrapping_add(module.bias))
    }

    /// Whether a return address is of a function that is not the program's.
    pub(crate) fn is_foreign(&mut self, code: u64) -> bool {
        self.function(code).is_foreign
    }

    /// What the function is that a return address is of.
    fn function(&mut self, code: u64) -> KnownFunction {
        if let Some(known) = self.functions.get(&code) {
            return *known;
        }
        let known = self.file(code).map_or_else(KnownFunction::default, |(module, file)| {
            let inside = code.wrapping_sub(module.bias);
            let symbol = file.function(inside).unwrap_or_default();
            let passes_over = || self.programs.passes_over(&names::function(&symbol));
            // What the program passes to a library may be inlined there.
            let is_own = || !file.is_library && self.programs.is_own(&module.path, inside);
            KnownFunction {
                is_foreign: symbol == ENTRY_SYMBOL
                    || !symbol.is_empty() && passes_over()
                    || file.is_foreign(inside) && !is_own(),
                is_outermost: OUTERMOST.iter().any(|name| *name == symbol)
                    || symbol.contains(RUST_OUTERMOST),
            }
        });
        self.functions.insert(code, known);
        known
    }

    /// Goes up a stack by one call: the return address, and the caller's frame.
    fn step(&self, at: &StackFrame, sample: &Sample) -> Option<(u64, StackFrame)> {
        let (module, file) = self.file(at.code)?;
        let inside = at.code.wrapping_sub(module.bias);
        let step = file.step(inside, at.stack, at.frame, at.link.is_some())?;
        let back = match step.back {
            Some(saved) => sample.word(saved)?,
            None => at.link?,
        };
        let back = code_address(back);
        let frame = match step.frame {
            Some(saved) => sample.word(saved)?,
            None => at.frame,
        };
        // The call, not what follows it.
        let code = back.checked_sub(1)?;
        // Only the innermost function has its return address in a register.
        Some((back, StackFrame { code, stack: step.canonical, frame, link: None }))
    }

    /// The module that an address lies in, and its file.
    fn file(&self, code: u64) -> Option<(&Module, Rc<Unwound>)> {
        let module = self.modules.iter().find(|it| (it.start..it.end).contains(&code))?;
        let mut files = self.files.borrow_mut();
        if let Some(file) = files.get(&module.path) {
            return Some((module, Rc::clone(file)));
        }
        let file = Rc::new(Unwound::open(Path::new(&module.path)).unwrap_or_default());
        files.insert(module.path.clone(), Rc::clone(&file));
        Some((module, file))
    }
}

/// What is known of a function.
#[derive(Debug, Clone, Copy, Default)]
struct KnownFunction {
    /// Whether it is not the program's own.
    is_foreign: bool,
    /// Whether no function of the program calls it: what a thread or the program begins with.
    is_outermost: bool,
}

/// A function that a thread is in, and where it goes on there.
#[derive(Debug)]
struct StackFrame {
    code: u64,
    stack: u64,
    /// The frame pointer.
    frame: u64,
    /// The return address, if a register has it.
    link: Option<u64>,
}

/// The calls that led to where a sample found its thread. They are searched as far as they are asked for.
#[derive(Debug)]
pub(crate) struct CallStack<'a> {
    sample: &'a Sample,
    /// Return addresses in the program's own code so far, the innermost first.
    own: Vec<u64>,
    /// The function to go up from; none where the stack ends, as far as it is known.
    top: Option<StackFrame>,
}

impl<'a> CallStack<'a> {
    /// The stack of a sample, from an address on.
    pub(crate) fn new(ip: u64, sample: &'a Sample) -> Self {
        let frame = |registers: &Registers| StackFrame {
            code: ip,
            stack: registers.0[Registers::SP],
            frame: registers.0[Registers::BP],
            link: registers.link(),
        };
        Self { sample, own: Vec::new(), top: sample.registers.as_ref().map(frame) }
    }

    /// A return address in the program's own code, by how many others are further inside.
    pub(crate) fn own(&mut self, which: usize, callers: &mut Callers) -> Option<u64> {
        while self.own.len() <= which {
            let back = self.next(callers)?;
            self.own.push(back);
        }
        Some(self.own[which])
    }

    fn next(&mut self, callers: &mut Callers) -> Option<u64> {
        for _ in 0..MAX_CALLS {
            let at = self.top.take()?;
            if callers.function(at.code.wrapping_add(1)).is_outermost {
                break;
            }
            let (back, caller) = callers.step(&at, self.sample)?;
            self.top = Some(caller);
            if !callers.is_foreign(back) {
                return callers.has(back).then_some(back);
            }
        }
        self.top = None;
        None
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
        let is_go = goroutines::is_go(&file);
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
        Some(Self { path, frames, functions, is_library, is_go, ..Self::default() })
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
        if self.is_go && self.frames.1.is_empty() {
            // It has frame pointers, and no such tables. Where others have none, that register may hold anything.
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
pub(crate) mod tests;
