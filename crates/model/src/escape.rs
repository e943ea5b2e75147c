//! Makes text from outside visible: escapes each character that commands a terminal, ends a line, reorders text or
//! shows nothing.
//!
//! Agents, tools, webhooks and people write such characters into answers, titles, names and errors. Printed raw, they
//! control a terminal or forge a line of the log. The escapes change only the shown text and never the stored one.
//! Letters of every script stay as they are. A zero-width joiner is escaped even inside an emoji or a word, because a
//! name with an invisible character looks like another one. Only the two selectors that choose between the text and the
//! picture of an emoji stay, because common emoji have one.

use std::borrow::Cow;

/// `true` if a terminal or a log must not get the character as it is:
///
/// - control characters: C0 with newline and tab, DEL, C1;
/// - line and paragraph separators;
/// - characters that change the direction of text;
/// - characters that show nothing: those that Unicode calls default ignorable, such as fillers, selectors of variations and
///   tags, the controls of music and of annotations, and the blank Braille pattern.
pub const fn is_escaped(letter: char) -> bool {
    matches!(
        letter,
        '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{2800}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0d}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Escapes a text of several lines: keeps newlines and tabs, and returns CRLF as a newline.
pub fn escape_text(text: &str) -> Cow<'_, str> {
    const KEPT: [&str; 2] = ["\n", "\t"];
    if text.contains("\r\n") {
        let lines = text.replace("\r\n", "\n");
        return Cow::Owned(escape_except(&lines, &KEPT).into_owned());
    }
    escape_except(text, &KEPT)
}

/// Escapes a text that must stay on one line, such as a name: also escapes newlines and tabs.
pub fn escape_line(text: &str) -> Cow<'_, str> {
    escape_except(text, &[])
}

/// The longest excerpt of a text, in characters.
const MAX_EXCERPT_CHARS: usize = 60;

/// Returns the beginning of a text on one line, for an error about the text.
pub fn excerpt(text: &str) -> String {
    let shown: String = text.chars().take(MAX_EXCERPT_CHARS).collect();
    let mut shown = escape_line(&shown).into_owned();
    if text.chars().nth(MAX_EXCERPT_CHARS).is_some() {
        shown.push('…');
    }
    shown
}

/// Escapes a text in which some sequences stay as they are, such as those of the program's own styles.
pub fn escape_except<'text>(text: &'text str, kept: &[&str]) -> Cow<'text, str> {
    let kept_bytes = |rest: &str| {
        let beginning = kept.iter().find(|kept| rest.starts_with(**kept));
        beginning.map_or(0, |kept| kept.len())
    };
    escape(text, kept_bytes, |letter, escaped| {
        escaped.extend(letter.escape_default());
    })
}

/// Escapes a JSON document, which has the same value afterwards: `\u009b` instead of the character. Serializers escape
/// only C0 characters. Keeps newlines and tabs, which occur only between tokens.
pub fn escape_json(document: &str) -> Cow<'_, str> {
    let kept_bytes = |rest: &str| usize::from(rest.starts_with(['\n', '\t']));
    escape(document, kept_bytes, |letter, escaped| {
        for unit in letter.encode_utf16(&mut [0; 2]) {
            escaped.extend([format!("\\u{unit:04x}")]);
        }
    })
}

/// Writes each escaped character with `push`, except where `kept_bytes` of the rest is not zero. Allocates only if a
/// character is escaped, because most answers contain none.
fn escape(
    text: &str,
    kept_bytes: impl Fn(&str) -> usize,
    push: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    let mut escaped = String::new();
    // The text before `copied` is in `escaped`; the text before `seen` was examined.
    let (mut copied, mut seen) = (0, 0);
    while let Some((offset, letter)) = text[seen..]
        .char_indices()
        .find(|(_, letter)| is_escaped(*letter))
    {
        let at = seen + offset;
        match kept_bytes(&text[at..]) {
            0 => {
                escaped.push_str(&text[copied..at]);
                push(letter, &mut escaped);
                seen = at + letter.len_utf8();
                copied = seen;
            }
            kept => seen = at + kept,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    escaped.push_str(&text[copied..]);
    Cow::Owned(escaped)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn unsafe_character_is_escaped_visibly() {
        for (text, shown) in [
            ("a\u{1b}[2Jb", r"a\u{1b}[2Jb"),
            ("\u{1b}]52;c;QQ==\u{7}", r"\u{1b}]52;c;QQ==\u{7}"),
            ("good\rbad", r"good\rbad"),
            ("a\u{7f}", r"a\u{7f}"),
            (
                "\u{80}\u{85}\u{9b}31m\u{9f}",
                r"\u{80}\u{85}\u{9b}31m\u{9f}",
            ),
            ("\u{202e}gpj\u{202c}", r"\u{202e}gpj\u{202c}"),
            ("\u{2066}x\u{2069}", r"\u{2066}x\u{2069}"),
            ("\u{200e}\u{200f}\u{61c}", r"\u{200e}\u{200f}\u{61c}"),
            ("\u{200b}\u{2060}\u{feff}", r"\u{200b}\u{2060}\u{feff}"),
            ("\u{2028}\u{2029}", r"\u{2028}\u{2029}"),
            (
                "\u{e0001}\u{e0041}\u{e007f}",
                r"\u{e0001}\u{e0041}\u{e007f}",
            ),
            ("👩\u{200d}💻", r"👩\u{200d}💻"),
            ("a\u{ad}\u{34f}\u{180b}", r"a\u{ad}\u{34f}\u{180b}"),
            (
                "\u{115f}\u{1160}\u{3164}\u{ffa0}\u{2800}",
                r"\u{115f}\u{1160}\u{3164}\u{ffa0}\u{2800}",
            ),
            ("\u{fe00}\u{e0101}", r"\u{fe00}\u{e0101}"),
            ("\u{17b4}\u{1bca0}\u{1d173}", r"\u{17b4}\u{1bca0}\u{1d173}"),
        ] {
            assert_eq!(escape_text(text), shown);
            assert_eq!(escape_line(text), shown);
        }
    }

    #[test]
    fn only_text_of_several_lines_keeps_newline_and_tab() {
        assert_eq!(escape_text("a\r\n\tb\n\r"), "a\n\tb\n\\r");
        assert_eq!(escape_line("a\r\n\tb"), r"a\r\n\tb");
    }

    #[test]
    fn text_of_every_script_is_returned_without_allocation() {
        for text in [
            "",
            "plain \"text\" \\u{1b}",
            "žluťoučký",
            "שלום",
            "مرحبا",
            "日本語",
            "🙂 e\u{301} ❤\u{fe0f}",
        ] {
            assert!(matches!(escape_text(text), Cow::Borrowed(_)), "{text}");
            assert!(matches!(escape_line(text), Cow::Borrowed(_)), "{text}");
            assert!(matches!(escape_json(text), Cow::Borrowed(_)), "{text}");
        }
        assert!(matches!(escape_text("a\n\tb"), Cow::Borrowed(_)));
        assert!(matches!(escape_json("{\n\t}"), Cow::Borrowed(_)));
    }

    #[test]
    fn kept_sequence_stays_and_its_first_part_does_not() {
        let kept = ["\u{1b}[1m", "\u{1b}[0m"];
        let text = "\u{1b}[1mbold\u{1b}[0m\u{1b}[1";
        assert_eq!(
            escape_except(text, &kept),
            "\u{1b}[1mbold\u{1b}[0m\\u{1b}[1"
        );
    }

    proptest! {
        #[test]
        fn escaped_json_has_same_value(text in any::<String>()) {
            let document = serde_json::json!({ "text": text, "key \u{9b}\u{202e}\u{e0041}": 1 });
            for written in [document.to_string(), format!("{document:#}")] {
                let escaped = escape_json(&written);
                let left = escaped.chars().find(|letter| is_escaped(*letter) && *letter != '\n');
                prop_assert_eq!(left, None);
                let read: serde_json::Value = serde_json::from_str(&escaped).unwrap();
                prop_assert_eq!(&read, &document);
            }
        }

        #[test]
        fn escaped_text_contains_no_unsafe_character(text in any::<String>()) {
            prop_assert!(!escape_line(&text).contains(is_escaped));
            let left = |letter: char| is_escaped(letter) && letter != '\n' && letter != '\t';
            prop_assert!(!escape_text(&text).contains(left));
        }
    }
}
