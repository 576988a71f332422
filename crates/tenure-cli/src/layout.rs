//! `tenure layout`.

use std::ffi::OsStr;

use tenure_layout::find::{html, json, terminal};
use tenure_layout::run::{self, Request};
use tenure_types::model::Format;
use tenure_types::read::{Input, Options};

use crate::args::Layout;
use crate::failure::Failure;
use crate::output::{self, Json};
use crate::progress::Bar;

/// The findings to tell unless told.
const TOP: usize = 20;

/// Runs the command.
pub(crate) fn run(arguments: &Layout) -> Result<(), Failure> {
    let json = Json::of(arguments.json.as_ref());
    let request = request(arguments)?;
    for path in json.file().into_iter().chain(arguments.html.as_deref()) {
        output::check(path)?;
    }
    let (model, report) = run::run(&request, &Bar::new()).map_err(Failure::input)?;
    // The process ends with this command: no need to give back half a million allocations one by one.
    std::mem::forget(model);

    // Files first: a reader of the text that goes away does not take them along.
    if let Some(path) = json.file() {
        output::write(path, &json::render(&report))?;
    }
    if let Some(path) = &arguments.html {
        output::write(path, &html::render(&report))?;
    }
    if json == Json::Stdout {
        output::print(&json::render(&report))?;
    } else {
        output::print(&terminal::render(&report, output::style()))?;
    }
    if let Some(path) = &arguments.html {
        let line = format!("\nReport: {}\n", path.display());
        if json == Json::Stdout { eprint!("{line}") } else { output::print(&line)? }
    }
    if report.checks.iter().all(|check| check.passed) { Ok(()) } else { Err(Failure::Check) }
}

fn request(arguments: &Layout) -> Result<Request, Failure> {
    // The page shows every type before and after.
    let suggest = arguments.suggest || arguments.html.is_some();
    if !suggest && !arguments.pins.is_empty() {
        return Err(Failure::input("--pin is for the orders that --suggest and --html propose"));
    }
    if arguments.html.is_some() && arguments.html == arguments.json {
        return Err(Failure::input("--json and --html cannot write the same file"));
    }
    let mut types = Vec::new();
    let input = match &arguments.file {
        // There is no file to name then, and the first word is a type like the others.
        first if arguments.kernel => {
            types.extend(first);
            Input::Kernel
        }
        Some(file) => Input::File(file.into()),
        None => return Err(Failure::input("nothing to read: name a FILE, or give --kernel")),
    };
    types.extend(&arguments.types);
    Ok(Request {
        input,
        options: Options {
            format: arguments.format.as_deref().map(|word| match word {
                "btf" => Format::Btf,
                _ => Format::Dwarf,
            }),
            debug_file: arguments.debug_file.clone(),
            base: arguments.base.clone(),
        },
        types: types.iter().map(|word| text(word)).collect::<Result<_, _>>()?,
        declared_in: arguments.declared_in.clone(),
        top: arguments.top.unwrap_or(if arguments.check.is_some() { 0 } else { TOP }),
        suggest,
        pins: arguments.pins.clone(),
        rules: arguments.rules.clone(),
        check: arguments.check.clone(),
        line_bytes: arguments.line,
    })
}

fn text(word: &OsStr) -> Result<String, Failure> {
    let text = word.to_str().filter(|text| !text.is_empty()).map(str::to_owned);
    text.ok_or_else(|| Failure::input(format!("`{}` is not the name of a type", word.display())))
}
