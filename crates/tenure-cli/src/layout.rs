use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use tenure_layout::run::{self, LayoutRequest};
use tenure_model::Report;
use tenure_render::{diff, html, json, terminal};
use tenure_types::model::Format;
use tenure_types::read::{Input, Options};

use crate::args::LayoutArgs;
use crate::failure::EarlyEnd;
use crate::output::{self, Json};
use crate::progress::ProgressDisplay;

const TOP: usize = 20;

pub(crate) fn run(arguments: &LayoutArgs) -> Result<(), EarlyEnd> {
    let json = Json::of(arguments.json.as_ref());
    let request = request(arguments)?;
    output::check_all(json, arguments.html.as_deref())?;
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
    let (page, html) = (arguments.html.as_deref(), || html::render(&report));
    let text = |style| terminal::render(&report, style);
    output::deliver(json, &json::render(&report), page, html, text)?;
    if report.passes() { Ok(()) } else { Err(EarlyEnd::Check) }
}

/// A report that `--json` wrote, or that of an older build.
fn older(path: &Path, request: &LayoutRequest) -> Result<Report, EarlyEnd> {
    let mut start = Vec::new();
    let is_json = File::open(path)
        .and_then(|file| file.take(64).read_to_end(&mut start))
        .is_ok_and(|_| start.trim_ascii_start().starts_with(b"{"));
    if is_json {
        return json::read(path).map_err(EarlyEnd::input);
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

fn request(arguments: &LayoutArgs) -> Result<LayoutRequest, EarlyEnd> {
    let suggest = arguments.suggest || arguments.html.is_some();
    if !suggest && !arguments.pins.is_empty() {
        return Err(EarlyEnd::input("--pin is for the orders that --suggest and --html propose"));
    }
    if arguments.html.is_some() && arguments.html == arguments.json {
        return Err(EarlyEnd::input("--json and --html cannot write the same file"));
    }
    let mut types = Vec::new();
    let input = match &arguments.file {
        // Without a file, the first word is a type like the others.
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
