//! What `perf script` prints: a line for each sample, with the fields that `-F` names.
//!
//! ```text
//! server 812/815 295.730139: cpu/mem-loads/P: 55c26a70c018 [unknown] (//anon) 1e05080021 |OP LOAD|LVL L3 hit|SNP HitM|TLB L1 hit|LCK No|BLK  N/A 92 55c26a70a180 touch+0x10 (/srv/server)
//! ```
//!
//! Needed are `addr`, `data_src` and `ip`. `weight` follows the source; a symbol with an offset (`sym,symoff`), or the lines of
//! `--show-mmap-events`, place the instruction in a file whose addresses are not fixed; those of `--show-task-events` say which
//! processes have the mappings of others.

use super::sample::PerfSample;
use super::source::DataSource;
use super::space::{Mapping, SpaceChange};

/// Begins the words for a source, after its number.
const SOURCE: &str = "|OP ";

/// Fields of those words: the last first, which older versions lack.
const FIELDS: [&str; 5] = ["|BLK", "|LCK", "|TLB", "|SNP", "|LVL"];

/// Values of the last field of those words.
const LAST: [&str; 7] = ["N/A", "No", "Yes", "Data", "Addr", "LCK", "BLK"];

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TextLine<'t> {
    Sample(Said<'t>),
    Change(SpaceChange),
}

/// What a line says of a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said<'t> {
    pub(super) sample: PerfSample,
    /// If the line says so.
    pub(super) pid: Option<u32>,
    /// Where the instruction is: a function's symbol, and how far after it.
    pub(super) symbol: Option<(&'t str, u64)>,
    /// The file of the instruction.
    pub(super) file: Option<&'t str>,
}

pub(super) fn line(line: &str) -> Option<TextLine<'_>> {
    if let Some(at) = line.find("PERF_RECORD_MMAP") {
        return mapping(&line[at..]).map(|mapping| TextLine::Change(SpaceChange::Map(mapping)));
    }
    if let Some((_, rest)) = line.split_once("PERF_RECORD_FORK(") {
        return fork(rest).map(TextLine::Change);
    }
    if let Some((_, rest)) = line.split_once("PERF_RECORD_COMM exec: ") {
        return pid(rest.rsplit_once(':')?.1).map(|pid| TextLine::Change(SpaceChange::Exec(pid)));
    }
    said(line).map(TextLine::Sample)
}

/// `PERF_RECORD_FORK(9:9):(7:7)`: the child, and its parent.
fn fork(text: &str) -> Option<SpaceChange> {
    let (child, parent) = text.split_once("):(")?;
    let pid = |text: &str| text.split_once(':')?.0.parse().ok();
    Some(SpaceChange::Fork { parent: pid(parent)?, child: pid(child)? })
}

/// The process of `7/8`, a process and its thread.
fn pid(text: &str) -> Option<u32> {
    let (pid, tid) = text.trim_end().split_once('/')?;
    tid.parse::<u32>().ok().and(pid.parse().ok())
}

fn said(line: &str) -> Option<Said<'_>> {
    let (before, words) = line.split_at_checked(line.find(SOURCE)?)?;
    let mut before: Vec<&str> = before.split_whitespace().collect();
    let source = DataSource(hexadecimal(before.pop()?)?);
    // A symbol or path after these words may have a `|` too.
    let last = FIELDS.into_iter().find_map(|field| Some(words.find(field)? + field.len()))?;
    let mut rest = &words[last..];
    let mut first = word(&mut rest)?;
    while LAST.contains(&first) {
        first = word(&mut rest)?;
    }
    let mut sample = PerfSample { source, address: address(&before)?, ..PerfSample::default() };
    // A weight is decimal and has at most 32 bits; an address follows it.
    let weight = first.parse().ok().filter(|weight| *weight <= u64::from(u32::MAX));
    let mut behind = rest;
    let next = word(&mut behind).filter(|word| word.len() >= 4).and_then(hexadecimal);
    match (weight, next) {
        (Some(weight), Some(ip)) => {
            sample.weight = weight;
            sample.ip = ip;
            rest = behind;
        }
        _ => sample.ip = hexadecimal(first)?,
    }
    let (symbol, file) = place(rest);
    let pid = before.iter().find_map(|word| pid(word));
    sample.pid = pid.unwrap_or(0);
    Some(Said { sample, pid, symbol, file })
}

/// The symbol with its offset, and the file: `touch(int, char)+0x10 (/srv/server)`.
fn place(text: &str) -> (Option<(&str, u64)>, Option<&str>) {
    let text = text.trim();
    let file = text.strip_suffix(')').and_then(|inner| {
        // A path may have spaces and brackets of its own: `(/srv/server (deleted))`.
        let start = ["(/", "([", "("].into_iter().find_map(|it| match inner.starts_with(it) {
            true => Some(0),
            false => Some(inner.rfind(&[" ", it].concat())? + 1),
        })?;
        Some((start, &inner[start + 1..]))
    });
    let symbol = file.map_or(text, |(start, _)| text[..start].trim_end());
    let symbol = symbol
        .rsplit_once("+0x")
        .and_then(|(name, offset)| Some((name, u64::from_str_radix(offset, 16).ok()?)));
    (symbol, file.map(|(_, file)| file))
}

fn word<'t>(text: &mut &'t str) -> Option<&'t str> {
    let (word, rest) = match text.trim_start() {
        "" => return None,
        start => start.split_at(start.find(char::is_whitespace).unwrap_or(start.len())),
    };
    *text = rest;
    Some(word)
}

/// What follows the name of the event or, without one, the time; else the process; else the first number that is long enough.
fn address(before: &[&str]) -> Option<u64> {
    let event = before.iter().rposition(|word| word.len() > 1 && word.ends_with(':'));
    match event.or_else(|| before.iter().rposition(|word| pid(word).is_some())) {
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
            Some(TextLine::Sample(said)) => said,
            other => panic!("{other:?}"),
        }
    }

    const WORDS: &str = "|OP LOAD|LVL Local L3 or L3 hit|SNP HitM|TLB L1 or L2 hit|LCK No|BLK  N/A";

    #[test]
    fn the_fields_asked_for_alone_are_read() {
        let text =
            format!("    7f50d45f6030      1068800842 {WORDS}             92     55c26a70a180");
        let said = sample(&text);
        let PerfSample { ip, address, weight, source, .. } = said.sample;
        assert_eq!((ip, address, weight), (0x55c2_6a70_a180, 0x7f50_d45f_6030, 92));
        assert!(source.is_hitm() && source.is_load());
        assert_eq!((said.pid, said.symbol, said.file), (None, None, None));
        let without = format!("    7f50d45f6030      1068800842 {WORDS}     55c26a70a180");
        assert_eq!(sample(&without).sample, PerfSample { weight: 0, ..said.sample });
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
        let Some(TextLine::Change(SpaceChange::Map(mapping))) = line(text) else { panic!() };
        assert_eq!((mapping.pid, mapping.start, mapping.length), (8449, 0x55c2_6a70_a000, 0x1000));
        assert_eq!((mapping.offset, mapping.is_code, &*mapping.path), (0x1000, true, "/tmp/a b"));
        assert_eq!(mapping.build_id, None);
        let text = "PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x120bb08) @ 0xffffffff81000000]: x [kernel.kallsyms]_text";
        let Some(TextLine::Change(SpaceChange::Map(mapping))) = line(text) else { panic!() };
        assert_eq!((mapping.pid, mapping.offset), (u32::MAX, 0xffff_ffff_8100_0000));
        let text = "PERF_RECORD_MMAP2 7/7: [0x5000(0x1000) @ 0 <2ebf8bc64bc1bf5164f1d0051c30bd5e43f2eb1c>]: r-xp /srv/server";
        let Some(TextLine::Change(SpaceChange::Map(mapping))) = line(text) else { panic!() };
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

    #[test]
    fn a_symbol_or_path_may_have_bars_spaces_and_brackets() {
        let line = |place: &str| format!("812/812 1000 1068800842 {WORDS} 92 55c26a70a180 {place}");
        for (place, symbol, file) in [
            ("operator|+0x4 (/srv/server)", Some(("operator|", 4)), Some("/srv/server")),
            ("touch+0x10 (/srv/a|b)", Some(("touch", 16)), Some("/srv/a|b")),
            (
                "a::f(int, char)+0x8 (/srv/a b (deleted))",
                Some(("a::f(int, char)", 8)),
                Some("/srv/a b (deleted)"),
            ),
            ("[unknown] ([vdso])", None, Some("[vdso]")),
            ("(/srv/server)", None, Some("/srv/server")),
            ("add+0x2", Some(("add", 2)), None),
        ] {
            let line = line(place);
            let said = sample(&line);
            assert_eq!((said.symbol, said.file), (symbol, file), "{place}");
            assert_eq!((said.sample.ip, said.sample.weight), (0x55c2_6a70_a180, 92), "{place}");
            assert_eq!((said.pid, said.sample.address), (Some(812), 0x1000), "{place}");
        }
    }

    #[test]
    fn a_fork_and_an_exec_are_read() {
        for (text, change) in [
            ("7/7 PERF_RECORD_FORK(9:10):(7:8)", SpaceChange::Fork { parent: 7, child: 9 }),
            ("sh 7 6506.6: PERF_RECORD_FORK(9:9):(7:7)", SpaceChange::Fork { parent: 7, child: 9 }),
            ("9/9 PERF_RECORD_COMM exec: a: b:9/9", SpaceChange::Exec(9)),
        ] {
            assert_eq!(line(text), Some(TextLine::Change(change)), "{text}");
        }
        assert_eq!(line("9/9 PERF_RECORD_COMM: name:9/9"), None);
        assert_eq!(line("9/9 PERF_RECORD_EXIT(9:9):(7:7)"), None);
    }
}
