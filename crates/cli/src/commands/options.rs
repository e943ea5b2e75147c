//! Options that several commands share, and the parsers and formatters of their values.

use std::{io::Read, path::PathBuf};

use api_types::{InvalidSessionTarget, SessionTarget};
use model::{
    entity::SeatSettings,
    permission::{InvalidRule, PermissionRule, PermissionRules, Verdict},
    schedule::Period,
};

use crate::{
    app::App,
    error::{CliError, Exit},
};

/// Rules that answer permission requests.
#[derive(Debug, clap::Args)]
pub(crate) struct RuleOptions {
    /// Allow matching permission requests: a tool kind (read, edit, execute, fetch, ...), or KIND:PATTERN for the
    /// title; * matches any text. For execute, the pattern must hold for the whole command, such as 'execute:git
    /// log*'; one with ; | & $ and the like matches none. A pattern is no sandbox. May be repeated
    #[arg(long, value_name = "KIND[:PATTERN]", value_parser = parse_allow_rule)]
    allow: Vec<PermissionRule>,
    /// Deny matching permission requests, even if another rule allows them; the pattern is for a title or any
    /// command inside; may be repeated
    #[arg(long, value_name = "KIND[:PATTERN]", value_parser = parse_deny_rule)]
    deny: Vec<PermissionRule>,
}

impl RuleOptions {
    /// `true` if no rule is given.
    pub(crate) fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    pub(crate) fn rules(self) -> PermissionRules {
        PermissionRules(self.allow.into_iter().chain(self.deny).collect())
    }
}

/// The mode and the settings of an agent, which the agent defines.
#[derive(Debug, clap::Args)]
pub(crate) struct SettingOptions {
    /// The ID of the agent's mode
    #[arg(long)]
    pub(crate) mode: Option<String>,
    /// A setting of the agent, such as model=fast; may be repeated
    #[arg(long = "set", value_name = "ID=VALUE", value_parser = parse_setting)]
    pub(crate) set: Vec<(String, String)>,
}

impl SettingOptions {
    pub(crate) fn settings(self) -> SeatSettings {
        SeatSettings {
            mode: self.mode,
            values: self.set.into_iter().collect(),
        }
    }
}

fn parse_allow_rule(text: &str) -> Result<PermissionRule, InvalidRule> {
    PermissionRule::parse(text, Verdict::Allow)
}

fn parse_deny_rule(text: &str) -> Result<PermissionRule, InvalidRule> {
    PermissionRule::parse(text, Verdict::Deny)
}

/// Parses the session target of an automation.
pub(crate) fn parse_session_target(text: &str) -> Result<SessionTarget, String> {
    text.parse()
        .map_err(|error: InvalidSessionTarget| error.to_string())
}

/// Parses `NAME=VALUE`.
pub(crate) fn parse_pair(text: &str) -> Result<(String, String), String> {
    split_pair(text).ok_or_else(|| "expected NAME=VALUE".into())
}

/// Parses `ID=VALUE`.
fn parse_setting(text: &str) -> Result<(String, String), String> {
    split_pair(text).ok_or_else(|| "expected ID=VALUE".into())
}

fn split_pair(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=').filter(|(name, _)| !name.is_empty())?;
    Some((name.to_owned(), value.to_owned()))
}

/// Parses a duration in whole seconds. Zero is valid.
pub(crate) fn parse_seconds(text: &str) -> Result<u32, String> {
    if text == "0" {
        return Ok(0);
    }
    let period: Period = text
        .parse()
        .map_err(|error: model::schedule::Error| error.to_string())?;
    u32::try_from(period.duration().as_secs()).map_err(|error| error.to_string())
}

/// Formats a duration, such as `1h30m`.
pub(crate) fn format_period(seconds: u64) -> String {
    let plain = format!("{seconds}s");
    let period: Result<Period, _> = plain.parse();
    period.map_or(plain, |period| period.to_string())
}

/// Returns a text as one word of a shell's command line. Quotes it if a shell would split or expand it.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:@%+,".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns the given text, or the content of standard input if the text is `-`. `max_bytes` is the limit of the field.
pub(crate) fn text_or_stdin(given: String, max_bytes: usize) -> Result<String, CliError> {
    if given != "-" {
        return Ok(given);
    }
    read_text(std::io::stdin(), max_bytes)
}

/// Reads a text of at most `max_bytes` bytes, without the line break at its end.
fn read_text(from: impl Read, max_bytes: usize) -> Result<String, CliError> {
    let mut text = Vec::new();
    // The text with a line break, and one byte more that shows that a text is too long.
    let most = max_bytes + "\r\n".len() + 1;
    from.take(most as u64)
        .read_to_end(&mut text)
        .map_err(|source| {
            let error =
                anyhow::Error::new(source).context("cannot read the text from standard input");
            CliError::new(Exit::Usage, error)
        })?;
    let line = text.strip_suffix(b"\n").unwrap_or(&text);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    // Before the check of UTF-8, because the end of what was read may split a letter.
    if line.len() > max_bytes {
        let message = format!(
            "the text from standard input has more than {max_bytes} bytes; accepted are up to {max_bytes}"
        );
        return Err(CliError::message(Exit::Usage, message));
    }
    String::from_utf8(text).map_err(|_| {
        let message = "the text from standard input is not UTF-8; accepted is UTF-8";
        CliError::message(Exit::Usage, message)
    })
}

/// Makes a directory absolute. The server checks whether it exists. Leaves a directory of a remote server as it is,
/// because it is resolved there.
pub(crate) fn absolute_directory(
    app: &App,
    path: Option<PathBuf>,
) -> Result<Option<String>, CliError> {
    let Some(path) = path else { return Ok(None) };
    let message = format!("invalid working directory `{}`", path.display());
    let path = if app.resolves_local_paths() {
        match std::path::absolute(&path) {
            // Resolve `.`, `..` and links if the directory exists, because the path is stored and shown later.
            Ok(absolute) => std::fs::canonicalize(&absolute).unwrap_or(absolute),
            Err(error) => {
                return Err(CliError::new(
                    Exit::Usage,
                    anyhow::Error::new(error).context(message),
                ));
            }
        }
    } else {
        path
    };
    match path.into_os_string().into_string() {
        Ok(path) => Ok(Some(path)),
        Err(_) => Err(CliError::message(
            Exit::Usage,
            format!("{message}: its name is not UTF-8"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_a_shell_would_change_are_quoted() {
        assert_eq!(shell_word("claude-2"), "claude-2");
        assert_eq!(shell_word("a b"), "'a b'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }

    #[test]
    fn text_above_limit_is_refused_before_check_of_utf8() {
        let read = |text: &[u8]| read_text(text, 9).map_err(|error| error.full_message());
        let too_long =
            "the text from standard input has more than 9 bytes; accepted are up to 9".to_owned();
        // The end of what was read splits a letter.
        assert_eq!(read("é".repeat(20).as_bytes()), Err(too_long.clone()));
        assert_eq!(read(b"1234567890"), Err(too_long.clone()));
        assert_eq!(read(b"12345678901\n3"), Err(too_long));
        for text in ["123456789", "123456789\n", "123456789\r\n", ""] {
            assert_eq!(read(text.as_bytes()), Ok(text.to_owned()));
        }
        let error = read(b"a\xff").unwrap_err();
        assert!(error.contains("is not UTF-8"), "{error}");
    }

    #[test]
    fn periods_other_than_zero_require_unit() {
        assert_eq!(parse_seconds("0"), Ok(0));
        assert_eq!(parse_seconds("1h30m"), Ok(5400));
        assert!(parse_seconds("90").unwrap_err().contains("90s, 10m"));
    }
}
