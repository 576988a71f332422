//! The parser's view of a file: attributes and annotations are blank, and their places are kept.

use std::ops::Range;

use tenure_model::{Language, SourceEdit};
use tree_sitter::{Node, Parser, Tree};

use super::SourceText;
use crate::{Refusal, SourcePlace};

/// A parsed file.
pub(super) struct Parsed<'a> {
    pub(super) source: &'a SourceText<'a>,
    /// Attributes and annotations, which the tree does not have.
    pub(super) blank: Vec<Range<usize>>,
    /// Conditions of which only the last branch is read, as a branch alone is no declaration.
    partial: Vec<Range<usize>>,
    tree: Tree,
}

impl<'a> Parsed<'a> {
    pub(super) fn new(source: &'a SourceText<'a>) -> Self {
        let (blank, partial) = blanks(source.text.as_bytes());
        let mut text = source.text.as_bytes().to_vec();
        for byte in blank.iter().flat_map(Clone::clone) {
            if !text[byte].is_ascii_whitespace() {
                text[byte] = b' ';
            }
        }
        let grammar = match source.language {
            Language::C => tree_sitter_c::LANGUAGE,
            _ => tree_sitter_cpp::LANGUAGE,
        };
        let mut parser = Parser::new();
        parser
            .set_language(&grammar.into())
            .expect("Cargo.lock has grammars of the parser's version");
        let tree = parser.parse(text, None).expect("the parser has a language, and no time limit");
        Self { source, blank, partial, tree }
    }

    pub(super) fn root(&self) -> Node<'_> {
        self.tree.root_node()
    }

    /// The text of a node, with its attributes.
    pub(super) fn text(&self, node: Node<'_>) -> &'a str {
        &self.source.text[node.byte_range()]
    }

    /// Every node of some kinds, outer ones first.
    pub(super) fn all<'t>(&'t self, kinds: &[&str]) -> Vec<Node<'t>> {
        descendants(self.root()).into_iter().filter(|node| kinds.contains(&node.kind())).collect()
    }

    /// A refusal at a node.
    pub(super) fn refuse(&self, node: Node<'_>, why: String) -> Refusal {
        self.refuse_line(node.start_position().row as u64 + 1, why)
    }

    /// A refusal at a line.
    pub(super) fn refuse_line(&self, line: u64, why: String) -> Refusal {
        Refusal { place: SourcePlace { file: self.source.file.to_path_buf(), line }, why }
    }

    /// An edit of the file.
    pub(super) fn edit(&self, range: Range<usize>, text: String) -> SourceEdit {
        let file = self.source.file.display().to_string();
        SourceEdit { file, range: [range.start as u64, range.end as u64], text }
    }

    /// Whether the file is for C++ alone.
    pub(super) fn is_cpp(&self) -> bool {
        self.source.language == Language::Cpp && !self.source.text.contains("__cplusplus")
    }

    /// The alignment that a declaration starts with.
    pub(super) fn alignment(&self, line_bytes: u64) -> String {
        if self.is_cpp() {
            format!("alignas({line_bytes})")
        } else {
            format!("__attribute__((aligned({line_bytes})))")
        }
    }

    /// Where a declaration starts, with the attributes before it.
    pub(super) fn start(&self, node: Node<'_>) -> usize {
        let mut start = node.start_byte();
        for blank in self.blank.iter().rev().filter(|blank| blank.end <= node.start_byte()) {
            let is_directive = self.source.text[blank.clone()].starts_with('#');
            if is_directive || !self.source.text[blank.end..start].trim().is_empty() {
                break;
            }
            start = blank.start;
        }
        start
    }

    /// The largest alignment that a piece of the file declares with a number; 0 for none.
    pub(super) fn declared_alignment(&self, range: Range<usize>) -> u64 {
        let text = &self.source.text[range];
        let words = ["alignas", "_Alignas", "aligned"];
        let pieces = words.iter().flat_map(|word| text.split(word).skip(1));
        let numbers = pieces.filter_map(|piece| {
            let piece = piece.trim_start_matches(['_', ' ', '(']);
            piece.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
        });
        numbers.max().unwrap_or(0)
    }

    /// Whether `#if` guards a node, up to a surrounding one.
    pub(super) fn is_conditional(&self, node: Node<'_>, within: Node<'_>) -> bool {
        let mut above = node.parent();
        while let Some(node) = above.filter(|node| *node != within) {
            if node.kind().starts_with("preproc_") {
                return true;
            }
            above = node.parent();
        }
        self.partial_at(node).is_some_and(|partial| within.start_byte() < partial.start)
    }

    fn partial_at(&self, node: Node<'_>) -> Option<&Range<usize>> {
        self.partial.iter().find(|partial| partial.contains(&node.start_byte()))
    }

    /// The line where the condition starts whose last branch has a node.
    pub(super) fn line_of_condition(&self, node: Node<'_>) -> Option<u64> {
        let start = self.partial_at(node)?.start;
        Some(self.source.text[..start].matches('\n').count() as u64 + 1)
    }

    /// Whether a macro's definition covers a line.
    pub(super) fn is_in_macro(&self, line: u64) -> bool {
        let macros = self.all(&["preproc_def", "preproc_function_def"]);
        macros.iter().any(|node| lines(*node).contains(&line))
    }
}

/// A node and all below it, outer ones first.
pub(super) fn descendants(root: Node<'_>) -> Vec<Node<'_>> {
    let mut found = Vec::new();
    let mut cursor = root.walk();
    loop {
        found.push(cursor.node());
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return found;
            }
        }
    }
}

/// The children of a node, with punctuation.
pub(super) fn children(node: Node<'_>) -> Vec<Node<'_>> {
    node.children(&mut node.walk()).collect()
}

/// The lines of a node, from 1; the end is behind its last line.
pub(super) fn lines(node: Node<'_>) -> Range<u64> {
    // A directive's node ends where the next line starts.
    let end = node.end_position();
    let last = end.row as u64 + u64::from(end.column > 0);
    node.start_position().row as u64 + 1..last + 1
}

/// The node that names what a declarator declares: `call` of `(*call)(long)`.
pub(super) fn declared(declarator: Node<'_>) -> Node<'_> {
    let inner = match declarator.kind() {
        "qualified_identifier" => declarator.child_by_field_name("name"),
        "parenthesized_declarator" | "reference_declarator" | "attributed_declarator" => declarator
            .named_children(&mut declarator.walk())
            .find(|child| child.kind() != "ms_call_modifier"),
        _ => declarator.child_by_field_name("declarator"),
    };
    inner.map_or(declarator, declared)
}

/// Whether a declarator is of data: not of a function, and not a macro's parameter (`NON_COPYABLE (name)`).
pub(super) fn is_data(declarator: Node<'_>) -> bool {
    let above = declared(declarator).parent().map_or("", |above| above.kind());
    !matches!(above, "function_declarator" | "parenthesized_declarator" | "operator_name")
}

/// Whether the parser did not understand a declaration, or what stands beside it.
pub(super) fn is_broken(declaration: Node<'_>) -> bool {
    let is_error = |node: Option<Node<'_>>| node.is_some_and(|node| node.is_error());
    // `MACRO(x)` alone declares nothing, and `MACRO int x;` is read as two declarations.
    let unfinished = declaration.prev_sibling().filter(|before| {
        children(*before).last().is_some_and(Node::is_missing)
            && before.child_by_field_name("declarator").is_some_and(is_data)
    });
    declaration.has_error()
        || unfinished.is_some()
        || is_error(declaration.prev_sibling())
        || is_error(declaration.next_sibling())
}

/// A word of C, its punctuation, or a whole directive.
struct Token<'a> {
    text: &'a [u8],
    range: Range<usize>,
}

/// Words, punctuation and directives of a file, without comments and strings.
fn tokens(text: &[u8]) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut at, mut starts_line) = (0, true);
    let until = |from: usize, end: &[u8]| {
        let rest = text[from..].windows(end.len()).position(|piece| piece == end);
        rest.map_or(text.len(), |length| from + length + end.len())
    };
    while at < text.len() {
        let start = at;
        let next = text.get(at + 1).copied().unwrap_or(0);
        match text[at] {
            b'\n' => (at, starts_line) = (at + 1, true),
            byte if byte.is_ascii_whitespace() => at += 1,
            b'/' if next == b'/' => at = until(at, b"\n") - 1,
            b'/' if next == b'*' => at = until(at + 2, b"*/"),
            b'#' if starts_line => {
                at = until(at, b"\n");
                while text[..at].trim_ascii_end().ends_with(b"\\") && at < text.len() {
                    at = until(at, b"\n");
                }
                found.push(Token { text: &text[start..at], range: start..at });
            }
            b'R' if next == b'"' => {
                let delimiter = text[at + 2..].iter().position(|&byte| byte == b'(').unwrap_or(0);
                let end = [b")", &text[at + 2..at + 2 + delimiter], b"\""].concat();
                at = until(at + 2, &end);
            }
            quote @ (b'"' | b'\'') => {
                at += 1;
                while at < text.len() && text[at] != quote && text[at] != b'\n' {
                    at += 1 + usize::from(text[at] == b'\\');
                }
                at = (at + 1).min(text.len());
            }
            byte if byte.is_ascii_alphanumeric() || byte == b'_' => {
                // A digit separator of C++ is part of its number.
                let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                while at < text.len()
                    && (is_part(text[at])
                        || text[at] == b'\''
                            && byte.is_ascii_digit()
                            && text.get(at + 1).is_some_and(|&b| is_part(b)))
                {
                    at += 1;
                }
                (starts_line, _) =
                    (false, found.push(Token { text: &text[start..at], range: start..at }));
            }
            _ => {
                at += 1;
                (starts_line, _) =
                    (false, found.push(Token { text: &text[start..at], range: start..at }));
            }
        }
    }
    found
}

/// The index of the token that closes the parenthesis at an index.
fn closing(tokens: &[Token<'_>], open: usize) -> Option<usize> {
    if tokens.get(open)?.text != b"(" {
        return None;
    }
    let mut depth = 0;
    tokens[open..]
        .iter()
        .position(|token| {
            depth += i32::from(token.text == b"(") - i32::from(token.text == b")");
            depth == 0
        })
        .map(|length| open + length)
}

/// Words that no type ends with.
const NOT_TYPES: &[&[u8]] = &[
    b"return",
    b"else",
    b"do",
    b"case",
    b"throw",
    b"delete",
    b"new",
    b"goto",
    b"sizeof",
    b"static",
    b"extern",
    b"const",
    b"mutable",
    b"inline",
    b"volatile",
    b"typedef",
    b"struct",
    b"class",
    b"union",
    b"enum",
    b"virtual",
    b"explicit",
    b"constexpr",
    b"operator",
];

/// Words that are types, and so no names.
const TYPES: &[&[u8]] = &[
    b"unsigned",
    b"signed",
    b"long",
    b"short",
    b"int",
    b"char",
    b"float",
    b"double",
    b"void",
    b"bool",
    b"auto",
];

/// A condition that is open: the token of each of its branches' directives.
type Branches = Vec<usize>;

/// Conditions with branches that are no declarations: `#if … class A #else … class B #endif {`. What is left out, and the whole.
fn partial(tokens: &[Token<'_>]) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let (mut left_out, mut whole) = (Vec::new(), Vec::new());
    let mut open: Vec<Branches> = Vec::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.text[0] == b'#') {
        let directive = token.text[1..].trim_ascii_start();
        if directive.starts_with(b"if") {
            open.push(vec![at]);
        } else if directive.starts_with(b"el") {
            open.iter_mut().last().into_iter().for_each(|branches| branches.push(at));
        } else if directive.starts_with(b"endif")
            && let Some(branches) = open.pop().filter(|branches| branches.len() > 1)
        {
            let last = branches[branches.len() - 1];
            let depth = |tokens: &[Token<'_>]| {
                let braces = |brace| tokens.iter().filter(|token| token.text == brace).count();
                braces(b"{").cmp(&braces(b"}"))
            };
            let ends = [&branches[1..], &[at]].concat();
            let unbalanced =
                branches.iter().zip(ends).any(|(from, to)| depth(&tokens[*from..to]).is_ne());
            let heads = tokens.get(at + 1).is_some_and(|next| next.text == b"{")
                && !matches!(tokens[at - 1].text, b";" | b"}" | b"{");
            if unbalanced || heads {
                let start = tokens[branches[0]].range.start;
                left_out.extend([start..tokens[last].range.end, token.range.clone()]);
                whole.push(start..token.range.end);
            }
        }
    }
    (left_out, whole)
}

/// The attributes and annotations that the grammars do not know in every place, and what `partial` finds.
fn blanks(text: &[u8]) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
    let mut tokens = tokens(text);
    let (mut found, partial) = partial(&tokens);
    tokens.retain(|token| token.text[0] != b'#');
    let is_word = |token: &Token<'_>| token.text[0].is_ascii_alphabetic() || token.text[0] == b'_';
    let is_macro = |token: &Token<'_>| {
        token.text.len() > 2
            && token
                .text
                .iter()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_')
            && is_word(token)
    };
    let kind = |at: usize| tokens.get(at).map_or(&b""[..], |token| token.text);
    for (at, token) in tokens.iter().enumerate() {
        let close = closing(&tokens, at + 1);
        let end = close.map(|close| tokens[close].range.end);
        let before = |back: usize| at.checked_sub(back).map(|at| &tokens[at]);
        match token.text {
            b"__attribute__" | b"__attribute" | b"__declspec" => {
                found.extend(end.map(|end| token.range.start..end));
            }
            // `_Atomic(T)` is read as `T`.
            b"_Atomic" => {
                if let Some(close) = close {
                    found.extend([
                        token.range.start..tokens[at + 1].range.end,
                        tokens[close].range.clone(),
                    ]);
                }
            }
            b"__extension__" | b"_Noreturn" | b"_Thread_local" => found.push(token.range.clone()),
            // `class EXPORT Name {`
            b"class" | b"struct" | b"union" if tokens.get(at + 1).is_some_and(is_macro) => {
                let name = closing(&tokens, at + 2).unwrap_or(at + 1) + 1;
                let is_definition = matches!(kind(name + 1), b"{" | b"final")
                    || (kind(name + 1) == b":" && kind(name + 2) != b":");
                if is_definition && tokens.get(name).is_some_and(is_word) {
                    found.push(tokens[at + 1].range.start..tokens[name - 1].range.end);
                }
            }
            // `class Name FINAL {`
            b"class" | b"struct"
                if tokens.get(at + 2).is_some_and(is_macro)
                    && matches!(kind(at + 3), b"{" | b":")
                    && tokens.get(at + 1).is_some_and(is_word) =>
            {
                found.push(tokens[at + 2].range.clone());
            }
            // `Mutex mutex GUARDED_BY(other);`
            _ if is_macro(token)
                && close.is_some_and(|close| matches!(kind(close + 1), b";" | b"=" | b"{")) =>
            {
                let follows_name = before(1).is_some_and(|name| {
                    is_word(name) && !NOT_TYPES.contains(&name.text) && !TYPES.contains(&name.text)
                }) && before(2).is_some_and(|kind| {
                    matches!(kind.text, b"*" | b"&" | b">")
                        || is_word(kind) && !NOT_TYPES.contains(&kind.text)
                });
                if follows_name || before(1).is_some_and(|token| token.text == b"]") {
                    found.extend(end.map(|end| token.range.start..end));
                }
            }
            _ => {}
        }
    }
    found.sort_by_key(|range| range.start);
    (found, partial)
}
