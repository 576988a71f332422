//! The statuses that the server answers with.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Status {
    pub(super) code: u16,
    pub(super) reason: &'static str,
}

macro_rules! statuses {
    ($($name:ident = $code:literal $reason:literal;)*) => {
        impl Status {
            $(pub(super) const $name: Self = Self { code: $code, reason: $reason };)*
        }
    };
}

statuses! {
    OK = 200 "OK";
    PARTIAL_CONTENT = 206 "Partial Content";
    MOVED_PERMANENTLY = 301 "Moved Permanently";
    NOT_MODIFIED = 304 "Not Modified";
    BAD_REQUEST = 400 "Bad Request";
    FORBIDDEN = 403 "Forbidden";
    NOT_FOUND = 404 "Not Found";
    METHOD_NOT_ALLOWED = 405 "Method Not Allowed";
    PRECONDITION_FAILED = 412 "Precondition Failed";
    URI_TOO_LONG = 414 "URI Too Long";
    RANGE_NOT_SATISFIABLE = 416 "Range Not Satisfiable";
    EXPECTATION_FAILED = 417 "Expectation Failed";
    HEAD_TOO_LARGE = 431 "Request Header Fields Too Large";
    SERVER_ERROR = 500 "Internal Server Error";
    NOT_IMPLEMENTED = 501 "Not Implemented";
    UNAVAILABLE = 503 "Service Unavailable";
    VERSION_NOT_SUPPORTED = 505 "HTTP Version Not Supported";
}
