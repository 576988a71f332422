//! A report as one HTML file that needs no network and can be read without scripts.
//!
//! `base.html`, the frame of every page, has the title, the look ([`css`]), and the report itself as JSON in the
//! element `#report`. An instrument's template fills it in, and its style sheet adds to `base.css`.

mod colour;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, HtmlEscape, Value, context};
use serde::Serialize;

pub use colour::{BASE, Colour};

/// A page: `template` filled in.
///
/// The template begins with `{% extends "base.html" %}` and has a block `body`. `page` has what it shows, at least
/// `title` and `version` (that of Tenure); all is escaped unless marked as `safe`. The filter `breakable` is for long
/// names: lines may end between their parts. `parts.html` has what several pages show: `keyed_figure` for a [`KeyedFigure`](crate::chart::KeyedFigure). A line with a tag alone leaves no line in the page. `css` comes from [`css()`]; `json` is the report.
///
/// # Panics
///
/// Errors in the template. Templates are compiled in, and tests render them.
#[must_use]
pub fn page<T: Serialize>(template: &str, page: &T, css: &str, json: &str) -> String {
    // The ending turns on escaping.
    const FRAME: &str = "base.html";
    const PAGE: &str = "page.html";
    let mut environment = environment();
    environment
        .add_template(FRAME, include_str!("base.html"))
        .and_then(|()| environment.add_template("parts.html", include_str!("parts.html")))
        .and_then(|()| environment.add_template(PAGE, template))
        .and_then(|()| environment.get_template(PAGE))
        .and_then(|found| {
            found.render(context! { page => Serde(page), css, json => embedded(json) })
        })
        .expect("the template is compiled in and the tests render it")
}

/// A part of a page: `template`, filled in from `it`.
///
/// # Panics
///
/// As [`page`].
#[must_use]
pub fn part<T: Serialize>(template: &str, it: &T) -> String {
    let mut environment = environment();
    environment
        .add_template("part.html", template)
        .and_then(|()| environment.get_template("part.html"))
        .and_then(|found| found.render(context! { it => Serde(it) }))
        .expect("the template is compiled in and the tests render it")
}

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("the delimiters are the usual ones"));
    environment.add_filter("breakable", breakable);
    environment
}

/// Names are often longer than a phone is wide: a line may end after `::`, `.`, `_` and `/`.
fn breakable(name: &str) -> Value {
    let mut html = String::new();
    for (at, letter) in name.char_indices() {
        let before = &name[..at];
        let is_next_part = before.ends_with("::")
            || before.ends_with('.') && !letter.is_ascii_digit()
            || before.ends_with(['_', '/']) && letter != '_';
        html += if is_next_part { "<wbr>" } else { "" };
        html += &HtmlEscape(letter.encode_utf8(&mut [0; 4])).to_string();
    }
    Value::from_safe_string(html)
}

/// A page's style: variables for [`BASE`] and the instrument's `colours`, then `base.css`, then the instrument's
/// `rules`.
#[must_use]
pub fn css(colours: &[Colour], rules: &str) -> String {
    colour::variables(colours) + include_str!("base.css") + rules
}

/// The elements of one kind in a page by [`page`], from `<name` to `</name>`. For tests: no parser.
///
/// # Panics
///
/// An element does not end.
#[must_use]
pub fn elements<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let (start, end) = (format!("<{name}"), format!("</{name}>"));
    page.match_indices(&start)
        .map(|(at, _)| &page[at..])
        .map(|rest| &rest[..rest.find(&end).expect("every element ends") + end.len()])
        .collect()
}

/// The JSON in a page by [`page`].
///
/// # Panics
///
/// There is none.
#[must_use]
pub fn data(page: &str) -> &str {
    let mut scripts = elements(page, "script").into_iter();
    let data = scripts.find(|script| script.contains("application/json"));
    let data = data.expect("every page has its report");
    let start = data.find('>').expect("a tag ends") + 1;
    let end = data.rfind('<').expect("an element ends");
    &data[start..end]
}

/// JSON that cannot end its script element: escapes `<`, which occurs in strings only.
fn embedded(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct View {
        title: &'static str,
        version: &'static str,
        name: &'static str,
    }

    const VIEW: View = View { title: "A & B", version: "1.2.3", name: "Vec<u8>" };

    fn rendered(json: &str) -> String {
        let template = "{% extends \"base.html\" %}\n\
             {% macro bold(it) %}<b>{{ it }}</b>{% endmacro %}\n\
             {% block body %}\n{{ bold(page.name) }}\n{% endblock %}\n";
        page(template, &VIEW, &css(&[Colour::new("mine", "#111111", "#eeeeee")], "b {}\n"), json)
    }

    #[test]
    fn a_template_fills_in_the_frame_and_its_text_is_escaped() {
        let page = rendered("{}");
        assert!(page.starts_with("<!doctype html>\n"), "{page}");
        assert!(page.contains("<title>A &amp; B</title>"));
        assert!(page.contains("<body>\n<b>Vec&lt;u8&gt;</b>\n<script"), "{page}");
        assert!(page.contains("--mine: #eeeeee;") && page.contains("b {}"));
    }

    #[test]
    fn a_long_name_may_be_broken_between_its_parts_and_stays_escaped() {
        let broken = part("{{ it | breakable }}", &"a::Vec<u8, b:c>::new_in.x 1.6 __y");
        assert_eq!(broken, "a::<wbr>Vec&lt;u8, b:c&gt;::<wbr>new_<wbr>in.<wbr>x 1.6 __<wbr>y");
    }

    #[test]
    fn data_cannot_end_its_element_and_stays_the_same_data() {
        let json = r#"{"name": "</script><b>"}"#;
        let page = rendered(json);
        assert_eq!(page.matches("</script>").count(), 2, "the data and the one of the page");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&embedded(json)), value(json));
    }

    #[test]
    fn every_variable_of_the_base_rules_is_defined_by_the_base_colours() {
        for (at, _) in include_str!("base.css").match_indices("var(--") {
            let name = include_str!("base.css")[at + 6..].split(')').next().unwrap();
            assert!(BASE.iter().any(|colour| colour.name == name), "{name}");
        }
    }
}
