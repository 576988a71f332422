//! The head of a request: what of it matters here, and what is wrong with it.
//!
//! httparse finds the lines and the fields. This decides how a message ends, which is where attacks begin: what
//! could be read in two ways is refused, and no request with a body leaves its connection open.

use std::mem::MaybeUninit;

use super::status::Status;

/// Fields of a head; more are refused.
const MOST_FIELDS: usize = 64;

/// What the front of the input is.
#[derive(Debug)]
pub(super) enum Parsed<'a> {
    /// The head has not come in full.
    Incomplete,
    /// A head.
    Head(Head<'a>),
    /// Nothing that a request could begin with. Where the next one begins is not known either.
    Refused(Status),
}

/// The head of a request.
#[derive(Debug)]
pub(super) struct Head<'a> {
    /// What is to be done, or why it is not.
    pub(super) method: Result<Method, Status>,
    /// As it came.
    pub(super) target: &'a [u8],
    /// How the connection goes on after the answer.
    pub(super) persistence: Persistence,
    /// Whether a body follows.
    pub(super) has_body: bool,
    /// Whether the client expects what nobody does here.
    pub(super) expects_more: bool,
    pub(super) conditions: Conditions<'a>,
    /// Bytes of it.
    pub(super) len: usize,
}

/// What can be asked of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
}

/// How a connection goes on after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Persistence {
    /// It ends.
    Close,
    /// It stays, as it does in HTTP/1.1.
    Keep,
    /// It stays, and has to be told so: HTTP/1.0.
    KeepAsAsked,
}

/// The fields on which depends what of a file is sent.
#[derive(Debug, Default)]
pub(super) struct Conditions<'a> {
    pub(super) if_match: Field<'a>,
    pub(super) if_unmodified_since: Field<'a>,
    pub(super) if_none_match: Field<'a>,
    pub(super) if_modified_since: Field<'a>,
    pub(super) if_range: Field<'a>,
    pub(super) range: Field<'a>,
    /// Whether there is any, so that a request without needs one look.
    pub(super) any: bool,
}

/// The value of a field that should come once.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field<'a> {
    #[default]
    Absent,
    Once(&'a [u8]),
    /// What it means then is anybody's guess.
    Repeated,
}

impl<'a> Field<'a> {
    fn add(&mut self, value: &'a [u8]) {
        *self = match self {
            Self::Absent => Self::Once(value),
            _ => Self::Repeated,
        };
    }

    pub(super) fn is_absent(self) -> bool {
        matches!(self, Self::Absent)
    }

    /// The value, if there is exactly one.
    pub(super) fn once(self) -> Option<&'a [u8]> {
        match self {
            Self::Once(value) => Some(value),
            _ => None,
        }
    }
}

/// Reads the head at the front of `input`. One that is not complete in `limit` bytes is too long.
pub(super) fn parse(input: &[u8], limit: usize) -> Parsed<'_> {
    let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(input, &mut fields) {
        Ok(httparse::Status::Complete(len)) => head(&request, len),
        Ok(httparse::Status::Partial) if input.len() < limit => Parsed::Incomplete,
        // The line or the fields: whichever it is that has no end.
        Ok(httparse::Status::Partial) if request.version.is_none() => {
            Parsed::Refused(Status::URI_TOO_LONG)
        }
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            Parsed::Refused(Status::HEAD_TOO_LARGE)
        }
        Err(httparse::Error::Version) => Parsed::Refused(Status::VERSION_NOT_SUPPORTED),
        Err(_) => Parsed::Refused(Status::BAD_REQUEST),
    }
}

/// What the fields mean.
fn head<'a>(request: &httparse::Request<'_, 'a>, len: usize) -> Parsed<'a> {
    let old = request.version == Some(0);
    let mut host = Field::Absent;
    let mut length: Option<u64> = None;
    let (mut chunked, mut close, mut keep) = (false, false, false);
    let mut expects_more = false;
    let mut conditions = Conditions::default();
    for field in request.headers.iter() {
        let value = field.value;
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        // The length tells most names apart at once.
        match field.name.len() {
            4 if is("host") => host.add(value),
            5 if is("range") => conditions.add(|all| &mut all.range, value),
            6 if is("expect") => expects_more |= !value.eq_ignore_ascii_case(b"100-continue"),
            8 if is("if-match") => conditions.add(|all| &mut all.if_match, value),
            8 if is("if-range") => conditions.add(|all| &mut all.if_range, value),
            10 if is("connection") => {
                for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    close |= option.eq_ignore_ascii_case(b"close");
                    keep |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            13 if is("if-none-match") => conditions.add(|all| &mut all.if_none_match, value),
            14 if is("content-length") => match digits(value) {
                Some(said) if length.is_none_or(|before| before == said) => length = Some(said),
                _ => return Parsed::Refused(Status::BAD_REQUEST),
            },
            17 if is("transfer-encoding") => chunked = true,
            17 if is("if-modified-since") => {
                conditions.add(|all| &mut all.if_modified_since, value);
            }
            19 if is("if-unmodified-since") => {
                conditions.add(|all| &mut all.if_unmodified_since, value);
            }
            _ => {}
        }
    }
    // Two lengths are what requests are smuggled with, and HTTP/1.0 knows no chunks.
    let ambiguous = chunked && (length.is_some() || old);
    let hosts = match host {
        Field::Absent => old,
        Field::Once(name) => !name.iter().any(|byte| b" \t/?#@\\".contains(byte)),
        Field::Repeated => false,
    };
    if ambiguous || !hosts {
        return Parsed::Refused(Status::BAD_REQUEST);
    }
    let method = match request.method.unwrap_or_default() {
        "GET" => Ok(Method::Get),
        "HEAD" => Ok(Method::Head),
        "POST" | "PUT" | "DELETE" | "CONNECT" | "OPTIONS" | "TRACE" | "PATCH" => {
            Err(Status::METHOD_NOT_ALLOWED)
        }
        _ => Err(Status::NOT_IMPLEMENTED),
    };
    let has_body = chunked || length.is_some_and(|length| length > 0);
    let persistence = match (has_body || close, old, keep) {
        (true, ..) | (_, true, false) => Persistence::Close,
        (false, false, _) => Persistence::Keep,
        (false, true, true) => Persistence::KeepAsAsked,
    };
    let target = request.path.unwrap_or_default().as_bytes();
    Parsed::Head(Head { method, target, persistence, has_body, expects_more, conditions, len })
}

impl<'a> Conditions<'a> {
    fn add(&mut self, which: impl FnOnce(&mut Self) -> &mut Field<'a>, value: &'a [u8]) {
        self.any = true;
        which(self).add(value);
    }
}

/// A number, and nothing else.
pub(super) fn digits(text: &[u8]) -> Option<u64> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()
}
