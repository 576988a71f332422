//! Text made while constants are evaluated, where there is no allocator and no `fmt`.

pub(super) struct Report {
    text: [u8; BYTES],
    len: usize,
    /// Where the text has to end: the rest is kept free until all findings are in.
    limit: usize,
    overflowed: bool,
    /// Where the current finding begins.
    finding: usize,
    findings: usize,
    omitted: usize,
}

/// Room for some forty findings. The rest are only counted.
const BYTES: usize = 6144;
const END_BYTES: usize = 1024;

impl Report {
    pub(super) const fn new() -> Self {
        Self {
            text: [0; BYTES],
            len: 0,
            limit: BYTES - END_BYTES,
            overflowed: false,
            finding: 0,
            findings: 0,
            omitted: 0,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.findings + self.omitted == 0
    }

    pub(super) const fn as_str(&self) -> &str {
        match core::str::from_utf8(self.text.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => unreachable!(),
        }
    }

    /// Writes `text`, whole or not at all.
    pub(super) const fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    pub(super) const fn number(&mut self, number: usize) -> &mut Self {
        let mut power = 1;
        while number / power >= 10 {
            power *= 10;
        }
        while power > 0 {
            self.bytes(&[b'0' + (number / power % 10) as u8]);
            power /= 10;
        }
        self
    }

    const fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        if self.overflowed || bytes.len() > self.limit - self.len {
            self.overflowed = true;
            return self;
        }
        let mut i = 0;
        while i < bytes.len() {
            self.text[self.len + i] = bytes[i];
            i += 1;
        }
        self.len += bytes.len();
        self
    }

    /// Says whether to write this finding: once one did not fit, the rest are only counted.
    #[must_use]
    pub(super) const fn begin(&mut self) -> bool {
        if self.omitted > 0 {
            self.omitted += 1;
            return false;
        }
        self.finding = self.len;
        self.text("\n  - ");
        true
    }

    /// Takes back a finding that did not fit.
    pub(super) const fn end(&mut self) {
        if self.overflowed {
            self.len = self.finding;
            self.overflowed = false;
            self.omitted += 1;
        } else {
            self.findings += 1;
        }
    }

    /// Says how many findings did not fit, and opens the rest of the text to what comes after them.
    pub(super) const fn end_of_findings(&mut self) -> &mut Self {
        self.limit = BYTES;
        let omitted = self.omitted;
        if omitted > 0 {
            self.text("\n  - and ").number(omitted).text(" more");
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(number: usize) -> std::string::String {
        Report::new().number(number).as_str().into()
    }

    #[test]
    fn numbers_are_written_in_decimal() {
        assert_eq!(written(0), "0");
        assert_eq!(written(9), "9");
        assert_eq!(written(10), "10");
        assert_eq!(written(4096), "4096");
        assert_eq!(written(usize::MAX), std::format!("{}", usize::MAX));
    }

    #[test]
    fn a_report_is_empty_until_a_finding_ends() {
        let mut report = Report::new();
        report.text("of nothing");
        assert!(report.is_empty());
        assert!(report.begin());
        report.text("one").end();
        assert!(!report.is_empty());
        assert_eq!(report.as_str(), "of nothing\n  - one");
    }

    #[test]
    fn findings_that_do_not_fit_are_counted_and_the_end_is_written_all_the_same() {
        let mut report = Report::new();
        let long = "x".repeat(END_BYTES);
        for _ in 0..10 {
            if report.begin() {
                report.text("found: ").text(&long).end();
            }
        }
        report.end_of_findings().text(" and the end");
        assert!(report.as_str().ends_with("x\n  - and 6 more and the end"));
        assert_eq!(report.as_str().matches("found: ").count(), 4);
    }
}
