//! Checks that the SQL of this crate names no table of Matins but the one of the migrator.

#![expect(clippy::unwrap_used, reason = "a test and its helpers")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The table in which the migrator records the applied migrations.
const MIGRATOR_TABLE: &str = "schema_versions";

/// Lists the files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

/// Splits a text into its words.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
}

/// Lists the tables that the migrations of `store` create or rename.
fn tables() -> BTreeSet<String> {
    let mut migrations = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/migrations"),
        &mut migrations,
    );
    let mut tables = BTreeSet::new();
    for path in migrations {
        let text = fs::read_to_string(path).unwrap();
        for line in text.lines().filter(|line| !line.starts_with("--")) {
            let words: Vec<_> = words(line).collect();
            match words[..] {
                ["create", "table", name, ..] | ["alter", "table", _, "rename", "to", name] => {
                    tables.insert(name.to_owned());
                }
                _ => {}
            }
        }
    }
    tables
}

/// The words that precede the name of a table in SQL. A name alone proves nothing: `servers` is also an English word.
const BEFORE_A_TABLE: [&str; 7] = [
    "from",
    "join",
    "into",
    "update",
    "table",
    "automation",
    "pragma_table_info",
];

/// Returns the tables that the string literals of a source name.
fn named_tables<'a>(source: &str, tables: &'a BTreeSet<String>) -> BTreeSet<&'a str> {
    let code = source.lines().filter(|line| {
        let line = line.trim_start();
        !line.starts_with("//")
    });
    let code: String = code.flat_map(|line| [line, "\n"]).collect();
    // A file's tests write statements of their own.
    let code = code.split("#[cfg(test)]").next().unwrap_or_default();
    let literals: Vec<&str> = code.split('"').skip(1).step_by(2).flat_map(words).collect();
    let is_named = |table: &&str| {
        let mut pairs = literals.windows(2);
        pairs.any(|pair| BEFORE_A_TABLE.contains(&pair[0]) && pair[1] == *table)
    };
    let tables = tables.iter().map(String::as_str);
    tables.filter(is_named).collect()
}

#[test]
fn db_crate_sql_names_only_migrator_table() {
    let tables = tables();
    assert!(
        tables.contains(MIGRATOR_TABLE) && tables.len() > 20,
        "{tables:?}"
    );
    let mut sources = Vec::new();
    files(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut sources,
    );
    let mut all = BTreeSet::new();
    for path in sources {
        let source = fs::read_to_string(&path).unwrap();
        let named = named_tables(&source, &tables);
        let foreign: Vec<_> = named
            .iter()
            .filter(|table| **table != MIGRATOR_TABLE)
            .collect();
        assert!(foreign.is_empty(), "{} names {foreign:?}", path.display());
        all.extend(named);
    }
    assert_eq!(all, BTreeSet::from([MIGRATOR_TABLE]));
}

#[test]
fn table_name_is_found_in_literals_but_not_in_comments() {
    let tables = BTreeSet::from(["agent_runs".to_owned(), "tenants".to_owned()]);
    let source = "// tenants\nlet text = \"select id from automation.agent_runs r\"; // tenants\n";
    assert_eq!(
        named_tables(source, &tables),
        BTreeSet::from(["agent_runs"])
    );
}
