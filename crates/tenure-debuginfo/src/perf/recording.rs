//! A recording of `perf`, and what it says of one program: samples by instruction and by address of data.

use std::io::Read as _;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::file::{self, File, PerfStep};
use super::sample::PerfSample;
use super::space::{MeasuredProgram, SpacePlace, Spaces};
use super::text::{self, Said, TextLine};
use crate::Error;
use tenure_model::Measured;

/// Stands for standard input.
const INPUT: &str = "-";

/// The command that prints all that is read.
const PRINT: &str = "perf script --show-mmap-events --show-task-events \
    -F pid,tid,ip,sym,symoff,dso,addr,data_src,weight";

/// Other programs that an error or a report names.
const MAX_NAMED_PROGRAMS: usize = 3;

/// What a recording says of one program.
#[derive(Debug, Default)]
pub struct ProgramSamples {
    /// Samples that have an address of data.
    pub samples: u64,
    /// Samples by instruction, and by the address of data if that may lie in the program; both as the file has them.
    pub by: FxHashMap<(u64, Option<u64>), Measured>,
    /// Where most of the other samples are, and how many.
    pub elsewhere: Vec<(String, u64)>,
}

impl ProgramSamples {
    /// Reads a recording, of a file or of standard input (`-`).
    ///
    /// # Errors
    ///
    /// The file is no recording, or is cut, or has no addresses of data, or no sample in the program.
    pub fn read(path: &Path, program: &Path) -> Result<Self, Error> {
        let name = match path.to_str() {
            Some(INPUT) => "standard input".to_owned(),
            _ => path.display().to_string(),
        };
        let program = MeasuredProgram::open(program)?;
        let bytes = match path.to_str() {
            Some(INPUT) => {
                let mut bytes = Vec::new();
                std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
            }
            _ => std::fs::read(path),
        };
        let bytes = bytes.map_err(|error| Error::unreadable(path, &error))?;
        Self::of(&bytes, &program).map_err(|what| Error::new(format!("--perf: {name} {what}")))
    }

    /// The error is what is wrong, to follow the recording's name.
    fn of(bytes: &[u8], program: &MeasuredProgram) -> Result<Self, String> {
        let mut gather = Gather {
            spaces: Spaces::new(program),
            recording: Self::default(),
            elsewhere: FxHashMap::default(),
        };
        if file::is_one(bytes) {
            let file = File::read(bytes)?;
            if !file.has_addresses() {
                return Err(
                    "has no addresses of data: record with perf c2c record, perf mem record or perf record -d"
                        .to_owned(),
                );
            }
            for step in file.steps() {
                match step {
                    PerfStep::Change(change) => gather.spaces.change(&change),
                    PerfStep::Sample(sample) => {
                        let place = gather.spaces.code(Some(sample.pid), sample.ip);
                        gather.take(&sample, Some(sample.pid), place);
                    }
                }
            }
        } else {
            gather.text(bytes)?;
        }
        gather.finish(program)
    }

    /// Addresses of instructions, each once.
    #[must_use]
    pub fn code(&self) -> Vec<u64> {
        let mut code: Vec<u64> = self.by.keys().map(|(code, _)| *code).collect();
        code.sort_unstable();
        code.dedup();
        code
    }

    /// The sum of all samples in the program.
    #[must_use]
    pub fn total(&self) -> Measured {
        let mut total = Measured::default();
        self.by.values().for_each(|one| total.add(one));
        total
    }
}

struct Gather<'p> {
    spaces: Spaces<'p>,
    recording: ProgramSamples,
    elsewhere: FxHashMap<String, u64>,
}

impl Gather<'_> {
    fn take(&mut self, sample: &PerfSample, pid: Option<u32>, place: SpacePlace) {
        self.recording.samples += 1;
        let code = match place {
            SpacePlace::Here(code) => code,
            SpacePlace::There(name) => {
                *self.elsewhere.entry(self.spaces.name(name).to_owned()).or_default() += 1;
                return;
            }
            SpacePlace::Unknown => return,
        };
        let data = self.spaces.data(pid, sample.address);
        let is_hitm = sample.source.is_hitm();
        self.recording.by.entry((code, data)).or_default().add(&Measured {
            samples: 1,
            loads: sample.source.is_load().into(),
            stores: sample.source.is_store().into(),
            hitm: is_hitm.into(),
            remote_hitm: (is_hitm && sample.source.is_remote()).into(),
            weight: sample.weight,
        });
    }

    fn text(&mut self, bytes: &[u8]) -> Result<(), String> {
        let neither = "is neither a perf.data file nor what perf script prints, such as with ";
        let neither = [neither, PRINT].concat();
        let mut is_script = false;
        for line in bytes.split(|byte| *byte == b'\n') {
            // A name of a process or file may have other bytes.
            match text::line(&String::from_utf8_lossy(line)) {
                Some(TextLine::Change(change)) => {
                    is_script = true;
                    self.spaces.change(&change);
                }
                Some(TextLine::Sample(said)) => {
                    is_script = true;
                    let place = self.place(&said);
                    self.take(&said.sample, said.pid, place);
                }
                None => {}
            }
        }
        match (is_script, self.recording.samples) {
            (false, _) => Err(neither),
            (true, 0) => Err(format!("has no sample with data_src; print it with {PRINT}")),
            _ => Ok(()),
        }
    }

    /// By the mappings that the text has; else by the symbol.
    fn place(&mut self, said: &Said<'_>) -> SpacePlace {
        let place = self.spaces.code(said.pid, said.sample.ip);
        if place != SpacePlace::Unknown {
            return place;
        }
        let place = said.file.map_or(SpacePlace::Unknown, |file| self.spaces.file(file));
        match (place, said.symbol) {
            (SpacePlace::There(_), _) => place,
            (_, Some((name, offset))) => self.spaces.symbol(name, offset),
            _ => SpacePlace::Unknown,
        }
    }

    fn finish(self, program: &MeasuredProgram) -> Result<ProgramSamples, String> {
        let Self { spaces, mut recording, elsewhere } = self;
        let mut elsewhere: Vec<(String, u64)> = elsewhere.into_iter().collect();
        elsewhere.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        elsewhere.truncate(MAX_NAMED_PROGRAMS);
        if recording.samples == 0 {
            return Err("holds no samples".to_owned());
        }
        if recording.by.is_empty() {
            let named: Vec<String> =
                elsewhere.iter().map(|(name, count)| format!("{name} ({count})")).collect();
            let why = match (spaces.other_build, named.as_slice()) {
                (true, _) => "it was recorded with another build of it".to_owned(),
                (_, []) => {
                    "the recording does not say which files they are in; add --show-mmap-events"
                        .to_owned()
                }
                (_, named) => format!("most are in {}", named.join(", ")),
            };
            let (count, program) = (recording.samples, program.path.display());
            return Err(format!("has {count} samples and none in {program}: {why}"));
        }
        recording.elsewhere = elsewhere;
        Ok(recording)
    }
}
