//! What `/proc` says of a process.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use syscalls::Sysno;
use tenure_debuginfo::Error;
use tenure_model::recording::Module;

use crate::arch;

/// The text of a file whose size the kernel does not tell: by a third of the calls that [`fs::read_to_string`] makes.
pub(super) fn text(path: impl AsRef<Path>) -> io::Result<String> {
    let (mut file, mut bytes, mut length) = (File::open(path)?, vec![0; 4096], 0);
    loop {
        match file.read(&mut bytes[length..]) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if length == bytes.len() {
            bytes.resize(2 * length, 0);
        }
    }
    bytes.truncate(length);
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The CPUs that are there.
pub(crate) fn cpus() -> Vec<u32> {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let cpus = ranges(online.trim());
    if cpus.is_empty() { vec![0] } else { cpus }
}

/// `0-3,6`.
fn ranges(list: &str) -> Vec<u32> {
    list.split(',')
        .filter_map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            Some(first.parse().ok()?..=last.parse().ok()?)
        })
        .flatten()
        .collect()
}

/// Processor time of this process, or of this thread, so far.
pub(crate) fn own_time(of: UsageWho) -> Duration {
    let Ok(usage) = getrusage(of) else { return Duration::ZERO };
    let microseconds = (usage.user_time() + usage.system_time()).num_microseconds();
    Duration::from_micros(microseconds.cast_unsigned())
}

/// Processor time of this thread so far.
pub(crate) fn thread_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Nanoseconds that a thread has run.
pub(crate) fn ran_ns(pid: u32, tid: u32) -> Option<u64> {
    scheduled(pid, tid).map(|it| it.ran_ns)
}

/// What the scheduler says of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Scheduled {
    /// Nanoseconds that it has run.
    pub(crate) ran_ns: u64,
    /// Nanoseconds in which it could run and had no CPU.
    pub(crate) queued_ns: u64,
    /// How often it was given a CPU.
    pub(crate) turns: u64,
}

pub(crate) fn scheduled(pid: u32, tid: u32) -> Option<Scheduled> {
    let times = text(format!("/proc/{pid}/task/{tid}/schedstat")).ok()?;
    let mut times = times.split_ascii_whitespace().map(str::parse);
    let mut next = || times.next()?.ok();
    Some(Scheduled { ran_ns: next()?, queued_ns: next()?, turns: next()? })
}

/// What a thread does: `running`, or the system call that it sleeps in, with arguments, stack pointer and address.
pub(crate) fn system_call(pid: u32, tid: u32) -> Option<String> {
    text(format!("/proc/{pid}/task/{tid}/syscall")).ok()
}

/// The name of a system call.
pub(crate) fn call_name(number: u64) -> String {
    let known = usize::try_from(number).ok().and_then(Sysno::new);
    known.map_or_else(|| format!("system call {number}"), |call| call.name().to_owned())
}

/// The part of a thread's turns that it ended itself, since it slept; the others ended since it was preempted.
pub(crate) fn slept_part(pid: u32, tid: u32) -> Option<f64> {
    let status = text(format!("/proc/{pid}/task/{tid}/status")).ok()?;
    let count = |key| -> Option<f64> {
        status.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
    };
    let (slept, preempted) =
        (count("voluntary_ctxt_switches:")?, count("nonvoluntary_ctxt_switches:")?);
    Some(slept / (slept + preempted).max(1.0))
}

/// The function of the kernel that a thread sleeps in.
pub(crate) fn sleeps_in(pid: u32, tid: u32) -> Option<String> {
    text(format!("/proc/{pid}/task/{tid}/wchan")).ok()
}

/// A thread's name.
pub(crate) fn name(pid: u32, tid: u32) -> Option<String> {
    let name = text(format!("/proc/{pid}/task/{tid}/comm")).ok()?;
    Some(name.trim_end_matches('\n').to_owned())
}

/// Whether a thread has ended, or is about to.
pub(crate) fn is_ending(tid: u32) -> bool {
    /// `PF_EXITING`.
    const EXITING: u32 = 0x4;
    let stat = text(format!("/proc/{tid}/stat")).unwrap_or_default();
    state_and_flags(&stat).is_none_or(|(state, flags)| flags & EXITING != 0 || state == "Z")
}

/// Whether a thread has a CPU, or waits for one.
pub(crate) fn is_running(pid: u32, tid: u32) -> bool {
    let stat = text(format!("/proc/{pid}/task/{tid}/stat")).unwrap_or_default();
    state_and_flags(&stat).is_some_and(|(state, _)| state == "R")
}

/// Whether a process was started by another one, or by one that this has started.
pub(crate) fn descends(pid: u32, from: u32) -> bool {
    let parent = |pid: &u32| -> Option<u32> {
        let stat = text(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok().filter(|parent| *parent > 0)
    };
    std::iter::successors(parent(&pid), parent).any(|parent| parent == from)
}

/// The state and the flags of a thread, from its `stat`.
fn state_and_flags(stat: &str) -> Option<(&str, u32)> {
    // The name is in brackets, and may have some itself.
    let mut rest = stat.rsplit_once(") ")?.1.split(' ');
    Some((rest.next()?, rest.nth(5)?.parse().ok()?))
}

/// A process that can be watched.
#[derive(Debug)]
pub(crate) struct LiveProcess {
    pub(crate) pid: u32,
    /// A thread that is not watched, since it is the one that watches.
    pub(crate) except: Option<u32>,
    /// Where it may be read.
    memory: Option<File>,
    maps: Vec<MemoryMap>,
    /// Its program's file, as it was known last.
    program: Option<String>,
}

/// A part of its address space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MemoryMap {
    pub(crate) start: u64,
    pub(crate) end: u64,
    offset: u64,
    is_code: bool,
    /// Whether others that have mapped it see what this process writes there.
    is_shared: bool,
    path: String,
}

/// Processor time of a process, in seconds.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ProcessorTimes {
    pub(crate) user: f64,
    pub(crate) kernel: f64,
}

impl LiveProcess {
    /// Opens a process to be watched.
    ///
    /// # Errors
    ///
    /// It does not exist or has no code of its own, cannot be read, or is of a kind that cannot be watched. In a line.
    pub(crate) fn open(pid: u32) -> Result<Self, Error> {
        check_proc()?;
        let stat = text(format!("/proc/{pid}/stat")).map_err(|_| Error::new(missing(pid)))?;
        check_kind(pid, &stat)?;
        check_owner(pid)?;
        check_program(pid)?;
        let mut process = Self {
            pid,
            except: None,
            memory: File::open(format!("/proc/{pid}/mem")).ok(),
            maps: Vec::new(),
            program: None,
        };
        process.read_maps();
        Ok(process)
    }

    /// Its threads, the first one first.
    pub(crate) fn threads(&self) -> Vec<u32> {
        let entries = fs::read_dir(format!("/proc/{}/task", self.pid)).into_iter().flatten();
        let mut threads: Vec<u32> =
            entries.flatten().filter_map(|it| it.file_name().to_str()?.parse().ok()).collect();
        threads.retain(|tid| Some(*tid) != self.except);
        threads.sort_unstable_by_key(|tid| (*tid != self.pid, *tid));
        threads
    }

    /// Whether a thread is one of its own.
    pub(crate) fn has_thread(&self, tid: u32) -> bool {
        tid != 0 && fs::exists(format!("/proc/{}/task/{tid}", self.pid)).unwrap_or(false)
    }

    pub(crate) fn is_alive(&self) -> bool {
        let stat = text(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        // The first thread may have ended before others.
        let has_ended = |rest: &str| rest.starts_with(['Z', 'X']) && self.threads().len() < 2;
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !has_ended(rest))
    }

    /// Processor time of all its threads so far, also of those that have ended.
    pub(crate) fn times(&self) -> Option<ProcessorTimes> {
        times(&text(format!("/proc/{}/stat", self.pid)).ok()?)
    }

    /// The program's file; of a process that has ended, the last one.
    pub(crate) fn program(&self) -> Option<String> {
        self.program_now().or_else(|| self.program.clone())
    }

    fn program_now(&self) -> Option<String> {
        let path = fs::read_link(format!("/proc/{}/exe", self.pid)).ok()?;
        Some(path.to_str()?.trim_end_matches(" (deleted)").to_owned())
    }

    /// Reads where its memory is. Whether there is other code than before.
    pub(crate) fn read_maps(&mut self) -> bool {
        let maps = text(format!("/proc/{}/maps", self.pid)).unwrap_or_default();
        let maps: Vec<MemoryMap> = maps.lines().filter_map(parsed).collect();
        // What was known of a process that has ended is kept.
        if maps.is_empty() {
            return false;
        }
        let code = |maps: &[MemoryMap]| -> Vec<(u64, u64, String)> {
            let code = maps.iter().filter(|map| map.is_code);
            code.map(|map| (map.start, map.end, map.path.clone())).collect()
        };
        let is_other = code(&maps) != code(&self.maps);
        self.maps = maps;
        self.program = self.program();
        is_other
    }

    pub(crate) fn map(&self, address: u64) -> Option<&MemoryMap> {
        let after = self.maps.partition_point(|map| map.start <= address);
        self.maps[..after].last().filter(|map| address < map.end)
    }

    /// Whether an address lies in memory that the program allocates from.
    pub(crate) fn is_anonymous(&self, address: u64) -> bool {
        self.map(address).is_some_and(|map| map.path.is_empty() || map.path == "[heap]")
    }

    /// Whether other processes may write at an address, too.
    pub(crate) fn is_shared(&self, address: u64) -> bool {
        self.map(address).is_some_and(|map| map.is_shared)
    }

    /// The names of the memory that it can write and that other processes may have mapped, too.
    pub(crate) fn shared(&self) -> Vec<String> {
        let shared = self.maps.iter().filter(|map| map.is_shared);
        let mut names: Vec<String> = shared.map(|map| map.path.clone()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Eight bytes of its memory.
    pub(crate) fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.memory.as_ref()?.read_exact_at(&mut bytes, address).ok()?;
        Some(u64::from_le_bytes(bytes))
    }

    /// Reads from its memory as many bytes as there are at an address, and says how many.
    pub(crate) fn read_some(&self, address: u64, bytes: &mut [u8]) -> usize {
        self.memory.as_ref().and_then(|memory| memory.read_at(bytes, address).ok()).unwrap_or(0)
    }

    /// Bytes of its code; from the program's file where its memory may not be read.
    pub(crate) fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()> {
        if let Some(memory) = &self.memory
            && memory.read_exact_at(bytes, address).is_ok()
        {
            return Ok(());
        }
        let map = self.map(address).filter(|map| map.is_code && map.path.starts_with('/'));
        let map = map.ok_or(io::ErrorKind::NotFound)?;
        File::open(self.file(&map.path))?.read_exact_at(bytes, address - map.start + map.offset)
    }

    /// A file of the process, which may have another root.
    fn file(&self, path: &str) -> PathBuf {
        let inside = PathBuf::from(format!("/proc/{}/root{path}", self.pid));
        let is_same = |path: &PathBuf| {
            let [one, other] = [fs::metadata(path).ok()?, fs::metadata(&inside).ok()?];
            Some((one.dev(), one.ino()) == (other.dev(), other.ino()))
        };
        let path = PathBuf::from(path);
        match is_same(&path) {
            Some(false) => inside,
            _ => path,
        }
    }

    /// The program and its libraries.
    pub(crate) fn modules(&self) -> Vec<Module> {
        let code = self.maps.iter().filter(|map| map.is_code && map.path.starts_with('/'));
        let mut modules: Vec<Module> = code.filter_map(|map| self.module(map)).collect();
        modules.sort_by_key(|module| module.start);
        modules.dedup();
        modules
    }

    fn module(&self, code: &MemoryMap) -> Option<Module> {
        use object::{Object as _, ObjectSegment as _, SegmentFlags, elf};
        let path = self.file(&code.path);
        let cache = object::ReadCache::new(File::open(&path).ok()?);
        let file = object::File::parse(&cache).ok()?;
        // Segments may share pages of the file: the one that is code is meant.
        let segment = file.segments().filter(|segment| matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.0 & elf::PF_X.0 != 0)).find(|segment| {
            let (start, length) = segment.file_range();
            start < code.offset + (code.end - code.start) && code.offset < start + length
        })?;
        let (in_file, _) = segment.file_range();
        let in_memory = segment.address().wrapping_add(code.offset.wrapping_sub(in_file));
        let bias = code.start.wrapping_sub(in_memory);
        let first = file.segments().map(|it| it.address()).min()?;
        let last = file.segments().map(|it| it.address() + it.size()).max()?;
        Some(Module {
            path: path.to_str()?.to_owned(),
            start: bias.wrapping_add(first),
            end: bias.wrapping_add(last),
            bias,
        })
    }
}

/// A line of `/proc/PID/maps`.
fn parsed(line: &str) -> Option<MemoryMap> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (flags, offset) = (words.next()?, words.next()?);
    let path = line.find('/').or_else(|| line.find('[')).map_or("", |at| &line[at..]);
    // Rings of perf and io_uring (`anon_inode:[...]`), and devices, are shared with the kernel.
    let is_of_kernel = || !path.starts_with('/') || path.starts_with("/dev/") && !is_memory(path);
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some(MemoryMap {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        is_code: flags.contains('x'),
        is_shared: flags.contains('w') && flags.contains('s') && !is_of_kernel(),
        path: path.to_owned(),
    })
}

/// Whether a file of `/dev` is memory, and no device.
fn is_memory(path: &str) -> bool {
    path.starts_with("/dev/shm/")
        || path.starts_with("/dev/zero")
        || path.starts_with("/dev/hugepages/")
}

/// Processor time, from a process's `stat`.
fn times(stat: &str) -> Option<ProcessorTimes> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut rest = rest.split(' ').skip(11);
    let mut seconds = || {
        // A large server has more than 2³² within weeks.
        let ticks: u64 = rest.next()?.parse().ok()?;
        Some(ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
    };
    Some(ProcessorTimes { user: seconds()?, kernel: seconds()? })
}

/// The process that traces this one.
pub(crate) fn tracer(pid: u32) -> Option<u32> {
    status(pid, "TracerPid:")?.parse().ok().filter(|tracer| *tracer != 0)
}

/// Refuses a `/proc` whose numbers are not those of this process.
fn check_proc() -> Result<(), Error> {
    let own: Option<u32> =
        fs::read_link("/proc/self").ok().and_then(|it| it.to_str()?.parse().ok());
    match own {
        Some(own) if own == std::process::id() => Ok(()),
        Some(_) => Err(Error::new(
            "/proc is of another PID namespace; do `mount -t proc proc /proc` in this one, or run `tenure` in that one",
        )),
        None => Err(Error::new("/proc is not there; do `mount -t proc proc /proc`")),
    }
}

/// Why there is no such process.
fn missing(pid: u32) -> String {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let inner = entries.filter_map(|entry| {
        let number: u32 = entry.file_name().to_str()?.parse().ok()?;
        (number_inside(number) == Some(pid)).then_some(number)
    });
    match inner.min() {
        Some(number) => format!(
            "there is no process {pid} here; process {number} has that number in its container: do `--pid {number}`"
        ),
        None => format!("there is no process {pid}; `ps -e` lists those that there are"),
    }
}

/// The number that a process has in its own PID namespace, if that is not the one of `/proc`.
pub(crate) fn number_inside(pid: u32) -> Option<u32> {
    last_number(&status(pid, "NSpid:")?)
}

/// The last one of several.
fn last_number(numbers: &str) -> Option<u32> {
    let (_, inner) = numbers.rsplit_once('\t')?;
    inner.parse().ok()
}

/// What the kernel's `status` says under a key.
pub(crate) fn status(pid: u32, key: &str) -> Option<String> {
    let status = text(format!("/proc/{pid}/status")).ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(key))?;
    Some(value.trim().to_owned())
}

/// Refuses what has no threads that run a program.
fn check_kind(pid: u32, stat: &str) -> Result<(), Error> {
    /// `PF_KTHREAD`.
    const KERNEL: u32 = 0x0020_0000;
    let (state, flags) = state_and_flags(stat).unwrap_or_default();
    if flags & KERNEL != 0 {
        return Err(Error::new(format!(
            "process {pid} is a thread of the kernel; name a program that runs"
        )));
    }
    if matches!(state, "Z" | "X") {
        return Err(Error::new(format!(
            "process {pid} has ended, and waits for its parent; name a program that runs"
        )));
    }
    Ok(())
}

fn check_owner(pid: u32) -> Result<(), Error> {
    let Ok(owner) = fs::metadata(format!("/proc/{pid}")).map(|it| it.uid()) else { return Ok(()) };
    let own = rustix::process::geteuid().as_raw();
    // The files are root's too where a program has changed its user, or has secrets.
    if own == 0 || fs::read_link(format!("/proc/{pid}/exe")).is_ok() {
        return Ok(());
    }
    Err(Error::new(if owner == own || owner == 0 {
        format!("process {pid} may only be watched by root; run `tenure` as root")
    } else {
        format!("process {pid} is of the user {owner}; run `tenure` as that user or as root")
    }))
}

fn check_program(pid: u32) -> Result<(), Error> {
    let mut head = [0; 20];
    let read = File::open(format!("/proc/{pid}/exe")).and_then(|it| it.read_exact_at(&mut head, 0));
    let machine = u16::from_le_bytes([head[18], head[19]]);
    match read {
        Ok(()) if head[4] == 1 => Err(Error::new(format!(
            "process {pid} is a 32-bit program; only 64-bit ones can be watched"
        ))),
        Ok(()) if machine != arch::MACHINE => Err(Error::new(format!(
            "process {pid} is not a program for {}; only those can be watched here",
            arch::NAME
        ))),
        // A file that cannot be read says nothing.
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_in_a_container_has_two_numbers() {
        assert_eq!(last_number("300\t12\t7"), Some(7));
        assert_eq!([last_number("300"), last_number("")], [None; 2]);
    }

    #[test]
    fn memory_that_processes_share_is_told_from_devices_and_from_the_rings_of_the_kernel() {
        for (line, expected) in [
            ("7f0000000000-7f0000001000 rw-s 00000000 00:01 9 /dev/zero (deleted)", true),
            ("7f0000000000-7f0000001000 rw-s 00000000 00:1a 4 /dev/shm/PostgreSQL.1", true),
            ("7f0000000000-7f0000001000 rw-s 00000000 00:01 4 /memfd:ring (deleted)", true),
            ("7f0000000000-7f0000001000 rw-s 00000000 00:01 4 /SYSV00000000 (deleted)", true),
            ("7f0000000000-7f0000001000 r--s 00000000 08:01 4 /usr/lib/locale/C.utf8", false),
            ("7f0000000000-7f0000001000 rw-p 00000000 08:01 4 /usr/lib/libc.so.6", false),
            ("7f0000000000-7f0000001000 rw-s 00000000 00:0e 4 anon_inode:[perf_event]", false),
            ("7f0000000000-7f0000001000 rw-s 00000000 00:05 4 /dev/dri/card0", false),
        ] {
            assert_eq!(parsed(line).unwrap().is_shared, expected, "{line}");
        }
    }

    #[test]
    fn times_are_read_after_a_name_with_brackets() {
        let ticks = rustix::param::clock_ticks_per_second();
        let stat = format!("7 (a) b) R 1 2 3 4 5 6 7 8 9 10 {} {} 0", 3 * ticks, 2 * ticks);
        let times = times(&stat).unwrap();
        assert_eq!((times.user, times.kernel), (3.0, 2.0));
        let large = stat.replace(&format!(" {} ", 3 * ticks), &format!(" {} ", ticks << 32));
        assert_eq!(super::times(&large).unwrap().user, 4_294_967_296.0);
    }

    #[test]
    fn a_name_with_brackets_does_not_hide_the_state() {
        assert_eq!(state_and_flags("7 (a) b) R 1 2 3 4 5 6 7"), Some(("R", 6)));
        assert_eq!(state_and_flags("7 (a"), None);
    }
}
