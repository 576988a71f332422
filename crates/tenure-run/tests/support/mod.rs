//! What tests that record or watch programs share.
#![allow(dead_code, reason = "each uses a part")]

pub(crate) mod installed;

use tenure_model::Finding;

/// All names in a finding.
pub(crate) fn names(finding: &Finding) -> String {
    let words = std::iter::once(&finding.contended).chain(&finding.victims);
    let mut names = vec![finding.type_name.clone(), format!("{:?}", finding.observed)];
    names.extend(words.map(|word| word.path.clone()));
    names.extend(functions(finding));
    names.join(" ")
}

/// The functions that use the words of a finding.
pub(crate) fn functions(finding: &Finding) -> Vec<String> {
    let words = std::iter::once(&finding.contended).chain(&finding.victims);
    let uses = words.flat_map(|word| &word.uses).filter_map(|use_| use_.code.as_ref());
    uses.map(|code| code.function.clone()).collect()
}
