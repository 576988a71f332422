//! perf events: the clock that samples a thread or a CPU, and the breakpoints that show who touches a word.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
#[allow(clippy::disallowed_types, reason = "shared with the kernel")]
use std::sync::atomic::{AtomicU64, Ordering};

use perf_event_open_sys::{bindings, ioctls, perf_event_open};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::{Registers, Sample};

/// A perf event of a thread or of a CPU. It is gone when its descriptor is closed, also by the end of this process.
#[derive(Debug)]
pub(crate) struct PerfEvent(OwnedFd);

/// Each sample has these, in this order.
const SAMPLED: u32 = bindings::PERF_SAMPLE_IP
    | bindings::PERF_SAMPLE_TID
    | bindings::PERF_SAMPLE_TIME
    | bindings::PERF_SAMPLE_ADDR
    | bindings::PERF_SAMPLE_CPU
    | bindings::PERF_SAMPLE_REGS_USER
    | bindings::PERF_SAMPLE_STACK_USER;

/// The length of what a breakpoint watches.
pub(crate) const WATCHED_BYTES: u64 = 8;

fn attributes(kind: bindings::perf_type_id) -> bindings::perf_event_attr {
    let mut attributes = bindings::perf_event_attr {
        type_: kind,
        size: u32::try_from(size_of::<bindings::perf_event_attr>()).expect("a small struct"),
        sample_type: SAMPLED.into(),
        sample_regs_user: Registers::MASK,
        sample_stack_user: u32::try_from(Sample::STACK * 8).expect("some words"),
        ..Default::default()
    };
    attributes.clockid = nix::libc::CLOCK_MONOTONIC;
    attributes.set_use_clockid(1);
    attributes.set_exclude_kernel(1);
    attributes.set_exclude_hv(1);
    attributes
}

impl PerfEvent {
    /// The clock of a thread while it is on a CPU, and of all threads that it will create: `rate` samples a second.
    pub(crate) fn clock(tid: u32, cpu: u32, rate: u64) -> io::Result<Self> {
        let mut attributes = attributes(bindings::PERF_TYPE_SOFTWARE);
        attributes.config = bindings::PERF_COUNT_SW_CPU_CLOCK.into();
        attributes.__bindgen_anon_1.sample_freq = rate;
        attributes.set_freq(1);
        attributes.set_inherit(1);
        Self::open_clock(&mut attributes, Some(tid), cpu)
    }

    /// The clock of a CPU, whatever runs there: about `rate` samples a second. Unlike a thread's, it takes nothing when
    /// threads take turns.
    pub(crate) fn clock_of_cpu(cpu: u32, rate: u64) -> io::Result<Self> {
        // In step with the scheduler's ticks, it would never meet a thread that gives way as soon as it has its turn.
        let period = 1_000_000_000 / rate.max(1) * 1000 / 1017;
        let mut attributes = attributes(bindings::PERF_TYPE_SOFTWARE);
        attributes.config = bindings::PERF_COUNT_SW_CPU_CLOCK.into();
        attributes.__bindgen_anon_1.sample_period = period;
        Self::open_clock(&mut attributes, None, cpu)
    }

    /// Opens a clock that also samples the kernel, where that is allowed.
    fn open_clock(
        attributes: &mut bindings::perf_event_attr,
        tid: Option<u32>,
        cpu: u32,
    ) -> io::Result<Self> {
        attributes.set_exclude_idle(1);
        attributes.set_exclude_kernel(0);
        match Self::open(attributes, tid, cpu.cast_signed(), None) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                attributes.set_exclude_kernel(1);
                Self::open(attributes, tid, cpu.cast_signed(), None)
            }
            opened => opened,
        }
    }

    /// The leader of a thread's breakpoints: none of them is on before it is.
    pub(crate) fn leader(tid: u32) -> io::Result<Self> {
        let mut attributes = attributes(bindings::PERF_TYPE_SOFTWARE);
        attributes.config = bindings::PERF_COUNT_SW_DUMMY.into();
        attributes.set_disabled(1);
        Self::open(&mut attributes, Some(tid), -1, None)
    }

    /// A breakpoint on accesses to a word. It turns itself off after `most` of them.
    pub(crate) fn breakpoint(tid: u32, address: u64, leader: &Self, most: i32) -> io::Result<Self> {
        let mut attributes = attributes(bindings::PERF_TYPE_BREAKPOINT);
        attributes.bp_type = bindings::HW_BREAKPOINT_RW;
        attributes.__bindgen_anon_3.bp_addr = address;
        attributes.__bindgen_anon_4.bp_len = WATCHED_BYTES;
        attributes.__bindgen_anon_1.sample_period = 1;
        attributes.read_format = bindings::PERF_FORMAT_TOTAL_TIME_RUNNING.into();
        let event = Self::open(&mut attributes, Some(tid), -1, Some(leader))?;
        // SAFETY: the descriptor is open, and the argument is a number.
        done(unsafe { ioctls::REFRESH(event.0.as_raw_fd(), most) })?;
        Ok(event)
    }

    fn open(
        attributes: &mut bindings::perf_event_attr,
        tid: Option<u32>,
        cpu: i32,
        leader: Option<&Self>,
    ) -> io::Result<Self> {
        let tid = tid.map_or(-1, u32::cast_signed);
        let leader = leader.map_or(-1, |leader| leader.0.as_raw_fd());
        let flags = bindings::PERF_FLAG_FD_CLOEXEC.into();
        // SAFETY: `attributes` is a whole struct that says its size; the kernel checks the rest.
        let fd = unsafe { perf_event_open(attributes, tid, cpu, leader, flags) };
        done(fd)?;
        // SAFETY: the kernel has just opened it, and nothing else knows it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    pub(crate) fn enable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open, and the argument is a number.
        done(unsafe { ioctls::ENABLE(self.0.as_raw_fd(), 0) })
    }

    /// Also turns off those that it leads.
    pub(crate) fn disable(&self) -> io::Result<()> {
        // SAFETY: the descriptor is open, and the argument is a number.
        done(unsafe { ioctls::DISABLE(self.0.as_raw_fd(), 0) })
    }

    /// Has samples written to another event's ring.
    pub(crate) fn write_to(&self, ring: &PerfRing) -> io::Result<()> {
        // SAFETY: both descriptors are open.
        done(unsafe { ioctls::SET_OUTPUT(self.0.as_raw_fd(), ring.event.0.as_raw_fd()) })
    }

    /// Nanoseconds for which a breakpoint has been on while its thread ran.
    pub(crate) fn running(&self) -> io::Result<u64> {
        let mut bytes = [0; 16];
        rustix::io::read(&self.0, &mut bytes)?;
        Ok(u64::from_ne_bytes(bytes[8..].try_into().expect("eight bytes")))
    }
}

fn done(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The memory that the kernel writes an event's samples to.
#[derive(Debug)]
pub(crate) struct PerfRing {
    pub(crate) event: PerfEvent,
    base: NonNull<u8>,
    page: usize,
    /// Bytes of samples: a power of two.
    room: usize,
    /// Samples that found no room.
    pub(crate) lost: u64,
}

impl PerfRing {
    /// `pages`: a power of two.
    pub(crate) fn new(event: PerfEvent, pages: usize) -> io::Result<Self> {
        let page = rustix::param::page_size();
        let room = pages * page;
        // SAFETY: a new mapping where the kernel finds room.
        let base = unsafe {
            mmap(
                std::ptr::null_mut(),
                page + room,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &event.0,
                0,
            )
        }?;
        let base = NonNull::new(base.cast()).expect("no mapping lies there");
        Ok(Self { event, base, page, room, lost: 0 })
    }

    /// Takes out what the kernel has written.
    pub(crate) fn drain(&mut self, mut sample: impl FnMut(Sample)) {
        let head = self.control(std::mem::offset_of!(bindings::perf_event_mmap_page, data_head));
        let tail = self.control(std::mem::offset_of!(bindings::perf_event_mmap_page, data_tail));
        // Acquire: pairs with the kernel's barrier between the samples and `data_head`.
        let end = head.load(Ordering::Acquire);
        // Relaxed: only this thread writes it.
        let mut at = tail.load(Ordering::Relaxed);
        let mut lost = 0;
        let mut record = Vec::new();
        while at + HEADER as u64 <= end {
            self.copy(at, HEADER, &mut record);
            let header = &record;
            let length = usize::from(u16::from_ne_bytes([header[6], header[7]]));
            if length < HEADER || at + length as u64 > end {
                break;
            }
            self.copy(at, length, &mut record);
            let mode = u32::from(u16::from_ne_bytes([record[4], record[5]]));
            let is_kernel =
                mode & bindings::PERF_RECORD_MISC_CPUMODE_MASK == bindings::PERF_RECORD_MISC_KERNEL;
            match u32::from_ne_bytes(record[..4].try_into().expect("four bytes")) {
                bindings::PERF_RECORD_SAMPLE => {
                    sample(Sample { is_kernel, ..parsed(&record[HEADER..]) });
                }
                bindings::PERF_RECORD_LOST => {
                    lost += RecordFields(record.get(HEADER + 8..).unwrap_or_default()).long();
                }
                _ => {}
            }
            at += length as u64;
        }
        // Release: the kernel overwrites what lies before it only after this.
        tail.store(end, Ordering::Release);
        self.lost += lost;
    }

    #[allow(clippy::disallowed_types, reason = "shared with the kernel")]
    fn control(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: the first page of the mapping is a `perf_event_mmap_page`, where the field lies, aligned to its size;
        // the kernel writes it with single stores. The mapping lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(offset).cast()) }
    }

    /// What lies between tail and head goes on at the beginning of the room.
    fn copy(&self, from: u64, length: usize, into: &mut Vec<u8>) {
        let first = usize::try_from(from & (self.room as u64 - 1)).expect("less than the room");
        let to_end = length.min(self.room - first);
        into.clear();
        for (start, length) in [(first, to_end), (0, length - to_end)] {
            // SAFETY: after the first page are `room` bytes, of which these are; a record is no longer than the room.
            // The kernel does not write those between tail and head.
            let part = unsafe {
                std::slice::from_raw_parts(self.base.as_ptr().add(self.page + start), length)
            };
            into.extend_from_slice(part);
        }
    }
}

impl Drop for PerfRing {
    fn drop(&mut self) {
        // SAFETY: `new` mapped it, and references into it cannot outlive `self`. It fails only for what is no mapping.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.page + self.room) };
    }
}

const HEADER: usize = size_of::<bindings::perf_event_header>();

/// The numbers of a record, one after the other; zeros after its end.
struct RecordFields<'a>(&'a [u8]);

impl RecordFields<'_> {
    fn long(&mut self) -> u64 {
        let Some((first, rest)) = self.0.split_first_chunk() else { return 0 };
        self.0 = rest;
        u64::from_ne_bytes(*first)
    }

    /// Two of half the size.
    fn pair(&mut self) -> [u32; 2] {
        let both = self.long().to_ne_bytes();
        let half =
            |at: usize| u32::from_ne_bytes([both[at], both[at + 1], both[at + 2], both[at + 3]]);
        [half(0), half(4)]
    }
}

fn parsed(record: &[u8]) -> Sample {
    let mut fields = RecordFields(record);
    let ip = fields.long();
    let [pid, tid] = fields.pair();
    let time = fields.long();
    let address = fields.long();
    let [cpu, _] = fields.pair();
    let is_64_bit = fields.long() == u64::from(bindings::PERF_SAMPLE_REGS_ABI_64);
    let registers = is_64_bit.then(|| {
        let mut registers = Registers::default();
        registers.0.fill_with(|| fields.long());
        registers
    });
    let mut stack = [0; Sample::STACK];
    // After the words stands how many of them are the stack's.
    if fields.long() == Sample::STACK as u64 * 8 {
        stack.fill_with(|| fields.long());
        let had = usize::try_from(fields.long() / 8).unwrap_or(0);
        stack[had.min(Sample::STACK)..].fill(0);
    }
    Sample { pid, tid, cpu, time, is_kernel: false, ip, address, registers, stack }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(fields: &[u64]) -> Vec<u8> {
        fields.iter().flat_map(|field| field.to_ne_bytes()).collect()
    }

    #[test]
    fn a_sample_is_read_in_the_kernels_order() {
        let mut fields = vec![0x1000, 7 | 8 << 32, 5, 0x2000, 3, 2];
        fields.extend(100..100 + Registers::COUNT as u64);
        fields.push(Sample::STACK as u64 * 8);
        fields.extend(200..200 + Sample::STACK as u64);
        fields.push(16);
        let sample = parsed(&record(&fields));
        assert_eq!((sample.ip, sample.pid, sample.tid, sample.cpu), (0x1000, 7, 8, 3));
        assert_eq!((sample.time, sample.address), (5, 0x2000));
        let registers = sample.registers.unwrap();
        assert_eq!((registers.0[0], registers.0[1]), (100, 101));
        assert_eq!(*registers.0.last().unwrap(), 99 + Registers::COUNT as u64);
        assert_eq!(sample.stack[..3], [200, 201, 0]);
        assert_eq!(Registers::MASK.count_ones() as usize, registers.0.len());
    }

    #[test]
    fn a_thread_without_registers_and_a_record_that_is_cut_are_no_error() {
        assert_eq!(parsed(&record(&[1, 2, 3, 4, 5, 0])).registers, None);
        assert_eq!(parsed(&record(&[1, 2])[..12]), Sample { ip: 1, ..Sample::default() });
    }

    /// Where the kernel refuses, as in a container, there is nothing to test.
    #[test]
    fn a_busy_thread_is_sampled_and_its_ring_is_drained() {
        let tid = rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned();
        let mut rings = Vec::new();
        for cpu in super::super::process::cpus() {
            let Ok(event) = PerfEvent::clock(tid, cpu, 1000) else {
                return eprintln!("skipped: no perf events here");
            };
            rings.push(PerfRing::new(event, 1).unwrap());
        }
        let mut samples = Vec::new();
        let begun = super::super::now();
        let start = std::time::Instant::now();
        while samples.len() < 100 && start.elapsed().as_secs() < 30 {
            for ring in &mut rings {
                ring.drain(|sample| samples.push(sample));
            }
        }
        assert!(samples.len() >= 100, "{}", samples.len());
        assert!(samples.iter().all(|it| it.tid == tid && it.pid == std::process::id()));
        let while_sampled = begun..super::super::now();
        assert!(samples.iter().all(|it| while_sampled.contains(&it.time)));
    }
}
