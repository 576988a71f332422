//! A screen that shows the worst lines while a program is watched: once a second, until `q` or Ctrl-C.
//!
//! It is the text of the report, cut to the terminal. The keyboard gives single keys meanwhile; how it was is restored
//! in the end, also when a panic unwinds.

use std::cell::Cell;
use std::io::{IsTerminal, Write, stdin, stdout};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

/// The time between two pictures.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Another screen, without a cursor; and the one before.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// The way to the top; a line's rest is cleared before the next one.
const TOP: &str = "\x1b[H";
const NEXT: &str = "\x1b[K\r\n";
const CLEAR: &str = "\x1b[J";

pub(crate) struct Screen {
    before: Termios,
    last: Cell<Option<Instant>>,
}

impl Screen {
    /// `None` unless a person can see it and press keys.
    pub(crate) fn open() -> Option<Self> {
        if !stdout().is_terminal() || !stdin().is_terminal() {
            return None;
        }
        let before = tcgetattr(stdin()).ok()?;
        let mut single = before.clone();
        single.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        tcsetattr(stdin(), OptionalActions::Now, &single).ok()?;
        show(ENTER);
        Some(Self { before, last: Cell::new(None) })
    }

    /// Whether `q` was pressed.
    pub(crate) fn is_left(&self) -> bool {
        let mut keys = [0; 16];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        let handle = stdin();
        let mut waiting = [PollFd::new(&handle, PollFlags::IN)];
        let is_there = poll(&mut waiting, Some(&now)).is_ok_and(|ready| ready > 0);
        let read = if is_there { rustix::io::read(&handle, &mut keys).unwrap_or(0) } else { 0 };
        keys[..read].iter().any(|key| matches!(key, b'q' | b'Q'))
    }

    /// Shows a text if it is time, under a line that says how to leave.
    pub(crate) fn refresh(&self, text: impl FnOnce() -> String) {
        if self.last.get().is_some_and(|last| last.elapsed() < REFRESH_INTERVAL) {
            return;
        }
        self.last.set(Some(Instant::now()));
        let (rows, columns) = console::Term::stdout().size();
        show(&picture(&text(), rows.into(), columns.into()));
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        show(LEAVE);
        // Nothing is left to be done if it fails.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

fn show(text: &str) {
    let mut out = stdout().lock();
    // A terminal that has gone is no failure.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// What is written to show the first lines of a text.
fn picture(text: &str, rows: usize, columns: usize) -> String {
    let mut picture = TOP.to_owned();
    let head = "q ends watching, with the report";
    let lines = std::iter::once(head).chain(text.lines()).take(rows.saturating_sub(1).max(1));
    for line in lines {
        picture += &console::truncate_str(line, columns, "…");
        picture += NEXT;
    }
    picture + CLEAR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_has_no_more_lines_and_columns_than_the_terminal() {
        let text = "one\na line that is too long\nthree\nfour";
        let picture = picture(text, 4, 10);
        let lines: Vec<_> = picture.trim_start_matches(TOP).split(NEXT).collect();
        assert_eq!(lines, ["q ends wa…", "one", "a line th…", CLEAR]);
    }
}
