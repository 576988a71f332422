//! `tenure layout`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;

use tenure_analyze::diff;
use tenure_debuginfo::model::Format;
use tenure_debuginfo::read::{Input, Options};
use tenure_layout::run::{self, LayoutRequest};
use tenure_model::Report;
use tenure_render::Exporter;
use tenure_render::terminal::TerminalExporter;

use crate::exports::Exports;
use crate::failure::EarlyEnd;
use crate::output;
use crate::progress::ProgressDisplay;
use crate::values::line;

const TOP: usize = 20;

/// Find fields that share a cache line with a word that many CPUs write
///
/// Reads the debugging information of a program, a library or the running kernel, and ranks the types to fix, worst first. For
/// types and variables named on the command line it shows everything, with their maps.
///
/// A contended word is one that many CPUs write: a reference count, a lock, another atomic. `!` marks it; `*` marks the
/// members on its line that other CPUs likely read, which suffer. A score from 0 to 100 orders the findings; it comes from
/// types, names, rules and, on x86-64, code, and measures nothing. The confidence is the share of possible addresses at which the two share a line.
#[derive(Debug, Args)]
#[command(
    override_usage = "tenure layout [OPTIONS] <--kernel | FILE> [NAME]...",
    after_help = "Examples:\n  \
                  tenure layout --kernel\n  \
                  tenure layout ./server --in '*/src/*'\n  \
                  tenure layout ./server 'Session*' --suggest\n  \
                  tenure layout ./server --perf perf.data\n  \
                  tenure layout ./server --check rules.toml\n\n\
                  `cargo doc -p tenure-layout --open` explains the score (module `sharing`) and \
                  rules files (module `rules`).\n\
                  Exit status: 0; 1 if a check failed or, with --diff, a finding is new or worse; 2 on unreadable input or \
                  wrong usage."
)]
pub(crate) struct LayoutArgs {
    /// Read the running kernel (/sys/kernel/btf/vmlinux)
    #[arg(long)]
    kernel: bool,

    /// Read this executable, library, object file or archive with debugging information (DWARF or BTF), or a
    /// file of raw BTF. Not with --kernel
    #[arg(value_name = "FILE")]
    file: Option<OsString>,

    /// Report only these types and variables, in full and with their maps; `*` matches anything
    #[arg(value_name = "NAME")]
    types: Vec<OsString>,

    /// Report only types declared in matching files, such as `*/include/net/*`, or in Rust those of a crate
    /// or module, such as `server::session` (repeatable). Needs DWARF
    #[arg(long = "in", value_name = "PATTERN")]
    declared_in: Vec<String>,

    /// List findings of dependencies and standard libraries as well
    #[arg(long)]
    all: bool,

    /// Report at most N findings [default: 20; all of types that are named; none with --check]
    #[arg(long, value_name = "N")]
    top: Option<usize>,

    /// Propose a better layout: another order of members, lines of its own for the contended word, or splitting it
    /// off; each with its price in bytes per object
    #[arg(long)]
    suggest: bool,

    /// With --suggest: keep this member, and all before it, in place: MEMBER or TYPE.MEMBER (repeatable)
    #[arg(long = "pin", value_name = "MEMBER")]
    pins: Vec<String>,

    /// Read rules that say which members are contended, read mostly or cold (repeatable)
    #[arg(long, value_name = "RULES.toml")]
    rules: Vec<PathBuf>,

    /// Check the assertions of a rules file, and exit with 1 if one fails
    #[arg(long, value_name = "RULES.toml")]
    check: Option<PathBuf>,

    /// Show which findings came, went or moved since an older build, or since a report that --json wrote; exit with 1 if
    /// one is new or worse
    #[arg(long, value_name = "OLD")]
    diff: Option<PathBuf>,

    /// Read this format if the file has both [default: dwarf]
    #[arg(long, value_name = "FORMAT", value_parser = ["dwarf", "btf"])]
    format: Option<String>,

    /// Read the debugging information from this file, if it is not found automatically
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    debug_file: Option<PathBuf>,

    /// Read this BTF of the kernel that a module was built for [default: the running kernel's]
    #[arg(long, value_name = "FILE", conflicts_with = "kernel")]
    base: Option<PathBuf>,

    /// Read what perf has measured of the program: a perf.data file of perf c2c record or perf mem record, or what
    /// perf script printed (`-` for standard input). Measured findings are listed first
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kernel", "no_code"])]
    perf: Option<PathBuf>,

    /// Do not read the program's code: judge words by their types and names alone, which is faster
    #[arg(long)]
    no_code: bool,

    /// Assume cache lines of so many bytes
    #[arg(long, value_name = "BYTES", default_value_t = tenure_layout::LINE_BYTES, value_parser = line)]
    line: u64,

    #[command(flatten)]
    exports: Exports,
}

pub(crate) fn run(arguments: &LayoutArgs) -> Result<(), EarlyEnd> {
    let request = request(arguments)?;
    let exports = &arguments.exports;
    exports.check()?;
    let old = arguments.diff.as_deref().map(|path| older(path, &request)).transpose()?;
    // What differs may be anywhere in the list; it is cut afterwards.
    let top = if old.is_some() && !request.suggest { usize::MAX } else { request.top };
    let (model, mut report) =
        run::run(&LayoutRequest { top, ..request.clone() }, &ProgressDisplay::new())
            .map_err(EarlyEnd::input)?;
    // The process ends next: do not free half a million allocations one by one.
    std::mem::forget(model);

    let changes = old.map(|old| diff::changes(&old, &report)).transpose();
    report.changes = changes.map_err(EarlyEnd::input)?;
    report.cut(request.top);
    exports.write(&report, false)?;
    let has_text = exports.leave_text();
    if has_text {
        output::print(&TerminalExporter::new(output::style()).export(&report))?;
    }
    exports.pages().try_for_each(|page| output::name_page(page, has_text))?;
    if report.passes() { Ok(()) } else { Err(EarlyEnd::Check) }
}

/// A report that `--json` wrote, or that of an older build.
fn older(path: &Path, request: &LayoutRequest) -> Result<Report, EarlyEnd> {
    let mut start = Vec::new();
    let is_json = File::open(path)
        .and_then(|file| file.take(64).read_to_end(&mut start))
        .is_ok_and(|_| start.trim_ascii_start().starts_with(b"{"));
    if is_json {
        return diff::read(path).map_err(EarlyEnd::input);
    }
    let older = LayoutRequest {
        input: Input::File(path.to_owned()),
        options: Options { debug_file: None, ..request.options.clone() },
        top: usize::MAX,
        suggest: false,
        pins: Vec::new(),
        perf: None,
        ..request.clone()
    };
    let report = run::run(&older, &ProgressDisplay::new()).map(|(_, report)| report);
    report.map_err(|error| EarlyEnd::input(format!("--diff {}: {error}", path.display())))
}

/// Whether a word is no type's name, but a file's path.
fn is_file(word: &OsStr) -> bool {
    word.as_encoded_bytes().contains(&b'/') && Path::new(word).is_file()
}

fn request(arguments: &LayoutArgs) -> Result<LayoutRequest, EarlyEnd> {
    let suggest = arguments.suggest || arguments.exports.pages().next().is_some();
    if !suggest && !arguments.pins.is_empty() {
        return Err(EarlyEnd::input("--pin is for the orders that --suggest and --html propose"));
    }
    let mut types = Vec::new();
    let input = match &arguments.file {
        // Without a file, the first word is a type like the others.
        Some(word) if arguments.kernel && is_file(word) => {
            return Err(EarlyEnd::input(format!(
                "--kernel reads the running kernel: leave out {}, or leave out --kernel",
                Path::new(word).display()
            )));
        }
        first if arguments.kernel => {
            types.extend(first);
            Input::Kernel
        }
        Some(file) => Input::File(file.into()),
        None => return Err(EarlyEnd::input("nothing to read: name a FILE, or give --kernel")),
    };
    types.extend(&arguments.types);
    Ok(LayoutRequest {
        input,
        options: Options {
            format: arguments.format.as_deref().map(|word| match word {
                "btf" => Format::Btf,
                _ => Format::Dwarf,
            }),
            debug_file: arguments.debug_file.clone(),
            base: arguments.base.clone(),
        },
        top: arguments.top.unwrap_or(match (arguments.check.is_some(), types.is_empty()) {
            (true, _) => 0,
            (false, true) => TOP,
            (false, false) => usize::MAX,
        }),
        types: types.iter().map(|word| text(word)).collect::<Result<_, _>>()?,
        declared_in: arguments.declared_in.clone(),
        all: arguments.all,
        suggest,
        pins: arguments.pins.clone(),
        rules: arguments.rules.clone(),
        check: arguments.check.clone(),
        code: !arguments.no_code,
        perf: arguments.perf.clone(),
        line_bytes: arguments.line,
    })
}

fn text(word: &OsStr) -> Result<String, EarlyEnd> {
    let text = word.to_str().filter(|text| !text.is_empty()).map(str::to_owned);
    text.ok_or_else(|| {
        EarlyEnd::input(format!("`{}` is not the name of a type or variable", word.display()))
    })
}
