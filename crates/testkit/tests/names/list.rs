//! The list of replaced names.

use crate::definitions::{Definition, Kind};

/// How a name is compared with the replaced one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ban {
    /// The name contains the words of the replaced one.
    Part,
    /// The name is the replaced one.
    Whole,
}

/// The definitions to which a rule applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    All,
    /// Types, modules, public functions, flags and the API: places where a reader meets the name without context.
    Ordinary,
    Modules,
}

/// A replaced name.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) old: String,
    /// The words of `old`.
    words: Vec<String>,
    ban: Ban,
    scope: Scope,
    /// The names to use, as text.
    pub(crate) new: String,
}

impl Rule {
    /// `true` if the definition, whose name has these words, must have another name.
    pub(crate) fn bans(&self, definition: &Definition, name: &[String]) -> bool {
        let applies = match self.scope {
            Scope::All => true,
            Scope::Ordinary => match definition.kind {
                Kind::Type | Kind::Module | Kind::Flag | Kind::Api => true,
                Kind::Function => definition.is_public,
                Kind::Field | Kind::Variant | Kind::Constant => false,
            },
            Scope::Modules => definition.kind == Kind::Module,
        };
        if !applies {
            return false;
        }
        match self.ban {
            Ban::Part => name
                .windows(self.words.len())
                .any(|part| part == self.words),
            Ban::Whole => name == self.words,
        }
    }
}

/// Splits a name into its words: `hand_back`, `HandBack`, `HAND_BACK` and `hand-back` are the same two.
pub(crate) fn split_words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_is_lower = false;
    for letter in name.chars() {
        let is_separator = matches!(letter, '_' | '-' | '.');
        if is_separator || (before_is_lower && letter.is_ascii_uppercase()) {
            words.push(String::new());
        }
        if !is_separator {
            words.last_mut().unwrap().push(letter.to_ascii_lowercase());
        }
        before_is_lower = letter.is_ascii_lowercase() || letter.is_ascii_digit();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Reads a list: a rule a line, `old | part, whole, ordinary or module | the names to use`.
pub(crate) fn parse(text: &str) -> Vec<Rule> {
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rules = lines.map(|line| {
        let columns: Vec<_> = line.split('|').map(str::trim).collect();
        let [old, ban, new] = columns[..] else {
            panic!("a rule has three columns: {line}");
        };
        let (ban, scope) = match ban {
            "part" => (Ban::Part, Scope::All),
            "whole" => (Ban::Whole, Scope::All),
            "ordinary" => (Ban::Whole, Scope::Ordinary),
            "module" => (Ban::Whole, Scope::Modules),
            other => panic!("`{other}` is none of part, whole, ordinary, module: {line}"),
        };
        Rule {
            old: old.to_owned(),
            words: split_words(old),
            ban,
            scope,
            new: new.to_owned(),
        }
    });
    rules.collect()
}

/// Returns the rules of the repository.
pub(crate) fn rules() -> Vec<Rule> {
    let rules = parse(include_str!("names.txt"));
    assert!(rules.len() > 50, "{} rules", rules.len());
    rules
}
