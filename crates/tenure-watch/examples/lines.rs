//! Watches a process for some seconds, and prints what each thread did to each line where threads met.
//!
//! Usage: lines PID SECONDS

use std::error::Error;
use std::time::Duration;

use tenure_watch::{WatchOptions, WatchRequest, WatchTarget, watch};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut number = || arguments.next().ok_or("usage: lines PID SECONDS");
    let (pid, seconds) = (number()?.parse()?, number()?.parse()?);
    let request = WatchRequest {
        target: WatchTarget::Process(pid),
        duration: Some(Duration::from_secs(seconds)),
        // As often as it can, whatever that takes of the program.
        options: WatchOptions { share: 1e3, ..WatchOptions::default() },
    };
    let watched = watch(&request, &|_| false)?;
    println!("{:?}, traced: {}", watched.counts, watched.is_traced);
    for line in watched.recording.processes.iter().flat_map(|process| &process.lines) {
        println!("{:#x}", line.address);
        for entry in &line.entries {
            println!("  thread {} {:?} +{}", entry.thread, entry.access, entry.offset);
        }
    }
    Ok(())
}
