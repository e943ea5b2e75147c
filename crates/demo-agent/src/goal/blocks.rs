//! The lines and the fences of a prompt.

use std::path::Path;

/// A part of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Block<'a> {
    /// A line of Matins or of a person.
    Line(&'a str),
    /// A text of another agent, which stands between two lines with the same mark.
    Fence(&'a str),
}

/// Splits a prompt into its lines and fences.
pub(super) fn blocks(prompt: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut rest = prompt;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        if let Some((text, after)) = split_fence(line, &rest[line.len()..]) {
            blocks.push(Block::Fence(text));
            rest = after;
        } else {
            blocks.push(Block::Line(line));
            rest = after;
        }
    }
    blocks
}

/// Returns the text of the fence that a line opens, and the rest of the prompt after the fence. `after` begins with the
/// newline of the line.
fn split_fence<'a>(line: &str, after: &'a str) -> Option<(&'a str, &'a str)> {
    let closing = format!("\n{} >>>", line.strip_prefix("<<< ")?);
    let (text, rest) = after.split_once(&closing)?;
    Some((
        text.strip_prefix('\n').unwrap_or(text),
        rest.strip_prefix('\n').unwrap_or(rest),
    ))
}

/// Returns the words of a text that stand in backticks.
pub(super) fn backticked(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the names of files that a text has in backticks.
pub(super) fn named_files(text: &str) -> Vec<&str> {
    let is_file = |name: &&str| Path::new(name).extension().is_some_and(|it| it == "md");
    let mut names: Vec<&str> = Vec::new();
    for name in backticked(text).filter(is_file) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// Returns the beginning of a text on one line, with at most `max_chars` characters.
pub(super) fn excerpt(text: &str, max_chars: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= max_chars {
        return line;
    }
    let cut: String = line.chars().take(max_chars.saturating_sub(1)).collect();
    format!("{cut}…")
}
