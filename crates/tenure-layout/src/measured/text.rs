//! What `perf script` prints: a line for each sample, with the fields that `-F` names.
//!
//! ```text
//! server 812/815 295.730139: cpu/mem-loads/P: 55c26a70c018 [unknown] (//anon) 1e05080021 |OP LOAD|LVL L3 hit|SNP HitM|TLB L1 hit|LCK No|BLK  N/A 92 55c26a70a180 touch+0x10 (/srv/server)
//! ```
//!
//! Needed are `addr`, `data_src` and `ip`. `weight` follows the source; a symbol with an offset (`sym,symoff`), or the lines of
//! `--show-mmap-events`, place the instruction in a file whose addresses are not fixed.

use super::sample::Sample;
use super::source::DataSource;
use super::space::{Change, Mapping};

/// Begins the words for a source, behind its number.
const SOURCE: &str = "|OP ";

/// Values of the last field of those words.
const LAST: [&str; 7] = ["N/A", "No", "Yes", "Data", "Addr", "LCK", "BLK"];

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'t> {
    Sample(Said<'t>),
    Change(Change),
}

/// What a line says of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said<'t> {
    pub(super) sample: Sample,
    /// If the line says so.
    pub(super) pid: Option<u32>,
    /// Where the instruction is: a function's symbol, and how far behind it.
    pub(super) symbol: Option<(&'t str, u64)>,
    /// The file of the instruction.
    pub(super) file: Option<&'t str>,
}

pub(super) fn line(line: &str) -> Option<Line<'_>> {
    if let Some(at) = line.find("PERF_RECORD_MMAP") {
        return mapping(&line[at..]).map(|mapping| Line::Change(Change::Map(mapping)));
    }
    said(line).map(Line::Sample)
}

fn said(line: &str) -> Option<Said<'_>> {
    let (before, words) = line.split_at_checked(line.find(SOURCE)?)?;
    let mut before: Vec<&str> = before.split_whitespace().collect();
    let source = DataSource(hexadecimal(before.pop()?)?);
    let rest = words.rsplit_once('|')?.1;
    let mut rest = rest.split_whitespace().skip_while(|word| LAST.contains(word)).peekable();
    let mut sample = Sample { source, address: address(&before)?, ..Sample::default() };
    let first = rest.next()?;
    // A weight is decimal and has at most 32 bits; an address follows it.
    let weight = first.parse().ok().filter(|weight| *weight <= u64::from(u32::MAX));
    let next = rest.peek().filter(|word| word.len() >= 4).and_then(|word| hexadecimal(word));
    match (weight, next) {
        (Some(weight), Some(ip)) => {
            sample.weight = weight;
            sample.ip = ip;
            rest.next();
        }
        _ => sample.ip = hexadecimal(first)?,
    }
    let behind = line.get(line.len() - words.rsplit_once('|')?.1.len()..)?;
    let file = behind.trim_end().strip_suffix(')').and_then(|it| Some(it.rsplit_once('(')?.1));
    let symbol = rest.next().and_then(|word| {
        let (name, offset) = word.rsplit_once("+0x")?;
        Some((name, u64::from_str_radix(offset, 16).ok()?))
    });
    let pid = before.iter().find_map(|word| {
        let (pid, tid) = word.split_once('/')?;
        tid.parse::<u32>().ok().and(pid.parse().ok())
    });
    sample.pid = pid.unwrap_or(0);
    Some(Said { sample, pid, symbol, file })
}

/// Behind the name of the event or, without one, the time; else the first number that is long enough.
fn address(before: &[&str]) -> Option<u64> {
    let start = before.iter().rposition(|word| word.len() > 1 && word.ends_with(':'));
    match start {
        Some(at) => hexadecimal(before.get(at + 1)?),
        None => before.iter().filter(|word| word.len() >= 6).find_map(|word| hexadecimal(word)),
    }
}

fn hexadecimal(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x").unwrap_or(word), 16).ok()
}

/// `PERF_RECORD_MMAP2 7/7: [0x55c26a70a000(0x1000) @ 0x1000 fe:00 995 167]: r-xp /srv/server`.
fn mapping(text: &str) -> Option<Mapping> {
    let (head, rest) = text.split_once(": [")?;
    let (pid, _) = head.split_whitespace().nth(1)?.split_once('/')?;
    // The kernel's is of the process -1.
    let pid = pid.parse::<i64>().ok().and_then(|pid| u32::try_from(pid & 0xffff_ffff).ok())?;
    let (range, rest) = rest.split_once("]: ")?;
    let (start, length) = range.split_once('(')?;
    let (length, place) = length.split_once(')')?;
    let mut place = place.trim_start_matches([' ', '@']).split_whitespace();
    let offset = hexadecimal(place.next()?)?;
    // A build ID stands in place of device and inode.
    let id = place.next().map(|word| word.trim_matches(['<', '>']));
    let build_id = id.filter(|word| word.len() >= 16).and_then(|word| {
        let byte = |at: usize| u8::from_str_radix(word.get(at..at + 2)?, 16).ok();
        (0..word.len()).step_by(2).map(byte).collect()
    });
    let (protection, path) = rest.split_once(' ')?;
    Some(Mapping {
        pid,
        start: hexadecimal(start)?,
        length: hexadecimal(length)?,
        offset,
        is_code: protection.contains('x'),
        path: path.trim_end().to_owned(),
        build_id,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn sample(text: &str) -> Said<'_> {
        match line(text) {
            Some(Line::Sample(said)) => said,
            other => panic!("{other:?}"),
        }
    }

    const WORDS: &str = "|OP LOAD|LVL Local L3 or L3 hit|SNP HitM|TLB L1 or L2 hit|LCK No|BLK  N/A";

    #[test]
    fn the_fields_asked_for_alone_are_read() {
        let text =
            format!("    7f50d45f6030      1068800842 {WORDS}             92     55c26a70a180");
        let said = sample(&text);
        let Sample { ip, address, weight, source, .. } = said.sample;
        assert_eq!((ip, address, weight), (0x55c2_6a70_a180, 0x7f50_d45f_6030, 92));
        assert!(source.is_hitm() && source.is_load());
        assert_eq!((said.pid, said.symbol, said.file), (None, None, None));
        let without = format!("    7f50d45f6030      1068800842 {WORDS}     55c26a70a180");
        assert_eq!(sample(&without).sample, Sample { weight: 0, ..said.sample });
    }

    #[test]
    fn process_event_symbols_and_files_may_stand_around_them() {
        let text = format!(
            "my server  812/815  [003]   295.730139:          1 cpu/mem-loads,ldlat=30/P:     55c26a70c018 [unknown] (//anon) \
             1068800842 {WORDS}   92     55c26a70a180 touch+0x10 (/srv/server)"
        );
        let said = sample(&text);
        assert_eq!(said.pid, Some(812));
        assert_eq!(said.sample.address, 0x55c2_6a70_c018);
        assert_eq!(said.symbol, Some(("touch", 0x10)));
        assert_eq!(said.file, Some("/srv/server"));
        let sym_alone = format!("add 55c26a70c018 1068800842 {WORDS} 55c26a70a180 add");
        let said = sample(&sym_alone);
        assert_eq!((said.sample.ip, said.sample.weight), (0x55c2_6a70_a180, 0));
    }

    #[test]
    fn a_mapping_is_read_and_so_is_the_kernel_s() {
        let text = "t 8449 309.7: PERF_RECORD_MMAP2 8449/8450: [0x55c26a70a000(0x1000) @ 0x1000 fe:00 9995683 1671691514]: r-xp /tmp/a b";
        let Some(Line::Change(Change::Map(mapping))) = line(text) else { panic!() };
        assert_eq!((mapping.pid, mapping.start, mapping.length), (8449, 0x55c2_6a70_a000, 0x1000));
        assert_eq!((mapping.offset, mapping.is_code, &*mapping.path), (0x1000, true, "/tmp/a b"));
        assert_eq!(mapping.build_id, None);
        let text = "PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x120bb08) @ 0xffffffff81000000]: x [kernel.kallsyms]_text";
        let Some(Line::Change(Change::Map(mapping))) = line(text) else { panic!() };
        assert_eq!((mapping.pid, mapping.offset), (u32::MAX, 0xffff_ffff_8100_0000));
        let text = "PERF_RECORD_MMAP2 7/7: [0x5000(0x1000) @ 0 <2ebf8bc64bc1bf5164f1d0051c30bd5e43f2eb1c>]: r-xp /srv/server";
        let Some(Line::Change(Change::Map(mapping))) = line(text) else { panic!() };
        assert_eq!(mapping.build_id.map(|id| (id.len(), id[0])), Some((20, 0x2e)));
    }

    #[test]
    fn other_lines_say_nothing() {
        for text in [
            "",
            "# captured on",
            "touch+0x10",
            "1068800842 |OP LOAD",
            "PERF_RECORD_MMAP2 x",
            "ü |OP é|",
        ] {
            assert_eq!(line(text), None, "{text}");
        }
    }
}
