//! Names for addresses of a process.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::SystemTime;

use tenure_code::{MachineCode, Pointed, StoredConstant};
use tenure_debuginfo::names;
use tenure_debuginfo::program::{AllocatedBlock, AllocationAccess, Frame, Object, Program};
use tenure_model::{Code, Origin};
use wildmatch::WildMatchPattern;

use super::source::SourceFiles;

use tenure_model::recording::{Function, Module, UseCallers};

/// The programs and libraries of a run, each opened once.
#[derive(Debug, Default)]
pub struct Programs {
    open: RefCell<HashMap<String, Option<Rc<MachineCode>>>>,
    /// Functions that are passed over to those who call them, with `*` for anything.
    through: Vec<String>,
    /// Answers by file and address in it.
    pointed: RefCell<HashMap<FileAddress, Rc<[Pointed]>>>,
    frames: RefCell<HashMap<FileAddress, Rc<[Frame]>>>,
}

/// Callers that a report shows, at most.
const MAX_CALLERS: usize = 2;

type FileAddress = (String, u64);

/// The object that most of a line's accesses are to, by the line's address.
pub(crate) type KnownObjects = HashMap<u64, (Rc<MachineCode>, Object)>;

impl Programs {
    /// Programs in which these functions are passed over to those who call them, as wrappers of locks and allocators are. `*` in
    /// a name stands for anything.
    #[must_use]
    pub fn through(functions: Vec<String>) -> Self {
        Self { through: functions, ..Self::default() }
    }

    /// Functions at return addresses of a file that is not read, the innermost first.
    #[cfg(test)]
    pub(crate) fn with_frames(
        path: &str,
        frames: impl IntoIterator<Item = (u64, Vec<Frame>)>,
    ) -> Self {
        let frames = frames.into_iter().map(|(at, frames)| ((path.to_owned(), at), frames.into()));
        Self { frames: RefCell::new(frames.collect()), ..Self::default() }
    }

    /// Whether a function is passed over.
    #[must_use]
    pub fn passes_over(&self, function: &str) -> bool {
        let is_it = |pattern: &String| {
            let matches =
                |pattern: &str| WildMatchPattern::<'*', '\0'>::new(pattern).matches(function);
            matches(pattern) || matches(&format!("*::{pattern}"))
        };
        names::is_wrapper(function) || self.through.iter().any(is_it)
    }

    /// Whether a frame is of the program, and no wrapper.
    fn shows(&self, frame: &Frame) -> bool {
        is_own(frame) && !self.passes_over(&frame.function)
    }

    /// A program by its path; `None` if it cannot be read.
    #[must_use]
    pub fn open(&self, path: &str) -> Option<Rc<MachineCode>> {
        let mut programs = self.open.borrow_mut();
        // A file without names, or that has gone, is no failure: the report has addresses then.
        let open = || Program::open(Path::new(path)).ok().map(|program| Rc::new(program.into()));
        programs.entry(path.to_owned()).or_insert_with(open).clone()
    }

    /// Whether code of a program, or what is inlined there, is the user's: not of a standard library.
    #[must_use]
    pub fn is_own(&self, path: &str, return_address: u64) -> bool {
        self.frames(path, return_address).iter().any(|frame| self.shows(frame))
    }

    /// The functions at a return address in a file, the innermost first; none if the file cannot be read.
    fn frames(&self, path: &str, return_address: u64) -> Rc<[Frame]> {
        let mut known = self.frames.borrow_mut();
        let find = || {
            let program = self.open(path);
            program.map(|it| it.program().frames(return_address)).unwrap_or_default().into()
        };
        Rc::clone(known.entry((path.to_owned(), return_address)).or_insert_with(find))
    }
}

/// The names of one process.
#[derive(Debug)]
pub(crate) struct ProcessNames<'a> {
    modules: &'a [Module],
    functions: &'a [Function],
    programs: &'a Programs,
    /// Path of the directory in which the command runs: files in it are named without it.
    here: String,
    codes: RefCell<HashMap<u64, Option<Code>>>,
    sources: SourceFiles,
    /// When each module was built.
    built: RefCell<HashMap<String, Option<SystemTime>>>,
    /// Objects that were not seen being allocated: see [`note_objects`](super::objects::note_objects).
    pub(crate) known: KnownObjects,
}

impl<'a> ProcessNames<'a> {
    pub(crate) fn new(
        modules: &'a [Module],
        functions: &'a [Function],
        programs: &'a Programs,
    ) -> Self {
        let here = std::env::current_dir().unwrap_or_default();
        let here = format!("{}/", here.display());
        Self {
            modules,
            functions,
            programs,
            here,
            codes: RefCell::default(),
            sources: SourceFiles::default(),
            built: RefCell::default(),
            known: KnownObjects::new(),
        }
    }

    /// The module that an address lies in, and the address in its file.
    fn module(&self, address: u64) -> Option<(&'a Module, u64)> {
        let module = self.modules.iter().find(|it| (it.start..it.end).contains(&address))?;
        Some((module, address.wrapping_sub(module.bias)))
    }

    fn program(&self, address: u64) -> Option<(Rc<MachineCode>, u64)> {
        let (module, inside) = self.module(address)?;
        Some((self.programs.open(&module.path)?, inside))
    }

    /// Whether the address is part of a program or library.
    pub(crate) fn is_static(&self, address: u64) -> bool {
        self.module(address).is_some()
    }

    /// The place in the source that a return address belongs to: the innermost that is not of a standard library.
    pub(crate) fn code(&self, address: u64) -> Option<Code> {
        if let Some(known) = self.codes.borrow().get(&address) {
            return known.clone();
        }
        let code = self.frame(address).map(|(frame, _)| self.code_of(&frame, address));
        let code = code.or_else(|| self.unnamed(address));
        self.codes.borrow_mut().insert(address, code.clone());
        code
    }

    /// Code without debugging information and symbols: by what compiled it, or by its place in a file or in memory.
    fn unnamed(&self, address: u64) -> Option<Code> {
        let inside = address.checked_sub(1)?;
        let of = |it: &&Function| (it.start..it.end).contains(&inside);
        let function = match (self.functions.iter().find(of), self.module(address)) {
            (Some(function), _) => function.name.clone(),
            (None, Some((module, inside))) => {
                let file = module.path.rsplit('/').next().unwrap_or_default();
                format!("{file}+{inside:#x}")
            }
            (None, None) => format!("{address:#x}"),
        };
        Some(Code { function, ..Code::default() })
    }

    /// Whether code is Rust.
    fn is_rust(&self, address: u64) -> bool {
        let line = self.code(address).and_then(|code| code.line);
        line.is_some_and(|line| line.split(':').next().is_some_and(|file| file.ends_with(".rs")))
    }

    /// Whether code is Rust, or of Go's runtime, and does no atomic operation: a plain access.
    pub(crate) fn has_no_races(&self, address: u64) -> bool {
        let is_atomic = || self.frames(address).first().is_some_and(is_atomic);
        (self.is_rust(address) || self.is_of_go_runtime(address)) && !is_atomic()
    }

    /// Whether code is part of Go's runtime: what it writes plainly belongs to the processor, a word of Go's for a place
    /// to run goroutines, that its thread has for a while.
    fn is_of_go_runtime(&self, address: u64) -> bool {
        self.frames(address).first().is_some_and(is_of_go_runtime)
    }

    /// The frame to show, and whether it is the user's.
    fn frame(&self, address: u64) -> Option<(Frame, bool)> {
        shown(&self.frames(address), |frame| self.programs.shows(frame))
    }

    /// The functions at a return address, the innermost first.
    fn frames(&self, address: u64) -> Rc<[Frame]> {
        let module = self.module(address);
        module.map(|(it, inside)| self.programs.frames(&it.path, inside)).unwrap_or_default()
    }

    /// The functions at a return address that do more than one atomic operation, the innermost first.
    pub(crate) fn functions(&self, address: u64) -> Vec<Frame> {
        self.frames(address).iter().filter(|frame| !is_atomic(frame)).cloned().collect()
    }

    /// The function of another module that the call before an address calls.
    pub(crate) fn called(&self, address: u64) -> Option<String> {
        let (program, inside) = self.program(address)?;
        program.called(inside).map(str::to_owned)
    }

    /// The constant that the code before an address stores.
    pub(crate) fn stored(&self, address: u64, is_atomic: bool) -> Option<StoredConstant> {
        let (program, inside) = self.program(address)?;
        program.stored(inside, is_atomic)
    }

    /// Whether the code after a call uses what it returned; `None` where that cannot be told.
    pub(crate) fn uses_result(&self, address: u64) -> Option<bool> {
        let (program, inside) = self.program(address)?;
        let uses = program.uses_result(inside)?;
        // Without optimisation core's own functions pass all results on.
        let is_of_core = || self.frames(address).last().is_some_and(is_atomic);
        (!(uses && is_of_core())).then_some(uses)
    }

    /// What the instruction that ends at an address accesses.
    pub(crate) fn pointed(&self, code: u64) -> Option<(Rc<MachineCode>, Rc<[Pointed]>)> {
        let (module, inside) = self.module(code)?;
        let program = self.programs.open(&module.path)?;
        let mut known = self.programs.pointed.borrow_mut();
        let pointed = known
            .entry((module.path.clone(), inside))
            .or_insert_with(|| program.pointed(inside).into());
        Some((program, Rc::clone(pointed)))
    }

    /// The callers of the function of [`code`](Self::code), the innermost first: those that it is inlined into, and then those at
    /// the return addresses `from`.
    pub(crate) fn callers(&self, address: u64, from: UseCallers) -> Vec<Code> {
        let inlined = self.callers_at(address).into_iter().skip(1);
        let called =
            from.into_iter().filter(|back| *back != 0).flat_map(|back| self.callers_at(back));
        inlined.chain(called).take(MAX_CALLERS).collect()
    }

    /// The program's functions at a return address, the innermost first. Without debugging information it is the symbol's.
    fn callers_at(&self, address: u64) -> Vec<Code> {
        let frames = self.frames(address);
        let is_shown = |frame: &&Frame| match frames.len() {
            1 if frame.file.is_none() => !self.programs.passes_over(&frame.function),
            _ => self.programs.shows(frame),
        };
        frames.iter().filter(is_shown).map(|frame| self.code_of(frame, address)).collect()
    }

    /// When the module was built that an address lies in.
    fn built(&self, address: u64) -> Option<SystemTime> {
        let (module, _) = self.module(address)?;
        let modified = || fs::metadata(&module.path).ok()?.modified().ok();
        let mut built = self.built.borrow_mut();
        *built.entry(module.path.clone()).or_insert_with(modified)
    }

    fn code_of(&self, frame: &Frame, address: u64) -> Code {
        let line = frame.file.as_ref().map(|file| {
            let file = file.strip_prefix(&self.here).unwrap_or(file);
            match frame.line {
                0 => file.to_owned(),
                line => format!("{file}:{line}"),
            }
        });
        let source = frame
            .file
            .as_ref()
            .and_then(|file| self.sources.line(file, frame.line, self.built(address)));
        Code { function: frame.function.clone(), line, source }
    }

    /// The innermost call of a stack that is not a standard library's.
    pub(crate) fn caller(&self, stack: &[u64]) -> Option<Code> {
        let frame = |address: &u64| Some((self.frame(*address)?, *address));
        let frames: Vec<_> = stack.iter().filter_map(frame).collect();
        let own = frames.iter().find(|((_, is_own), _)| *is_own);
        // Without debugging information there is no telling.
        let unknown = || frames.iter().find(|((frame, _), _)| frame.file.is_none());
        own.or_else(unknown).map(|((frame, _), address)| self.code_of(frame, *address))
    }

    /// The function that an address is the start of.
    pub(crate) fn function(&self, address: u64) -> Option<String> {
        let frames = self.frames(address + 1);
        frames.last().filter(|frame| is_own(frame)).map(|frame| frame.function.clone())
    }

    /// The variable at an address, and the address in its file.
    pub(crate) fn variable(&self, address: u64) -> Option<(Rc<MachineCode>, Object, u64)> {
        let (program, inside) = self.program(address)?;
        let object = program.program().variable(inside)?;
        Some((program, object, inside))
    }

    /// The type of an allocation, by what accesses it (code, offset, bytes) and the call that made it.
    pub(crate) fn allocation(
        &self,
        accesses: &[(u64, u64, u8)],
        block: &AllocatedBlock<'_>,
    ) -> Option<(Rc<MachineCode>, Object)> {
        // The module with the most of the accesses is asked; its types are those that its code uses.
        let mut counts: HashMap<&str, (usize, u64)> = HashMap::new();
        for (code, ..) in accesses {
            if let Some((module, _)) = self.module(*code) {
                let known = counts.entry(&module.path).or_insert((0, module.bias));
                known.0 += 1;
            }
        }
        let (path, (_, bias)) = counts.into_iter().max_by_key(|(_, (count, _))| *count)?;
        let program = self.programs.open(path)?;
        let inside = |address: u64| {
            self.module(address).filter(|(module, _)| module.path == path)?;
            Some(address.wrapping_sub(bias))
        };
        let accesses: Vec<_> = accesses
            .iter()
            .filter_map(|&(code, offset, size)| {
                Some(AllocationAccess { code: inside(code)?, offset, size })
            })
            .collect();
        let stack: Vec<_> = block.stack.iter().filter_map(|address| inside(*address)).collect();
        let object = program.allocation(&accesses, &AllocatedBlock { stack: &stack, ..*block })?;
        Some((program, object))
    }
}

/// The function to show of those at an address, the innermost first, and whether it is the user's.
fn shown(frames: &[Frame], shows: impl Fn(&Frame) -> bool) -> Option<(Frame, bool)> {
    let own = frames.iter().position(shows);
    // A function of the language's libraries says more than what it calls: `Mutex::lock`, not `atomic_compare_exchange`.
    let shown = own.or(frames.len().checked_sub(1))?;
    Some((frames[shown].clone(), own.is_some()))
}

/// Whether a frame is one of core's or libstdc++'s functions that do one atomic operation.
fn is_atomic(frame: &Frame) -> bool {
    const FILES: [&str; 3] = ["sync/atomic.rs", "bits/atomic_base.h", "/atomic"];
    let is_one = |file: &String| FILES.iter().any(|end| file.ends_with(end));
    !is_own(frame) && frame.file.as_ref().is_some_and(is_one)
}

fn is_of_go_runtime(frame: &Frame) -> bool {
    let is_there = |file: &String| file.contains("/src/runtime/") && file.ends_with(".go");
    frame.file.as_ref().is_some_and(is_there) && frame.function.starts_with("runtime.")
}

/// Whether a frame is of the program or a dependency, and not of a system's header or of the language's libraries.
fn is_own(frame: &Frame) -> bool {
    let Some(file) = &frame.file else { return false };
    // Locks that stand in for std's.
    let of_locks = ["/parking_lot-", "/parking_lot_core-", "/lock_api-"];
    Origin::of_file(file) != Origin::Standard
        && !file.starts_with("/usr/include/")
        && !of_locks.iter().any(|package| file.contains(package))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_the_functions_at_an_address_the_innermost_of_the_program_is_shown() {
        let frame = |(function, file): &(&str, &str)| Frame {
            function: (*function).to_owned(),
            file: Some((*file).to_owned()),
            line: 1,
        };
        let atomic = ("atomic_compare_exchange", "/rustc/1a2b/library/core/src/sync/atomic.rs");
        let lock = ("Mutex::lock", "/rustc/1a2b/library/std/src/sync/mutex.rs");
        let wrapper = ("leveldb::port::Mutex::Lock", "port/port_stdcxx.h");
        let table = ("RawTable::find", "/rust/deps/hashbrown-0.15.2/src/raw.rs");
        let header = ("boost::lockfree::push", "/usr/include/boost/lockfree/queue.hpp");
        let entry = ("DashMap::entry", "/root/.cargo/registry/src/index/dashmap-5.5.3/src/lib.rs");
        let core =
            ("RawMutex::lock", "/root/.cargo/registry/src/index/parking_lot-0.12.1/src/a.rs");
        let pool = ("server::Pool::take", "src/pool.rs");
        let (get, run) = (("Session::get", "src/session.rs"), ("run", "src/main.rs"));
        for (frames, expected) in [
            (&[atomic, lock, get, run][..], Some(("Session::get", true))),
            (&[atomic, lock], Some(("Mutex::lock", false))),
            (&[lock, wrapper, pool, run], Some(("run", true))),
            (&[table, get], Some(("Session::get", true))),
            (&[header, get], Some(("Session::get", true))),
            (&[entry, get], Some(("DashMap::entry", true))),
            (&[core, get], Some(("Session::get", true))),
            (&[lock, wrapper], Some(("leveldb::port::Mutex::Lock", false))),
            (&[], None),
        ] {
            let programs = Programs::through(vec!["Pool::*".to_owned()]);
            let shows = |frame: &Frame| programs.shows(frame);
            let frames: Vec<Frame> = frames.iter().map(frame).collect();
            let shown = shown(&frames, shows);
            let shown = shown.as_ref().map(|(frame, is_own)| (&*frame.function, *is_own));
            assert_eq!(shown, expected);
        }
        assert!(is_atomic(&frame(&atomic)) && !is_atomic(&frame(&lock)));
        let schedule = ("runtime.execute", "/usr/local/go/src/runtime/proc.go");
        let of_user = ("main.execute", "/home/me/src/runtime/proc.go");
        assert!(is_of_go_runtime(&frame(&schedule)) && !is_of_go_runtime(&frame(&of_user)));
    }

    #[test]
    fn the_functions_at_an_address_of_a_file_are_searched_once() {
        let path = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
        let programs = Programs::default();
        let program = programs.open(&path).unwrap();
        let address = program.program().function_named("are_searched_once").unwrap() + 1;
        let found = programs.frames(&path, address);
        assert!(!found.is_empty());
        assert_eq!(*found, program.program().frames(address));
        assert!(Rc::ptr_eq(&found, &programs.frames(&path, address)));
        assert_ne!(*found, *programs.frames(&path, 1));
        assert!(programs.frames("/nowhere", address).is_empty());
    }

    #[test]
    fn code_without_names_has_those_of_its_compiler_or_its_place() {
        let function =
            |start, name: &str| Function { start, end: start + 16, name: name.to_owned() };
        let path = "/nowhere/libz.so.1".to_owned();
        let modules = [Module { path, start: 0x1000, end: 0x2000, bias: 0x1000 }];
        let functions = [function(0x9000, "LazyCompile:*add server.js:10")];
        let programs = Programs::default();
        let names = ProcessNames::new(&modules, &functions, &programs);
        let named = |address| names.code(address).unwrap().function;
        assert_eq!(named(0x9010), "LazyCompile:*add server.js:10");
        assert_eq!(named(0x1234), "libz.so.1+0x234");
        assert_eq!(named(0x9011), "0x9011");
    }
}
