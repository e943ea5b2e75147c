//! The pieces of a text that a shell may run as commands.

use std::{borrow::Cow, iter::Peekable, str::CharIndices};

/// A part of a text between two characters at which a shell may begin another command.
#[derive(Debug)]
pub(super) struct Piece<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) start: Start,
    is_outline: bool,
}

impl<'a> Piece<'a> {
    /// Returns the piece that is the whole text.
    pub(super) fn whole(text: &'a str) -> Self {
        Self::new(text, Start::Command)
    }

    fn new(text: &'a str, start: Start) -> Self {
        Self {
            text: Cow::Borrowed(text),
            start,
            is_outline: false,
        }
    }

    /// Returns `false` if the piece goes on with the command of the piece before it. An outline is uncertain, because
    /// the commands of its substitutions are before it.
    pub(super) fn begins_command(&self) -> bool {
        self.start == Start::Command || self.is_outline
    }
}

/// The outline of a command: its text without the substitutions. The command may go on behind them:
/// `A="$(b)/c" curl example.org`.
#[derive(Debug, Default)]
struct Outline {
    text: String,
    start: Start,
    has_substitution: bool,
}

impl Outline {
    /// Returns nothing for a command without a substitution, because another piece has its text.
    fn into_piece(self) -> Option<Piece<'static>> {
        let piece = Piece {
            text: Cow::Owned(self.text),
            start: self.start,
            is_outline: true,
        };
        self.has_substitution.then_some(piece)
    }
}

/// The role of the first word of a piece.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    #[default]
    Command,
    /// The name of a file, after `<` or `>`.
    File,
    /// The number of a descriptor or the name of a file, after `>&`, `<&` or `>|`.
    Descriptor,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Context {
    Braces,
    Command,
    Backticks,
    DoubleQuotes,
}

/// Cuts a text wherever a shell may begin another command, also inside substitutions. A command with substitutions
/// has its outline as one more piece. Returns `false` beside the pieces if a quote, a bracket or a substitution stays
/// open. No crate of a fitting licence does this for text that is not valid shell.
pub(super) fn cut(text: &str, heeds_quotes: bool) -> (Vec<Piece<'_>>, bool) {
    let mut pieces = Vec::new();
    let (mut begin, mut start) = (0, Start::Command);
    let mut contexts = vec![Context::Command];
    let (mut outline, mut outer) = (Outline::default(), Vec::new());
    let mut is_balanced = true;
    let mut before = ' ';
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let depth = contexts.len();
        let quoted = contexts.last() == Some(&Context::DoubleQuotes);
        let previous = std::mem::replace(&mut before, character);
        match character {
            '\\' if heeds_quotes => {
                characters.next();
                continue;
            }
            '\'' if heeds_quotes && !quoted => {
                // In `$'...'` of some shells, a backslash quotes the next character, in others it does not.
                let has_escapes = previous == '$';
                is_balanced &= skip_quoted(&mut characters, has_escapes) && !has_escapes;
                continue;
            }
            '"' if heeds_quotes && quoted => {
                contexts.pop();
                continue;
            }
            '"' if heeds_quotes => {
                contexts.push(Context::DoubleQuotes);
                continue;
            }
            // A comment ends with its line, and the quotes in it mean nothing.
            '#' if heeds_quotes && !quoted && matches!(previous, ' ' | '\t' | '\n' | ';') => {
                while characters.next_if(|(_, it)| *it != '\n').is_some() {}
                continue;
            }
            // A comment or not, by the shell and by what the bracket ends.
            '#' if heeds_quotes && !quoted && matches!(previous, '&' | '|' | '(' | ')') => {
                is_balanced = false;
                continue;
            }
            // The number of the process: the second sign begins no substitution.
            '$' if previous == '$' => {
                before = '0';
                continue;
            }
            '`' if contexts.last() == Some(&Context::Backticks) => drop(contexts.pop()),
            '`' => contexts.push(Context::Backticks),
            // In `${a%%(*}`, a bracket is a part of a pattern.
            '(' if contexts.last() == Some(&Context::Braces)
                && !matches!(previous, '$' | '<' | '>') =>
            {
                continue;
            }
            '(' if !quoted || previous == '$' => contexts.push(Context::Command),
            '{' if !quoted && previous == '$' => contexts.push(Context::Braces),
            '}' if contexts.last() == Some(&Context::Braces) => drop(contexts.pop()),
            ')' if !quoted => {
                if depth > 1 && contexts.last() != Some(&Context::Braces) {
                    contexts.pop();
                }
            }
            ';' | '&' | '|' | '\n' | '{' | '}' | '<' | '>' if !quoted => {}
            _ => continue,
        }
        let piece = &text[begin..at];
        pieces.push(Piece::new(piece, start));
        start = match character {
            '<' | '>' => Start::File,
            // The second character of `>&`, `<&` and `>|` belongs to the redirection.
            '&' | '|' if start != Start::Command && piece.is_empty() => Start::Descriptor,
            _ => Start::Command,
        };
        begin = at + character.len_utf8();
        outline.text.push_str(piece);
        if contexts.len() > depth {
            outline.has_substitution = true;
            // Otherwise a `#` behind the substitution would begin a comment.
            if character == '`' {
                outline.text.push('$');
            }
            outer.push(std::mem::take(&mut outline));
            continue;
        }
        pieces.extend(std::mem::take(&mut outline).into_piece());
        outline.start = start;
        if contexts.len() < depth {
            outline = outer.pop().unwrap_or_default();
        }
    }
    let piece = &text[begin..];
    pieces.push(Piece::new(piece, start));
    outline.text.push_str(piece);
    pieces.extend(outline.into_piece());
    (pieces, is_balanced && contexts.len() == 1)
}

/// Skips the rest of a text in single quotes. Returns `false` if it stays open.
fn skip_quoted(characters: &mut Peekable<CharIndices<'_>>, has_escapes: bool) -> bool {
    while let Some((_, character)) = characters.next() {
        match character {
            '\\' if has_escapes => drop(characters.next()),
            '\'' => return true,
            _ => {}
        }
    }
    false
}
