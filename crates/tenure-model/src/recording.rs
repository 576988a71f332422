//! What the threads of a program did to cache lines, as an instrument recorded it.

use std::ops::Range;

use crate::{Access, Ended, Run, TimeCause};

/// What a run recorded, of all its processes.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// How the program ended.
    pub ended: Ended,
    /// Time from its start to its end.
    pub seconds: f64,
    /// Processor time of the program and its children, system time included.
    pub cpu_seconds: f64,
    /// Those that contain instrumented code, in the order of their process numbers.
    pub processes: Vec<Process>,
}

impl Recording {
    /// Accesses to contended lines.
    #[must_use]
    pub fn contended(&self) -> u64 {
        let lines = self.processes.iter().flat_map(|process| &process.lines);
        lines.flat_map(|line| &line.entries).map(|entry| entry.count).sum()
    }

    /// The head of a report on it, in which nothing is missing or in doubt.
    #[must_use]
    pub fn head(&self, command: &str) -> Run {
        let threads = self.processes.iter().map(|process| process.threads.len() as u64).sum();
        let (missing, doubts) = Default::default();
        Run {
            command: command.to_owned(),
            ended: self.ended,
            seconds: self.seconds,
            processes: self.processes.len() as u64,
            threads,
            cpus: None,
            accesses: self.contended(),
            contended: self.contended(),
            dropped: 0,
            missing,
            left_out: 0,
            doubts,
            time: None,
            watched: None,
            forecast: None,
            predicting: None,
            pattern: None,
        }
    }
}

/// A process image: what one `exec`, or one `fork`, began.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its program's file.
    pub program: Option<String>,
    /// The program and its libraries.
    pub modules: Vec<Module>,
    /// Code outside of these that has a name, as far as it is needed.
    pub functions: Vec<Function>,
    /// Its threads, in the order of their first accesses.
    pub threads: Vec<Thread>,
    /// Contended ones.
    pub lines: Vec<Line>,
    /// Bytes of a line.
    pub line_bytes: u32,
    /// Time from its first record to its end.
    pub seconds: f64,
    /// Nanoseconds that recording adds to an access to memory that a thread has to itself.
    pub access_ns: f64,
    /// Accesses and records that found no room.
    pub dropped: u64,
    /// Whether nothing was recorded since the address space for it was refused.
    pub refused: bool,
    /// Whether several threads worked, and never two at the same time.
    pub one_at_a_time: bool,
    /// What its threads did beside running; `None` if that was not asked for.
    pub waits: Option<Waits>,
}

/// What threads did beside running, as all of them were asked several times a second.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Waits {
    /// How often they were asked.
    pub ticks: u64,
    /// CPUs that the process may use.
    pub cpus: f64,
    /// CPUs that it used, on average.
    pub used: f64,
    /// CPUs that threads would have used but for other programs, on average.
    pub taken_by_others: f64,
    /// The share of the processor time that the kernel took.
    pub kernel: f64,
    /// What the kernel did, where that may be sampled.
    pub kernel_work: Vec<KernelWork>,
    /// Where the program itself worked.
    pub own_work: Vec<WorkPlace>,
    /// Threads that waited for a CPU, on average, without those that other programs let wait.
    pub queued: f64,
    /// Their share of the threads' time.
    pub without_cpu: f64,
    /// Why it left CPUs to others, or idle.
    pub reasons: Vec<WaitReason>,
}

/// System calls by which a program takes memory from the kernel, changes what may be done with it, and gives it back.
pub const MEMORY_CALLS: [&str; 6] = ["mmap", "munmap", "mprotect", "madvise", "mremap", "brk"];

/// What the kernel did for threads.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelWork {
    /// The system call.
    pub call: String,
    /// A lock or other threads, if it let threads wait for those or woke them.
    pub cause: Option<TimeCause>,
    /// The return address in the program's own code.
    pub code: Option<u64>,
    /// How often a thread was met in it.
    pub samples: u64,
}

/// A place at which the program worked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkPlace {
    /// An address in its own code, or the return address there of a library's.
    pub code: u64,
    /// The return address in the function that called this one, if the stack told it.
    pub caller: Option<u64>,
    /// How often a thread was met there.
    pub samples: u64,
}

/// A place at which threads slept while a CPU was idle.
#[derive(Debug, Clone, PartialEq)]
pub struct WaitReason {
    /// What they waited for.
    pub cause: TimeCause,
    /// The system call, and what it was about: `read of a pipe`.
    pub call: String,
    /// The word that they waited for a change of.
    pub word: Option<u64>,
    /// The return address in the program's own code.
    pub code: Option<u64>,
    /// The CPUs that it left for this reason, on average.
    pub cpus: f64,
    /// [`Thread::id`] of the one that held the lock most often.
    pub holder: Option<u32>,
    /// An address in the code that this was in.
    pub holder_code: Option<u64>,
}

/// A program or library that was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its file.
    pub path: String,
    /// Its first address.
    pub start: u64,
    /// One past its last address.
    pub end: u64,
    /// What was added to the addresses in the file.
    pub bias: u64,
}

/// A function that the process has compiled itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its first address.
    pub start: u64,
    /// One past its last address.
    pub end: u64,
    /// Path as the compiler was given it.
    pub name: String,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Thread {
    /// Number from 1, in the order of first accesses.
    pub id: u32,
    /// Name as the kernel has it.
    pub name: String,
    /// The function that it runs, or 0.
    pub routine: u64,
    /// All accesses to memory.
    pub accesses: u64,
    /// Nanoseconds from its first access to its end, or to the end of the recording.
    pub lived: u64,
    /// Processor time in nanoseconds, to its end or to when it was last seen; 0 if it was not.
    pub cpu: u64,
    /// Nanoseconds for which it could have run and had no CPU, as far as that was seen.
    pub delayed: u64,
    /// The addresses of its stack; none if they are not known.
    pub stack: Range<u64>,
    /// What accesses to contended lines took of it, with what recording them took, in nanoseconds.
    pub waited: u64,
    /// Nanoseconds from accesses to contended lines to the next, with what recording the others took.
    pub between: u64,
    /// The same where it was long enough for the thread to have slept, which may be a part of it.
    pub long_between: u64,
    /// Nanoseconds that recording took beside accesses.
    pub recording: u64,
}

/// A line that threads contend for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Line {
    /// Where it lies.
    pub address: u64,
    /// The object it is part of, if it was seen being allocated.
    pub allocation: Option<Allocation>,
    /// What was done to it.
    pub entries: Vec<Entry>,
    /// What could have happened to it.
    pub possible: Possible,
    /// What samples and breakpoints showed, where these were all that there was.
    pub watched: Option<Watched>,
}

/// What was seen of a line from outside.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Watched {
    /// Samples of threads that had just touched it.
    pub samples: u64,
    /// Those of threads that polled it and paused in between.
    pub polled: u64,
    /// All samples of the program of which it is known what they touched, if anything.
    pub of: u64,
    /// How often breakpoints were set on it in other threads.
    pub probes: u64,
    /// The probes that met a thread other than the one sampled, on another CPU unless there is only one.
    pub met: u64,
    /// The share of the time that could be seen which it cost, at most.
    pub cost: f64,
}

impl Thread {
    /// What an access to a thread's own memory takes at least, in nanoseconds.
    const ACCESS_NS: f64 = 0.3;
    /// Time by which each call makes the program itself slower: its registers are saved. In axum's router it is 0.6 ns.
    const CALL_NS: f64 = 0.5;

    /// Nanoseconds that recording took of its processor time for so many accesses, if it adds so many to one, and beside accesses.
    #[must_use]
    pub fn recorded(&self, accesses: u64, access_ns: f64) -> f64 {
        // Nothing is recorded of a program that is watched unmodified.
        let access = if access_ns > 0.0 { access_ns + Self::CALL_NS } else { 0.0 };
        accesses as f64 * access + self.recording as f64
    }

    /// Nanoseconds that so many of its accesses take at least.
    #[must_use]
    pub fn least(accesses: u64) -> f64 {
        accesses as f64 * Self::ACCESS_NS
    }

    /// Nanoseconds of processor time without what recording took; `None` if its processor time is not known.
    #[must_use]
    pub fn ran(&self, access_ns: f64) -> Option<f64> {
        /// Recording seldom makes a thread slower than this: what is left of less is noise.
        const MAX_SLOWED: f64 = 20.0;
        let least = Self::least(self.accesses).max(self.cpu as f64 / MAX_SLOWED);
        (self.cpu > 0)
            .then(|| (self.cpu as f64 - self.recorded(self.accesses, access_ns)).max(least))
    }
}

impl Line {
    /// Where it starts in its object; its address if no allocation was seen.
    #[must_use]
    pub fn start(&self) -> i64 {
        match &self.allocation {
            Some(allocation) => allocation.line_offset,
            None => self.address.cast_signed(),
        }
    }

    /// Where the object starts that it is part of.
    #[must_use]
    pub fn object(&self) -> Option<u64> {
        let offset = self.allocation.as_ref()?.line_offset;
        Some(self.address.wrapping_sub(offset.cast_unsigned()))
    }
}

/// Where an object comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// Bytes asked for.
    pub size: u64,
    /// Bytes from the object's start to the line's; negative if the line starts before the object.
    pub line_offset: i64,
    /// Return addresses, the innermost first; none if the call was not seen.
    pub stack: Vec<u64>,
    /// Objects of this origin that were at this place of a line, one after the other.
    pub objects: u64,
    /// The object's type, if that is what is known of it in place of a stack.
    pub type_name: Option<String>,
}

/// The return addresses of the calls that led to a use, in the program's own code, the innermost first; 0 where none is known.
pub type UseCallers = [u64; 2];

/// How often one thread did one thing to one place by one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// [`Thread::id`].
    pub thread: u32,
    /// Offset from the line's start, in bytes.
    pub offset: u8,
    /// Bytes.
    pub size: u8,
    /// What it does.
    pub access: Access,
    /// The address after the instruction.
    pub code: u64,
    /// The calls that led to its function, as a stack had them.
    pub callers: UseCallers,
    /// Times.
    pub count: u64,
    /// How long the thread was then away from the line, for some of these accesses.
    pub gaps: Gaps,
}

/// Times from an access to a line until the thread was back there, as far as they were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gaps {
    /// How many.
    pub count: u64,
    /// Sum over all of them. At most 20,000 of a gap count, and none that long after what takes a lock: its thread may have
    /// slept, and a lock is not held while its holder waits for a condition.
    pub nanoseconds: u64,
}

impl Gaps {
    /// Takes in those of others who do the same.
    pub fn add(&mut self, others: Self) {
        self.count += others.count;
        self.nanoseconds += others.nanoseconds;
    }

    /// Nanoseconds of one, on average; `None` if none was taken.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.nanoseconds as f64 / self.count as f64)
    }
}

/// How often a line could have changed hands: what happened to happen says little on a busy machine.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Possible {
    /// Changes of ownership if the threads of each bucket of time had met at their worst.
    pub changes: u64,
    /// The changes that threads would need even if each word had a line of its own.
    pub same_word: u64,
    /// The same as `changes`, with at most as many as a machine can make in that time.
    pub capped: u64,
    /// Buckets with changes.
    pub buckets: u32,
}
