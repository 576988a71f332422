//! Names what lies at addresses of a program (a process's addresses less its load bias):
//!
//! ```text
//! cargo run --release -p tenure-code --example addresses -- target/debug/server 0x1f3a4 0x5780
//! ```

use std::process::ExitCode;

use tenure_code::MachineCode;
use tenure_debuginfo::Error;
use tenure_debuginfo::program::Program;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(path) = arguments.next() else {
        eprintln!("usage: addresses FILE ADDRESS...");
        return ExitCode::from(2);
    };
    let addresses: Vec<String> =
        arguments.map(|argument| argument.to_string_lossy().into_owned()).collect();
    match show(path.as_ref(), &addresses) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn show(path: &std::path::Path, addresses: &[String]) -> Result<(), Error> {
    let code = MachineCode::from(Program::open(path)?);
    let program = code.program();
    for text in addresses {
        let digits = text.strip_prefix("0x").unwrap_or(text);
        let address = u64::from_str_radix(digits, 16)
            .map_err(|_| Error::new(format!("{text} is not a hexadecimal number")))?;
        println!("{address:#x}");
        for frame in program.frames(address) {
            println!(
                "    {} at {}:{}",
                frame.function,
                frame.file.as_deref().unwrap_or("?"),
                frame.line
            );
        }
        for pointed in code.pointed(address) {
            let place = program.member(&pointed.object, pointed.offset, 1);
            println!("    -> {}, {} +{}", pointed.object.type_name, place.path, pointed.offset);
        }
        if let Some(object) = program.variable(address) {
            let place = program.member(&object, address - object.address, 1);
            let name = object.variable.unwrap_or_default();
            println!("    {name}: {} of {} bytes, {}", object.type_name, object.size, place.path);
        }
    }
    Ok(())
}
