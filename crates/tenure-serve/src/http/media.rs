//! What a file is, by its name.

/// Extensions, and the media types of their files. Text is UTF-8.
const TYPES: &[(&str, &str)] = &[
    ("html", "text/html; charset=utf-8"),
    ("htm", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("txt", "text/plain; charset=utf-8"),
    ("md", "text/markdown; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("xml", "text/xml; charset=utf-8"),
    ("json", "application/json"),
    ("map", "application/json"),
    ("webmanifest", "application/manifest+json"),
    ("wasm", "application/wasm"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("zst", "application/zstd"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/x-icon"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("ttf", "font/ttf"),
    ("otf", "font/otf"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
];

/// The media type of the file of that name.
pub(super) fn of(name: &[u8]) -> &'static str {
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let dot = last.iter().rposition(|byte| *byte == b'.');
    let extension = dot.map_or(&[][..], |dot| &last[dot + 1..]);
    let known = TYPES.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(extension));
    known.map_or("application/octet-stream", |(_, media)| media)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_extension_of_the_last_segment_says_what_a_file_is() {
        for (name, media) in [
            ("a/index.html", "text/html; charset=utf-8"),
            ("A.SVG", "image/svg+xml"),
            ("a.tar.gz", "application/gzip"),
            ("a.html/b", "application/octet-stream"),
            ("html", "application/octet-stream"),
            ("a.", "application/octet-stream"),
        ] {
            assert_eq!(of(name.as_bytes()), media, "{name}");
        }
    }
}
