//! The names of the code, the CLI and the API: one word for one thing.
//!
//! `names.txt` lists the words that were replaced, with the words to use. The test fails if a type, a module, a
//! function, a field, a variant, a constant, a flag, a property of the API or an operation ID has a replaced name.
//! Tables, columns and the keys of stored documents keep their names, because other versions read them.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod definitions;
mod list;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use definitions::{Definition, Kind, definitions, files};
use list::Rule;
use serde_json::Value;

/// The most functions whose name begins with a clause, such as `who_may`.
const MAX_CLAUSE_FUNCTIONS: usize = 20;

/// The beginnings of such names.
const CLAUSES: [&str; 7] = [
    "what_",
    "who_",
    "whoever_",
    "whatever_",
    "nobody_",
    "where_",
    "whose_",
];

fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.ancestors().nth(2).unwrap().to_owned()
}

/// Returns all names that the Rust files define.
fn code() -> Vec<Definition> {
    let root = root();
    let mut found = Vec::new();
    for file in files(&root, "*.rs") {
        let text = std::fs::read_to_string(root.join(&file)).unwrap();
        found.extend(definitions(&file, &text));
    }
    found
}

/// Returns the words of the migrations: the names of tables and columns among them.
fn words_of_migrations() -> BTreeSet<String> {
    let root = root();
    let mut words = BTreeSet::new();
    for file in files(&root, "crates/store/migrations/*.sql") {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let code = text.lines().map(|line| line.split("--").next().unwrap());
        for line in code {
            let found = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
            words.extend(found.filter(|word| !word.is_empty()).map(str::to_owned));
        }
    }
    words
}

/// `true` for fields of the store that are named like a column, and for keys of stored documents.
fn is_stored(definition: &Definition, columns: &BTreeSet<String>) -> bool {
    if definition.kind != Kind::Field {
        return false;
    }
    let is_document = definition.position.starts_with("crates/store/src/stored/");
    let is_column =
        definition.position.starts_with("crates/store/") && columns.contains(&definition.name);
    is_document || is_column
}

/// Returns the names that the OpenAPI document defines.
fn api() -> Vec<Definition> {
    let text = std::fs::read_to_string(root().join("docs/openapi.json")).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    collect(&document, "", &mut found);
    found
}

/// Adds the properties, parameters, operation IDs and schemas within a part of the OpenAPI document.
fn collect(part: &Value, path: &str, found: &mut Vec<Definition>) {
    let mut add = |name: &str| {
        found.push(Definition {
            kind: Kind::Api,
            name: name.to_owned(),
            is_public: true,
            position: format!("docs/openapi.json{path}"),
        });
    };
    match part {
        Value::Object(members) => {
            for (key, member) in members {
                match (key.as_str(), member) {
                    ("properties" | "schemas", Value::Object(named)) => {
                        named.keys().for_each(|name| add(name));
                    }
                    ("operationId", Value::String(name)) => add(name),
                    ("name", Value::String(name)) if members.contains_key("in") => add(name),
                    _ => {}
                }
            }
            // Examples hold the texts of agents and people.
            let parts = members
                .iter()
                .filter(|(key, _)| !key.starts_with("example"));
            for (key, member) in parts {
                collect(member, &format!("{path}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for item in items {
                collect(item, path, found);
            }
        }
        _ => {}
    }
}

/// Returns a line for each name that a rule bans.
fn banned(definitions: &[Definition], rules: &[Rule], columns: &BTreeSet<String>) -> Vec<String> {
    let of_code = definitions.iter().filter(|one| !is_stored(one, columns));
    let found = of_code.filter_map(|definition| {
        let words = list::split_words(&definition.name);
        let rule = rules.iter().find(|rule| rule.bans(definition, &words))?;
        let Definition {
            kind,
            name,
            position,
            ..
        } = definition;
        Some(format!(
            "{position}: {kind:?} `{name}`: instead of `{}` use {}",
            rule.old, rule.new
        ))
    });
    found.collect()
}

#[test]
fn no_name_is_a_replaced_one() {
    let mut definitions = code();
    assert!(definitions.len() > 10_000, "{} names", definitions.len());
    let api = api();
    assert!(api.len() > 500, "{} names of the API", api.len());
    definitions.extend(api);
    let found = banned(&definitions, &list::rules(), &words_of_migrations());
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn few_functions_are_named_by_a_clause() {
    let root = root();
    let mut found = Vec::new();
    for file in files(&root, "*.rs") {
        let text = std::fs::read_to_string(root.join(&file)).unwrap();
        for (line, number) in text.lines().zip(1..) {
            // Parsing each file again would take longer than all other checks of names together.
            let name = line.split_once("fn ").map(|(_, name)| name);
            if name.is_some_and(|name| CLAUSES.iter().any(|clause| name.starts_with(clause))) {
                found.push(format!("{file}:{number}: {}", line.trim()));
            }
        }
    }
    assert!(
        found.len() <= MAX_CLAUSE_FUNCTIONS,
        "{} functions:\n{}",
        found.len(),
        found.join("\n")
    );
}

/// Returns the names that `rules` ban in a file.
fn banned_in(file: &str, text: &str, rules: &str) -> Vec<String> {
    let columns = BTreeSet::from(["held".to_owned()]);
    let found = banned(&definitions(file, text), &list::parse(rules), &columns);
    let short = found
        .iter()
        .map(|line| line.split('`').nth(1).unwrap().to_owned());
    short.collect()
}

#[test]
fn part_of_a_name_is_found_at_its_words() {
    let rules = "hand_back | part | `requeue`";
    let text = "fn hand_back() {}\nfn shorthand_backup() {}\nstruct WhoHandBacks;\nenum E { HandBack(u8) }\n\
                mod a { const LATE_HAND_BACK: u8 = 1; struct S { hand_backs: u8, no_hand_back: u8 } }";
    assert_eq!(
        banned_in("a.rs", text, rules),
        ["hand_back", "HandBack", "LATE_HAND_BACK", "no_hand_back"]
    );
}

#[test]
fn ordinary_word_is_banned_where_others_see_it() {
    let rules =
        "once | ordinary | `standalone`\nheld | whole | `paused`\ngate | module | `request_guard`";
    let text = "fn once() {}\npub fn to_once() {}\nstruct Once { once: u8, held: u8, held_by: u8 }\n\
                impl Once { pub(crate) fn once() {} }\nmod gate {}\nfn gate() {}";
    assert_eq!(
        banned_in("a.rs", text, rules),
        ["Once", "held", "once", "gate"]
    );
    let row = "struct Row { held: u8, once: u8 }";
    assert_eq!(
        banned_in("crates/store/src/a.rs", row, rules),
        Vec::<String>::new()
    );
    let flag =
        "struct Args { #[arg(long)] held: bool }\nenum Command { #[command(hide = true)] Once }";
    assert_eq!(banned_in("a.rs", flag, rules), ["held", "Once"]);
}
