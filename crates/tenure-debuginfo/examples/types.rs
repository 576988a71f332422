//! Prints a file's number of types, and the layouts of types and places of variables by name.
//!
//! `cargo run --release -p tenure-debuginfo --example types -- FILE [NAME...]`

use std::path::PathBuf;
use std::time::Instant;

use tenure_debuginfo::model::TypeKind;
use tenure_debuginfo::read::{Input, Options, read};

fn main() -> Result<(), tenure_debuginfo::Error> {
    let mut arguments = std::env::args().skip(1);
    let input = arguments.next().map_or(Input::Kernel, |path| Input::File(PathBuf::from(path)));
    let names: Vec<String> = arguments.collect();
    let start = Instant::now();
    let model = read(&input, &Options::default(), &())?;
    println!(
        "{} types, {} composites, {} variables, {} units in {:.3} s",
        model.types().len(),
        model.composites().count(),
        model.statics().len(),
        model.units(),
        start.elapsed().as_secs_f64()
    );
    for (id, ty) in model.iter().filter(|(_, ty)| names.iter().any(|name| **name == *ty.name)) {
        println!("{} size {} align {} {:?}", ty.name, ty.size, ty.align, ty.declared);
        if let TypeKind::Composite { shape, members } = &model[id].kind {
            println!("  {shape:?}");
            for member in members {
                println!(
                    "  {:>6} {:?} {} : {}",
                    member.offset,
                    member.bits,
                    member.name,
                    model.spelled(member.ty)
                );
            }
        }
    }
    for variable in
        model.statics().iter().filter(|one| names.iter().any(|name| **name == *one.name))
    {
        println!(
            "{} {}+{:#x} : {}",
            variable.name,
            variable.section,
            variable.address,
            model.spelled(variable.ty)
        );
    }
    Ok(())
}
