//! The head of a request.
//!
//! httparse finds lines and fields. This decides where a message ends, which attackers exploit: what could be read in
//! two ways is refused, and no request with a body leaves its connection open.

use std::mem::MaybeUninit;

use super::status::Status;
use crate::number::unsigned;

/// Most fields of a head. `--help` names it.
const MOST_FIELDS: usize = 64;

#[derive(Debug)]
pub(super) enum Parsed<'a> {
    Incomplete,
    Head(Head<'a>),
    /// Not a request: where the next one begins is unknown.
    Refused(Status),
}

#[derive(Debug)]
pub(super) struct Head<'a> {
    /// The method, or why it is refused.
    pub(super) method: Result<Method, Status>,
    pub(super) target: &'a [u8],
    pub(super) persistence: Persistence,
    pub(super) has_body: bool,
    pub(super) expects_more: bool,
    pub(super) conditions: Conditions<'a>,
    pub(super) len: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Persistence {
    Close,
    Keep,
    /// The answer says so: HTTP/1.0.
    KeepAsAsked,
}

#[derive(Debug, Default)]
pub(super) struct Conditions<'a> {
    /// A list, over any number of lines.
    pub(super) if_match: Vec<&'a [u8]>,
    pub(super) if_unmodified_since: Field<'a>,
    pub(super) if_none_match: Vec<&'a [u8]>,
    pub(super) if_modified_since: Field<'a>,
    pub(super) if_range: Field<'a>,
    pub(super) range: Field<'a>,
    /// Other requests need one check.
    pub(super) any: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field<'a> {
    #[default]
    Absent,
    Once(&'a [u8]),
    Repeated,
}

impl<'a> Field<'a> {
    fn add(&mut self, value: &'a [u8]) {
        *self = match self {
            Self::Absent => Self::Once(value),
            _ => Self::Repeated,
        };
    }

    pub(super) fn once(self) -> Option<&'a [u8]> {
        match self {
            Self::Once(value) => Some(value),
            _ => None,
        }
    }
}

/// A head incomplete in `limit` bytes is too long.
pub(super) fn parse(input: &[u8], limit: usize) -> Parsed<'_> {
    let mut fields = [const { MaybeUninit::uninit() }; MOST_FIELDS];
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(input, &mut fields) {
        Ok(httparse::Status::Complete(len)) => {
            let (method, target) = (request.method.unwrap_or(""), request.path.unwrap_or(""));
            head(method, target, request.version == Some(0), request.headers, len)
        }
        Ok(httparse::Status::Partial) if input.len() < limit => Parsed::Incomplete,
        // Either the line or the fields are too long.
        Ok(httparse::Status::Partial) if request.version.is_none() => {
            Parsed::Refused(Status::URI_TOO_LONG)
        }
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            Parsed::Refused(Status::HEAD_TOO_LARGE)
        }
        Err(httparse::Error::Version) => other_version(input, limit),
        Err(_) => Parsed::Refused(Status::BAD_REQUEST),
    }
}

/// A version unknown to httparse. A minor one is answered as HTTP/1.1 (RFC 9110, section 2.5).
fn other_version(input: &[u8], limit: usize) -> Parsed<'_> {
    // Empty lines before a request are skipped, as in httparse.
    let start = input.iter().position(|byte| !b"\r\n".contains(byte)).unwrap_or(input.len());
    let end = input[start..].iter().position(|byte| *byte == b'\n').map(|at| start + at);
    let line = &input[start..end.unwrap_or(input.len())];
    let mut words = line.strip_suffix(b"\r").unwrap_or(line).splitn(3, |byte| *byte == b' ');
    let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next())
    else {
        return Parsed::Refused(Status::BAD_REQUEST);
    };
    match (version.strip_prefix(b"HTTP/1."), version.strip_prefix(b"HTTP/")) {
        (Some([minor]), _) if minor.is_ascii_digit() => {}
        (None, Some([major, ..])) if major.is_ascii_digit() => {
            return Parsed::Refused(Status::VERSION_NOT_SUPPORTED);
        }
        _ => return Parsed::Refused(Status::BAD_REQUEST),
    }
    let word = |bytes: &'_ [u8]| !bytes.is_empty() && bytes.iter().all(u8::is_ascii_graphic);
    let (Ok(method), Ok(target)) = (std::str::from_utf8(method), std::str::from_utf8(target))
    else {
        return Parsed::Refused(Status::BAD_REQUEST);
    };
    if !word(method.as_bytes()) || !word(target.as_bytes()) {
        return Parsed::Refused(Status::BAD_REQUEST);
    }
    let mut fields = [httparse::EMPTY_HEADER; MOST_FIELDS];
    let after = end.map_or(input.len(), |end| end + 1);
    match httparse::parse_headers(&input[after..], &mut fields) {
        Ok(httparse::Status::Complete((len, fields))) if end.is_some() => {
            head(method, target, false, fields, after + len)
        }
        Ok(_) if input.len() < limit => Parsed::Incomplete,
        Ok(_) if end.is_none() => Parsed::Refused(Status::URI_TOO_LONG),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => Parsed::Refused(Status::HEAD_TOO_LARGE),
        Err(_) => Parsed::Refused(Status::BAD_REQUEST),
    }
}

/// `old` is HTTP/1.0.
fn head<'a>(
    method: &str,
    target: &'a str,
    old: bool,
    fields: &[httparse::Header<'a>],
    len: usize,
) -> Parsed<'a> {
    let mut host = Field::Absent;
    let mut length: Option<u64> = None;
    let (mut chunked, mut close, mut keep) = (false, false, false);
    let mut expects_more = false;
    let mut conditions = Conditions::default();
    for field in fields {
        let value = field.value;
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        // The length separates most names at once.
        match field.name.len() {
            4 if is("host") => host.add(value),
            5 if is("range") => conditions.any().range.add(value),
            6 if is("expect") => expects_more |= !value.eq_ignore_ascii_case(b"100-continue"),
            8 if is("if-match") => conditions.any().if_match.push(value),
            8 if is("if-range") => conditions.any().if_range.add(value),
            10 if is("connection") => {
                for option in value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    close |= option.eq_ignore_ascii_case(b"close");
                    keep |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            13 if is("if-none-match") => conditions.any().if_none_match.push(value),
            14 if is("content-length") => match unsigned(value) {
                Some(said) if length.is_none_or(|before| before == said) => length = Some(said),
                _ => return Parsed::Refused(Status::BAD_REQUEST),
            },
            // The end of a body in another coding is unknown.
            17 if is("transfer-encoding") => match value.eq_ignore_ascii_case(b"chunked") {
                true if !chunked => chunked = true,
                _ => return Parsed::Refused(Status::BAD_REQUEST),
            },
            17 if is("if-modified-since") => conditions.any().if_modified_since.add(value),
            19 if is("if-unmodified-since") => conditions.any().if_unmodified_since.add(value),
            _ => {}
        }
    }
    // Two lengths smuggle requests, and HTTP/1.0 has no chunks.
    let ambiguous = chunked && (length.is_some() || old);
    let hosts = match host {
        Field::Absent => old,
        Field::Once(name) => !name.iter().any(|byte| b" \t/?#@\\".contains(byte)),
        Field::Repeated => false,
    };
    if ambiguous || !hosts {
        return Parsed::Refused(Status::BAD_REQUEST);
    }
    let method = match method {
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
    let target = target.as_bytes();
    Parsed::Head(Head { method, target, persistence, has_body, expects_more, conditions, len })
}

impl Conditions<'_> {
    fn any(&mut self) -> &mut Self {
        self.any = true;
        self
    }
}
