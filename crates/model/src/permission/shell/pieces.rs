//! The pieces of a text that a shell may run as commands.

use std::{iter::Peekable, str::CharIndices};

/// Keywords of a shell in front of another command.
pub(super) const KEYWORDS: [&str; 8] = ["!", "do", "elif", "else", "if", "then", "until", "while"];

/// The words between two characters at which a shell may begin another command.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) words: Vec<String>,
    pub(super) start: Start,
    is_outline: bool,
}

impl Piece {
    /// Returns the piece that is the whole text.
    pub(super) fn whole(text: &str) -> Self {
        Self::new(text, Start::Command)
    }

    /// Returns the number of words that belong to the redirection in front of the piece: the file or the descriptor.
    pub(super) fn target_words(&self) -> usize {
        usize::from(self.start != Start::Command).min(self.words.len())
    }

    fn new(text: &str, start: Start) -> Self {
        Self {
            words: split(text),
            start,
            is_outline: false,
        }
    }

    fn outline(words: Vec<String>, start: Start) -> Self {
        Self {
            words,
            start,
            is_outline: true,
        }
    }

    /// Returns `false` if the piece goes on with the command of the piece before it. An outline is uncertain, because
    /// the commands of its substitutions are before it.
    pub(super) fn begins_command(&self) -> bool {
        self.start == Start::Command || self.is_outline
    }
}

/// Splits a text into words as a shell does. A backslash at the end of a line continues it.
fn split(text: &str) -> Vec<String> {
    let text = text.replace("\\\n", "");
    shlex::split(&text).unwrap_or_else(|| loose_words(&text))
}

/// Splits a text with unbalanced quotes at blanks and drops the quotes.
fn loose_words(text: &str) -> Vec<String> {
    text.split_whitespace()
        .map(|word| word.replace(['\'', '"', '\\'], ""))
        .filter(|word| !word.is_empty())
        .collect()
}

/// The outline of a command: its text without the commands inside, and its words without the redirections. The command
/// may go on behind both: `A="$(b)/c" curl example.org`, `git push >log --force`.
#[derive(Debug, Default)]
struct Outline {
    /// The text behind the last redirection. It begins with the target of that redirection.
    text: String,
    start: Start,
    has_substitution: bool,
    /// The words in front of the text, if the text goes on with their command.
    words: Option<Vec<String>>,
}

impl Outline {
    /// Ends the text, and adds the pieces that no other piece has. The command ends with it unless it `goes_on`.
    fn end_text(&mut self, next: Start, goes_on: bool, pieces: &mut Vec<Piece>) {
        let text = std::mem::take(&mut self.text);
        let start = std::mem::replace(&mut self.start, next);
        let has_substitution = std::mem::take(&mut self.has_substitution);
        if !has_substitution && !goes_on && self.words.is_none() {
            return;
        }
        let piece = Piece::outline(split(&text), start);
        let mut own_words = &piece.words[piece.target_words()..];
        // The number of the descriptor belongs to the redirection: `git push 2>log`.
        if let Some((last, others)) = own_words.split_last()
            && next != Start::Command
            && text.ends_with(|it: char| it.is_ascii_digit())
            && last.bytes().all(|it| it.is_ascii_digit())
        {
            own_words = others;
        }
        if goes_on {
            let words = self.words.get_or_insert_default();
            words.extend_from_slice(own_words);
        } else if let Some(mut words) = self.words.take() {
            words.extend_from_slice(own_words);
            // Behind a keyword, each word would count as the first one of a command: `then echo >&2 TEXT`.
            let is_keyword = |word: &&String| KEYWORDS.contains(&word.as_str());
            words.drain(..words.iter().take_while(is_keyword).count());
            pieces.push(Piece::outline(words, Start::Command));
        }
        if has_substitution {
            pieces.push(piece);
        }
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
/// or redirections has its outline as one more piece. Returns `false` beside the pieces if a quote, a bracket or a
/// substitution stays open. No crate of a fitting licence does this for text that is not valid shell.
pub(super) fn cut(text: &str, heeds_quotes: bool) -> (Vec<Piece>, bool) {
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
            // Otherwise a `#` behind the substitution would begin a comment, and the word behind `<(a)` would be the
            // name of a file.
            if character == '`' || matches!(previous, '<' | '>') {
                outline.text.push('$');
            }
            outer.push(std::mem::take(&mut outline));
            continue;
        }
        let next = characters.peek().map_or(' ', |(_, next)| *next);
        let goes_on = start != Start::Command
            || contexts.len() == depth && is_inside_command(character, previous, next);
        outline.end_text(start, goes_on, &mut pieces);
        if contexts.len() < depth {
            outline = outer.pop().unwrap_or_default();
        }
    }
    let piece = &text[begin..];
    pieces.push(Piece::new(piece, start));
    outline.text.push_str(piece);
    outline.end_text(Start::Command, false, &mut pieces);
    (pieces, is_balanced && contexts.len() == 1)
}

/// Returns `true` if a character that may end a command does not: the first one of `&>`, which is a redirection in
/// bash, and a curly bracket inside a word, such as in `{a,b}`.
fn is_inside_command(character: char, previous: char, next: char) -> bool {
    match character {
        '&' => next == '>',
        '{' => !next.is_whitespace(),
        '}' => !previous.is_whitespace() && previous != ';',
        _ => false,
    }
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
