//! Shell commands: the words of a simple command, and the commands inside a command.
//!
//! An allowance and a denial err in opposite directions. [`plain_words`] and [`unwrap`] return nothing unless the
//! meaning is certain. [`commands_inside`] returns everything that a shell might run, and some of the text that it
//! would not run.

mod pieces;

use std::collections::HashSet;

use pieces::{KEYWORDS, Piece, Start, cut};

/// The most shells inside shells that are unwrapped.
const MAX_NESTED_SHELLS: usize = 8;

/// The most different commands that are found inside one, and the total size of all commands in bytes. The same limits
/// hold for the texts in which commands are searched. Repeated shells inside shells would otherwise take time without
/// end.
const MAX_COMMANDS: usize = 4096;
const MAX_COMMAND_BYTES: usize = 4 << 20;

/// The most words at the front of a command that may be the options of a program which starts another one.
const MAX_WRAPPER_WORDS: usize = 16;

/// Shells that take a script after `-c`.
const SHELLS: [&str; 8] = ["sh", "bash", "dash", "ash", "zsh", "ksh", "mksh", "rbash"];

/// Shells with options or a syntax of their own. Their scripts are never certain.
const OTHER_SHELLS: [&str; 6] = ["fish", "csh", "tcsh", "pwsh", "nu", "busybox"];

/// The folders of the system's own shells. A shell elsewhere may be a program of the agent.
const SHELL_FOLDERS: [&str; 4] = ["", "/bin/", "/usr/bin/", "/usr/local/bin/"];

/// Programs in front of another command, and keywords with words of their own before it.
const WRAPPERS: [&str; 27] = [
    "builtin", "case", "chroot", "chrt", "command", "coproc", "doas", "env", "eval", "exec",
    "find", "flock", "ionice", "nice", "nohup", "parallel", "runuser", "script", "setsid",
    "stdbuf", "strace", "sudo", "taskset", "time", "timeout", "watch", "xargs",
];

/// Splits a text into words as a shell does. Returns `None` if a shell might do anything else with the text than run
/// one program with these words, or if there is no word.
///
/// Lists the harmless characters and not the special ones, so that a character which only some shell interprets is
/// not overlooked.
pub(super) fn plain_words(text: &str) -> Option<Vec<String>> {
    let mut quote = None;
    for character in text.chars() {
        match quote {
            None if matches!(character, '\'' | '"') => quote = Some(character),
            None if is_plain(character) || matches!(character, ' ' | '\t') => {}
            None => return None,
            Some(open) if character == open => quote = None,
            Some(_) if character.is_control() && !matches!(character, '\n' | '\t') => return None,
            Some('"') if matches!(character, '$' | '`' | '\\' | '!') => return None,
            Some(_) => {}
        }
    }
    if quote.is_some() {
        return None;
    }
    shlex::split(text).filter(|words| !words.is_empty())
}

/// Returns `true` if the words of a list have one meaning, whether the agent starts the program itself or joins the
/// words for a shell.
pub(super) fn are_plain_words(words: &[String]) -> bool {
    !words.is_empty() && words.iter().all(|word| is_plain_word(word))
}

fn is_plain_word(word: &str) -> bool {
    word.chars().all(|it| is_plain(it) || it == ' ')
}

fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || "-_./:=,@%+^".contains(character)
}

/// The meaning of the words of a command.
enum ShellCall<'a> {
    /// A program that is no shell, or a shell without `-c`.
    Program,
    /// A shell that runs this script.
    Script(&'a str),
    /// A shell whose script is uncertain.
    Uncertain,
}

/// Returns the words of the program that a list of words runs, without the shells around it. Returns `None` if that
/// is uncertain.
pub(super) fn unwrap(mut words: Vec<String>) -> Option<Vec<String>> {
    for _ in 0..MAX_NESTED_SHELLS {
        match shell_call(&words) {
            ShellCall::Uncertain => return None,
            ShellCall::Program => return Some(words),
            ShellCall::Script(script) => {
                let folder = words[0].strip_suffix(base_name(&words[0]))?;
                let mut others = words.iter().filter(|word| *word != script);
                if !SHELL_FOLDERS.contains(&folder) || !others.all(|word| is_plain_word(word)) {
                    return None;
                }
                words = plain_words(script)?;
            }
        }
    }
    None
}

fn shell_call(words: &[String]) -> ShellCall<'_> {
    match words.split_first() {
        Some((program, arguments)) => shell_call_of(program, &mut arguments.iter()),
        None => ShellCall::Program,
    }
}

/// Returns the meaning of a command, and takes the arguments that it has read.
fn shell_call_of<'a>(program: &str, arguments: &mut std::slice::Iter<'a, String>) -> ShellCall<'a> {
    let program = base_name(program);
    if OTHER_SHELLS.contains(&program) {
        return ShellCall::Uncertain;
    }
    if !SHELLS.contains(&program) {
        return ShellCall::Program;
    }
    let mut takes_script = false;
    while let Some(argument) = arguments.next() {
        let Some(option) = argument.strip_prefix(['-', '+']) else {
            // A variable may be empty, or an option.
            if argument.contains(['$', '`']) && !takes_script {
                return ShellCall::Uncertain;
            }
            return if takes_script {
                ShellCall::Script(argument)
            } else {
                ShellCall::Program
            };
        };
        match option {
            "-login" | "-noprofile" | "-norc" | "-posix" => {}
            // The shell also runs its standard input, which is unknown.
            _ if option.contains(['s', 'i']) => return ShellCall::Uncertain,
            // The last option of a group takes the next word, such as `-euo pipefail`.
            _ if option.ends_with(['o', 'O']) && !option.contains('c') => drop(arguments.next()),
            _ if !option.is_empty()
                && option.chars().all(|it| it.is_ascii_alphabetic())
                && !option.contains(['o', 'O']) =>
            {
                takes_script |= option.contains('c');
            }
            _ => return ShellCall::Uncertain,
        }
    }
    if takes_script {
        ShellCall::Uncertain
    } else {
        ShellCall::Program
    }
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns the name of the variable that a word in front of a command sets, with its `=`.
pub(super) fn assigned_variable(word: &str) -> Option<&str> {
    let (name, _) = word.split_once('=')?;
    is_variable_name(name.strip_suffix('+').unwrap_or(name)).then(|| &word[..=name.len()])
}

fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|it: char| it.is_ascii_digit())
        && name
            .chars()
            .all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// Returns `true` if a word in front of a command may set a variable or an element of an array, such as `a[$i]=1`.
fn may_assign(word: &str) -> bool {
    match word.split_once('[') {
        Some((name, index)) if is_variable_name(name) => ends_index(index),
        // A substitution in the index cuts the word: `a[$(b)]=1`.
        _ => assigned_variable(word).is_some() || word.starts_with("]=") || word.starts_with("]+="),
    }
}

/// Returns the number of words in front of a program.
fn count_assignments(words: &[String]) -> usize {
    let mut count = 0;
    while let Some(length) = assignment_length(&words[count..]) {
        count += length;
    }
    count
}

/// Returns the number of words of the assignment at the front. An index may have blanks: `a[1 + 2]=1`.
fn assignment_length(words: &[String]) -> Option<usize> {
    let word = words.first()?;
    if may_assign(word) {
        return Some(1);
    }
    let (name, index) = word.split_once('[')?;
    if !is_variable_name(name) || index.contains(']') {
        return None;
    }
    let mut words = words.iter().take(MAX_WRAPPER_WORDS);
    words.position(|word| ends_index(word)).map(|at| at + 1)
}

/// Returns `true` if a word has the end of an index in front of a value.
fn ends_index(word: &str) -> bool {
    word.contains("]=") || word.contains("]+=")
}

/// Returns the texts that a command gives to a shell without naming one: `su -c TEXT`, `trap TEXT EXIT`.
fn texts_for_shell(command: &[String]) -> Vec<String> {
    let Some((program, arguments)) = command.split_first() else {
        return Vec::new();
    };
    match base_name(program) {
        "eval" => vec![arguments.join(" ")],
        // Their options are unknown, so each word may be the first.
        "parallel" | "watch" => (0..arguments.len().min(MAX_WRAPPER_WORDS))
            .map(|at| arguments[at..].join(" "))
            .collect(),
        "flock" | "runuser" | "script" | "su" => (0..arguments.len().min(MAX_WRAPPER_WORDS))
            .filter_map(|at| text_of_option(&arguments[at..]))
            .map(str::to_owned)
            .collect(),
        "trap" => {
            let is_text = |word: &&String| *word == "-" || !word.starts_with('-');
            arguments
                .iter()
                .find(is_text)
                .into_iter()
                .cloned()
                .collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the text of the option `-c` or `--command` if the first word is this option, also in a group (`-qc`), with
/// a shorter name (`--comm`) or with the text in the same word.
fn text_of_option(words: &[String]) -> Option<&str> {
    let (word, others) = words.split_first()?;
    let (is_option, text) = if let Some(option) = word.strip_prefix("--") {
        let (name, text) = option.split_once('=').unwrap_or((option, ""));
        let mut names = ["command", "session-command"].iter();
        let is_name = !name.is_empty() && names.any(|it| it.starts_with(name));
        (is_name, text)
    } else {
        let text = word.strip_prefix('-').and_then(|it| it.split_once('c'));
        (text.is_some(), text.map_or("", |(_, text)| text))
    };
    match others.first() {
        _ if !is_option => None,
        Some(next) if text.is_empty() => Some(next),
        _ => Some(text),
    }
}

/// Returns `true` for a program or a keyword in front of another command.
fn is_wrapper(word: &str) -> bool {
    KEYWORDS.contains(&word) || WRAPPERS.contains(&base_name(word))
}

/// Returns `true` if the words behind a redirection are arguments of the command that these words begin, such as in
/// `echo >&2 TEXT`. Returns `None` if no program is among the words, so that the next word may be one.
fn has_own_arguments(words: &[String]) -> Option<bool> {
    let program = words.iter().find(|word| !may_precede_program(word))?;
    Some(!is_wrapper(program))
}

/// Returns `true` for the number of a descriptor and for a word in front of a program.
fn may_precede_program(word: &str) -> bool {
    word.bytes().all(|it| it.is_ascii_digit()) || may_assign(word) || KEYWORDS.contains(&word)
}

/// The words of the commands that a shell might run.
#[derive(Default)]
pub(super) struct CommandSearch {
    /// The words of each command.
    pub(super) found: HashSet<Vec<String>>,
    bytes: usize,
    /// The number of texts inside commands that were read.
    texts: usize,
    /// The texts inside commands that were read, each with its depth.
    searched: HashSet<(usize, String)>,
    /// The size of all texts and options of shells that were read: a byte of a text and an option count as one.
    read: usize,
}

impl CommandSearch {
    /// Adds the commands inside a text. Returns `None` if they are too many or too deep.
    pub(super) fn search_text(&mut self, text: &str) -> Option<()> {
        self.add_text(text, 0)
    }

    /// Adds the commands inside a list of words. Returns `None` if they are too many or too deep.
    pub(super) fn search_words(&mut self, words: &[String]) -> Option<()> {
        self.add_words(words, 0)
    }

    fn add_text(&mut self, text: &str, depth: usize) -> Option<()> {
        self.texts += usize::from(depth > 0);
        if depth > MAX_NESTED_SHELLS || self.texts > MAX_COMMANDS {
            return None;
        }
        self.count_read(text.len())?;
        // The same text is in several pieces of the text around it, at each depth.
        if depth > 0 && !self.searched.insert((depth, text.to_owned())) {
            return Some(());
        }
        let (mut pieces, is_balanced) = cut(text, true);
        // Quotes inside a here-document mean nothing to the shell, and may hide the commands that follow. So may the
        // bracket behind a pattern of `case`.
        if !is_balanced || text.contains("<<") || text.contains("esac") {
            pieces.extend(cut(text, false).0);
        }
        pieces.push(Piece::whole(text));
        let mut own_arguments = None;
        for piece in pieces {
            let (words, target) = (&piece.words, piece.target_words());
            if piece.begins_command() {
                own_arguments = None;
            }
            // A redirection in front of a command begins with the name of the file or the number of the descriptor:
            // `>log curl example.org`, `2>&1 curl example.org`. In `echo >&2 TEXT`, the text is no command.
            if target > 0 && !(own_arguments == Some(true) && piece.start == Start::Descriptor) {
                self.add_words(&words[target..], depth)?;
            }
            own_arguments = own_arguments.or_else(|| has_own_arguments(&words[target..]));
            self.add_words(words, depth)?;
        }
        Some(())
    }

    fn add_words(&mut self, words: &[String], depth: usize) -> Option<()> {
        // 1. The command itself, with and without the variables in front.
        let variables = count_assignments(words);
        let command = &words[variables..];
        if variables > 0 {
            self.add(words)?;
        }
        let Some(program) = command.first() else {
            return Some(());
        };
        // 2. The commands that a program such as `sudo` starts. Its options are unknown, so each word may be the
        // first.
        let limit = if is_wrapper(program) {
            MAX_WRAPPER_WORDS
        } else {
            1
        };
        for start in 0..command.len().min(limit) {
            self.add(&command[start..])?;
            for text in texts_for_shell(&command[start..]) {
                self.add_text(&text, depth + 1)?;
            }
        }
        // 3. The scripts of shells, wherever a shell is named.
        for start in 0..command.len() {
            let mut arguments = command[start + 1..].iter();
            let call = shell_call_of(&command[start], &mut arguments);
            self.count_read(command.len() - 1 - start - arguments.len())?;
            match call {
                ShellCall::Program => {}
                ShellCall::Script(script) => self.add_text(script, depth + 1)?,
                ShellCall::Uncertain => {
                    for word in command[start..].iter().skip(1).take(MAX_WRAPPER_WORDS) {
                        self.add_text(word, depth + 1)?;
                    }
                }
            }
        }
        Some(())
    }

    fn count_read(&mut self, size: usize) -> Option<()> {
        self.read += size;
        (self.read <= MAX_COMMAND_BYTES).then_some(())
    }

    /// Adds one command, and the same with the bare name of its program.
    fn add(&mut self, command: &[String]) -> Option<()> {
        self.bytes += command.iter().map(|word| word.len() + 1).sum::<usize>();
        if self.bytes > MAX_COMMAND_BYTES {
            return None;
        }
        if self.found.contains(command) {
            return Some(());
        }
        if self.found.len() >= MAX_COMMANDS {
            return None;
        }
        self.found.insert(command.to_vec());
        if command[0].contains('/') {
            let mut named = command.to_vec();
            base_name(&command[0]).clone_into(&mut named[0]);
            self.found.insert(named);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests_search;
