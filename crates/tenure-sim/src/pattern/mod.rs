//! Access patterns as data: who reads and writes which words, how often, and what a repair would gain.
//!
//! A [`Pattern`] needs no code to simulate. It says which words there are and where they lie (objects, offsets), and
//! what threads do to them (roles). It comes from a file (`docs/patterns.md` describes the format) or from code:
//!
//! ```
//! use tenure_model::Remedy;
//! use tenure_sim::Machine;
//! use tenure_sim::pattern::{self, Operation, Pattern, PatternObject, PatternRole};
//!
//! let mut session = Pattern::new("session");
//! let object = session.object(PatternObject::once("Session"));
//! let refs = session.word(object, "refs", 0, 8);
//! let limits = session.word(object, "limits", 16, 8);
//! session.role(
//!     PatternRole::pool("worker")
//!         .does(2.0, Operation::Add(refs)) // twice per iteration
//!         .does(3.0, Operation::Load(limits))
//!         .does(1.0, Operation::Work(200.0)), // nanoseconds, on nothing shared
//! );
//!
//! let machine = Machine::preset("xeon-2s-112")?;
//! let now = session.simulate(machine.simulation(16))?;
//! let repairs = pattern::repairs(&session);
//! let apart = repairs.iter().find(|repair| repair.remedy == Remedy::Apart).unwrap();
//! let then = apart.pattern.simulate(machine.simulation(16))?;
//! assert!(then.report.mops() > now.report.mops());
//! assert_eq!(apart.bytes, 64); // one more line for each `Session`
//! # Ok::<(), tenure_sim::SimulationError>(())
//! ```
//!
//! # What is simulated
//!
//! Each thread does its role's steps in order, again and again. A step that is done 0.01 times per iteration is done
//! in every hundredth one, in other iterations by other threads. An iteration uses one copy of each object: the
//! thread's own, the next, or one picked at random. An object begins at a line, or `phase` bytes after it; words may
//! straddle lines, and neighbouring copies may share one. No memory stands behind the addresses, so patterns can have any size.
//!
//! A compare-exchange loop loads the word and repeats until no other thread has written in between. A lock spins for a
//! while, then sleeps, as std's `Mutex` does.

mod check;
mod file;
mod layout;
mod play;
mod repair;

pub use play::{Prediction, RoleTime};
pub use repair::{Repaired, repairs, together};

use serde::{Deserialize, Serialize};

/// What the threads of a program do to the words that they share. The fields refer to each other by index.
#[derive(Debug, Clone, PartialEq)]
pub struct Pattern {
    /// Its name.
    pub name: String,
    /// What it is, in a sentence; may be empty.
    pub about: String,
    /// The pieces of memory.
    pub objects: Vec<PatternObject>,
    /// The words of the objects.
    pub words: Vec<PatternWord>,
    /// What threads do.
    pub roles: Vec<PatternRole>,
}

/// Bytes that lie together: a struct, an array's element, a static.
#[derive(Debug, Clone, PartialEq)]
pub struct PatternObject {
    /// Its name.
    pub name: String,
    /// How many there are, and which one a thread uses.
    pub copies: Copies,
    /// Bytes from one copy to the next. 0 where there is one.
    pub stride: usize,
    /// Bytes from a line's start to the first copy: 0 for an object that is aligned to a line.
    pub phase: usize,
}

/// How many copies of an object there are, and which one an iteration uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// One, which all threads share.
    Once,
    /// One for each thread that uses it: its own.
    PerThread,
    /// So many, of which each iteration picks one at random.
    Random(usize),
    /// So many, of which each iteration uses the next.
    InTurn(usize),
}

/// A word of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatternWord {
    /// Its name.
    pub name: String,
    /// The object, by its index.
    pub object: usize,
    /// Bytes from the object's beginning.
    pub offset: usize,
    /// Its size.
    pub bytes: usize,
    /// What its value is for.
    pub value: StoredValue,
}

/// What the value of a word is for. Repairs that would lose that do not apply: see [`repairs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StoredValue {
    /// The pattern does not say: whether a repair applies is for its author to judge.
    #[default]
    #[serde(skip)]
    Unknown,
    /// A statistic, which no thread acts on.
    Statistic,
    /// A number of references, which threads get and put: the last put ends the object.
    References,
    /// Another number that threads act on: a ticket, an index, a budget.
    Number,
    /// One of several states, or a pointer: no number.
    State,
    /// A lock that also guards words which the pattern does not have.
    Guard,
    /// A lock that hardly any thread takes to write: its readers let each other in.
    ReadLock,
    /// The same, which also guards words that the pattern does not have.
    ReadGuard,
    /// What a pool takes equal objects from and gives them back to: its lock, or its list.
    Pool,
    /// The lock of a table that threads look things up in by key.
    Table,
    /// A flag to which threads store the same value again and again, and publish nothing by it.
    Flag,
}

/// Threads that do the same.
#[derive(Debug, Clone, PartialEq)]
pub struct PatternRole {
    /// Its name.
    pub name: String,
    /// The role's part of the CPUs that are left when single threads have theirs. 0: a single thread.
    pub share: u32,
    /// One iteration.
    pub steps: Vec<PatternAccess>,
}

/// A step of an iteration.
#[derive(Debug, Clone, PartialEq)]
pub struct PatternAccess {
    /// How often per iteration; 0.01: in every hundredth.
    pub times: f64,
    /// What it does.
    pub operation: Operation,
}

/// What a step does. Words by their index.
#[derive(Debug, Clone, PartialEq)]
pub enum Operation {
    /// Nanoseconds of work on nothing shared, give or take a tenth.
    Work(f64),
    /// A load.
    Load(usize),
    /// A load of the word in every copy of its object.
    LoadAll(usize),
    /// A store.
    Store(usize),
    /// An atomic read-modify-write that cannot fail.
    Add(usize),
    /// A load, and compare-exchanges until one succeeds.
    CompareExchange(usize),
    /// A lock of the word, these steps, and its unlock.
    Lock(usize, Vec<PatternAccess>),
}

impl Pattern {
    /// A pattern without words and roles.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            about: String::new(),
            objects: Vec::new(),
            words: Vec::new(),
            roles: Vec::new(),
        }
    }

    /// Adds an object, and returns its index.
    pub fn object(&mut self, object: PatternObject) -> usize {
        self.objects.push(object);
        self.objects.len() - 1
    }

    /// Adds a word of an object, and returns its index.
    pub fn word(
        &mut self,
        object: usize,
        name: impl Into<String>,
        offset: usize,
        bytes: usize,
    ) -> usize {
        let value = StoredValue::Unknown;
        self.words.push(PatternWord { name: name.into(), object, offset, bytes, value });
        self.words.len() - 1
    }

    /// Adds a role.
    pub fn role(&mut self, role: PatternRole) {
        self.roles.push(role);
    }

    /// The least number of CPUs: one thread for each role.
    #[must_use]
    pub fn least_cpus(&self) -> usize {
        self.roles.len()
    }
}

impl PatternObject {
    /// An object that exists once.
    #[must_use]
    pub fn once(name: impl Into<String>) -> Self {
        Self { name: name.into(), copies: Copies::Once, stride: 0, phase: 0 }
    }

    /// An object of which there are several, `stride` bytes from each other.
    #[must_use]
    pub fn several(name: impl Into<String>, copies: Copies, stride: usize) -> Self {
        Self { name: name.into(), copies, stride, phase: 0 }
    }

    /// The same object where its first copy begins `phase` bytes after a line's start.
    #[must_use]
    pub fn at_phase(self, phase: usize) -> Self {
        Self { phase, ..self }
    }
}

impl PatternRole {
    /// A role of one thread, however many CPUs there are.
    #[must_use]
    pub fn single(name: impl Into<String>) -> Self {
        Self { name: name.into(), share: 0, steps: Vec::new() }
    }

    /// A role of as many threads as there are CPUs left. Several such roles share them equally; set
    /// [`share`](Self::share) for another ratio.
    #[must_use]
    pub fn pool(name: impl Into<String>) -> Self {
        Self { name: name.into(), share: 1, steps: Vec::new() }
    }

    /// Adds a step that is done so many times per iteration.
    #[must_use]
    pub fn does(mut self, times: f64, operation: Operation) -> Self {
        self.steps.push(PatternAccess { times, operation });
        self
    }
}

impl Operation {
    /// The word that it accesses.
    #[must_use]
    pub fn word(&self) -> Option<usize> {
        match *self {
            Self::Work(_) => None,
            Self::Load(word)
            | Self::LoadAll(word)
            | Self::Store(word)
            | Self::Add(word)
            | Self::CompareExchange(word)
            | Self::Lock(word, _) => Some(word),
        }
    }

    /// The steps of a critical section; none for everything else.
    #[must_use]
    pub fn inside(&self) -> &[PatternAccess] {
        match self {
            Self::Lock(_, inside) => inside,
            _ => &[],
        }
    }
}
