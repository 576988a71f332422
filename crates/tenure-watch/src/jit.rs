//! Functions that a process compiled as it ran, as Java and Node do: from the file `/tmp/perf-PID.map`, which they write on request.

use std::fs;

use tenure_model::recording::Function;

use crate::sys::process;

/// A larger file is not read.
const MAX_FILE_BYTES: u64 = 1 << 28;

/// Those of a process that hold one of these addresses. The process may have another root, and another number there.
pub(crate) fn functions(pid: u32, addresses: &[u64]) -> Vec<Function> {
    let number = process::number_inside(pid).unwrap_or(pid);
    let path = format!("/proc/{pid}/root/tmp/perf-{number}.map");
    if fs::metadata(&path).is_ok_and(|file| file.len() > MAX_FILE_BYTES) {
        return Vec::new();
    }
    let text = fs::read(path).unwrap_or_default();
    parsed(&String::from_utf8_lossy(&text), addresses)
}

/// A line has the start, the length, and the name, which may have spaces. A later one replaces those before it.
fn parsed(text: &str, addresses: &[u64]) -> Vec<Function> {
    let mut found: Vec<Function> = Vec::new();
    for line in text.lines() {
        let mut words = line.splitn(3, ' ');
        let mut number = || {
            let digits = words.next()?;
            u64::from_str_radix(digits.strip_prefix("0x").unwrap_or(digits), 16).ok()
        };
        let (Some(start), Some(length)) = (number(), number()) else { continue };
        let (end, Some(name)) = (start.saturating_add(length), words.next()) else { continue };
        found.retain(|known| known.end <= start || end <= known.start);
        // A return address may be the function's end.
        if addresses.iter().any(|address| (start + 1..=end).contains(address)) {
            found.push(Function { start, end, name: name.to_owned() });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_a_map_are_found_and_later_lines_replace_earlier_ones() {
        let map = "\
            7f0010 20 LazyCompile:*old server.js:1\n\
            7f0010 10 LazyCompile:*add server.js:10:5\n\
            0x7f0020 0x10 Interpreter\n\
            no line\n\
            7f0040 10 other\n";
        let found = parsed(map, &[0x7f_0014, 0x7f_0030]);
        let names: Vec<_> = found.iter().map(|it| (it.start, it.end, &*it.name)).collect();
        let add = (0x7f_0010, 0x7f_0020, "LazyCompile:*add server.js:10:5");
        assert_eq!(names, [add, (0x7f_0020, 0x7f_0030, "Interpreter")]);
    }
}
