//! The caller of a function that is not the program's: of a lock's, or of the memory allocator's.
//!
//! The kernel copies the top of the stack with each sample. The unwinding tables of the module say where in it the return
//! address is. Functions of the C and C++ libraries are known by their files, those of Rust's and of locks by their
//! symbols.

use std::fs::File;
use std::path::Path;
use std::rc::Rc;

use gimli::{
    BaseAddresses, CfaRule, EhFrame, LittleEndian, Register, RegisterRule, UnwindContext,
    UnwindSection as _,
};
use object::{Object as _, ObjectSection as _, ObjectSymbol as _, SymbolKind};
use rustc_hash::FxHashMap;
use tenure_contend::find::Programs;
use tenure_contend::record::Module;

use crate::sys::{Registers, Sample};

/// Calls that are gone up, at most.
const MOST: usize = 6;

/// Files of libraries that offer locks and memory.
const LIBRARIES: [&str; 9] = [
    "libc.so",
    "libc-",
    "libpthread",
    "ld-linux",
    "libstdc++",
    "libgcc_s",
    "libjemalloc",
    "libtcmalloc",
    "libmimalloc",
];

/// What their functions' names begin with where they are linked into the program.
const FUNCTIONS: [&str; 17] = [
    "std::",
    "core::",
    "alloc::",
    "parking_lot",
    "lock_api::",
    "__rust_",
    "__rustc",
    "pthread_",
    "__pthread_",
    "___pthread_",
    "__lll_",
    "malloc",
    "free",
    "calloc",
    "realloc",
    "_int_",
    "_ZNSt",
];

/// The modules of a process, as far as they were asked.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    modules: Vec<Module>,
    files: FxHashMap<String, Rc<Unwound>>,
    /// By address: whether the function there is not the program's.
    foreign: FxHashMap<u64, bool>,
    programs: Programs,
}

/// What a module's file says.
#[derive(Debug, Default)]
struct Unwound {
    /// `.eh_frame`, and where it lies.
    frames: (u64, Vec<u8>),
    /// Functions that are not the program's, by address.
    foreign: Vec<(u64, u64)>,
    is_library: bool,
}

impl Callers {
    pub(crate) fn set(&mut self, modules: Vec<Module>) {
        self.modules = modules;
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.modules.is_empty()
    }

    /// The return address in the program's own code, if a sample was taken in a function that is not the program's.
    pub(crate) fn caller(&mut self, sample: &Sample) -> Option<u64> {
        if !self.is_foreign(sample.ip) {
            return None;
        }
        let registers = sample.registers.as_ref()?;
        let (mut code, mut stack) = (sample.ip, registers.0[Registers::SP]);
        let mut frame = registers.0[Registers::BP];
        for _ in 0..MOST {
            let (module, file) = self.file(code)?;
            let inside = code.wrapping_sub(module.bias);
            let step = file.step(inside, stack, frame)?;
            let word = |address: u64| {
                let at = address.checked_sub(registers.0[Registers::SP])? / 8;
                sample
                    .stack
                    .get(usize::try_from(at).ok()?)
                    .copied()
                    .filter(|_| address.is_multiple_of(8))
            };
            let back = word(step.canonical - 8)?;
            if let Some(saved) = step.frame {
                frame = word(saved)?;
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

    fn is_foreign(&mut self, code: u64) -> bool {
        if let Some(known) = self.foreign.get(&code) {
            return *known;
        }
        let is_foreign = self.file(code).is_some_and(|(module, file)| {
            let inside = code.wrapping_sub(module.bias);
            // What the program passes to a library may be inlined there.
            file.is_foreign(inside)
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

/// From a function to its caller.
struct Step {
    /// The stack pointer before the call.
    canonical: u64,
    /// Where the caller's `rbp` was saved.
    frame: Option<u64>,
}

impl Unwound {
    fn open(path: &Path) -> Option<Self> {
        let cache = object::ReadCache::new(File::open(path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        let section = file.section_by_name(".eh_frame");
        let frames = section.and_then(|it| Some((it.address(), it.data().ok()?.to_vec())));
        let name = path.file_name()?.to_str()?;
        let is_library = LIBRARIES.iter().any(|it| name.starts_with(it));
        let is_named = |name: &str| {
            let name = rustc_demangle::demangle(name).to_string();
            let name = name.trim_start_matches(['<', '&', '*', '(', ' ']);
            FUNCTIONS.iter().any(|start| name.starts_with(start))
        };
        let symbols = file.symbols().filter(|_| !is_library);
        let mut foreign: Vec<_> = symbols
            .filter(|it| it.kind() == SymbolKind::Text && it.name().is_ok_and(is_named))
            .map(|it| (it.address(), it.address() + it.size()))
            .collect();
        foreign.sort_unstable();
        Some(Self { frames: frames.unwrap_or_default(), foreign, is_library })
    }

    fn is_foreign(&self, address: u64) -> bool {
        // A return address may be the function's end.
        let address = address.saturating_sub(1);
        let behind = self.foreign.partition_point(|(start, _)| *start <= address);
        self.is_library || self.foreign[..behind].last().is_some_and(|(_, end)| address < *end)
    }

    fn step(&self, address: u64, stack: u64, frame: u64) -> Option<Step> {
        const BP: Register = Register(6);
        const SP: Register = Register(7);
        let (start, bytes) = &self.frames;
        let section = EhFrame::new(bytes, LittleEndian);
        let bases = BaseAddresses::default().set_eh_frame(*start);
        let mut context = UnwindContext::new();
        let row = section
            .unwind_info_for_address(&bases, &mut context, address, EhFrame::cie_from_offset)
            .ok()?;
        let canonical = match row.cfa() {
            CfaRule::RegisterAndOffset { register: SP, offset } => {
                stack.wrapping_add_signed(*offset)
            }
            CfaRule::RegisterAndOffset { register: BP, offset } => {
                frame.wrapping_add_signed(*offset)
            }
            _ => return None,
        };
        let frame = match row.register(BP) {
            Some(RegisterRule::Offset(offset)) => Some(canonical.wrapping_add_signed(offset)),
            _ => None,
        };
        Some(Step { canonical, frame })
    }
}
