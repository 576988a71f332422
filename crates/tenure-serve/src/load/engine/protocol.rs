//! What a protocol is to the engine: it writes requests, and recognises their answers.

/// A protocol, on one thread of the generator.
pub(crate) trait Protocol: Send {
    /// What was asked, as far as it decides what the answer has to be.
    type Ask: Copy + Send;
    /// How far into an answer a connection is.
    type Scan: Default + Send;

    /// The kinds of requests, in the order of [`kind`](Self::kind).
    const KINDS: &'static [&'static str];

    /// Appends a request. `None`: there is nothing more to ask.
    fn ask(&mut self, out: &mut Vec<u8>) -> Option<Self::Ask>;

    /// Which of [`KINDS`](Self::KINDS) that is.
    fn kind(ask: Self::Ask) -> usize;

    /// Takes bytes of the answer to `ask` from the front of `input`, until it is complete or there are no more.
    fn scan(&self, scan: &mut Self::Scan, ask: Self::Ask, input: &[u8]) -> Step;

    /// The connection has ended here: the answer, if this is how it ends.
    fn end(&self, scan: &mut Self::Scan, ask: Self::Ask) -> Option<Answer>;
}

/// How far a scan came.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Bytes that are done with: all of them if there is no answer yet.
    pub(crate) consumed: usize,
    /// The answer, if it is complete.
    pub(crate) answer: Option<Answer>,
}

/// A complete answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What it says.
    pub(crate) verdict: Verdict,
    /// The server ends the connection after it.
    pub(crate) closes: bool,
}

/// What an answer says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// What was asked for.
    Done,
    /// There is no such object.
    Miss,
    /// The server says that it does not do that, in these words.
    Refused(String),
    /// Not what was asked for; where the answer ends is known nevertheless.
    Wrong(String),
    /// Not an answer at all: the connection is of no more use.
    Broken(String),
}

impl From<Verdict> for Answer {
    fn from(verdict: Verdict) -> Self {
        Self { verdict, closes: false }
    }
}

/// The beginning of what came, fit to be shown in a line.
#[cold]
pub(crate) fn shown(bytes: &[u8]) -> String {
    let bytes = bytes.trim_ascii_end();
    String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).escape_debug().to_string()
}
