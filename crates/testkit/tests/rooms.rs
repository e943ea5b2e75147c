//! The invariants of crates that Cargo does not check: the words that must not occur in their code.
//!
//! `layers.rs` checks the dependencies between crates. A crate may still break its promise with the standard library
//! alone, for example by reading the clock, so this test searches the code of each crate, without its comments and
//! its test modules.

#![expect(clippy::unwrap_used, reason = "a test and its helpers")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

/// The parts of code that read a clock, randomness or the environment, or that do input or output.
const EFFECTS: &[&str] = &[
    "std::fs",
    "std::net",
    "std::env",
    "std::process",
    "std::thread",
    "tokio",
    "async ",
    ".await",
    "::now()",
    "getrandom",
];

/// The parts of code that write to a terminal or read arguments.
const TERMINAL: &[&str] = &[
    "println!",
    "eprintln!",
    "print!(",
    "stdout()",
    "stderr()",
    "stdin()",
    "args_os(",
    "env::args",
];

/// For each crate, the parts that must not occur in its code.
const FORBIDDEN_CODE: [(&str, &[&str]); 7] = [
    ("model", EFFECTS),
    ("model", TERMINAL),
    ("api-types", EFFECTS),
    ("api-types", TERMINAL),
    ("service", TERMINAL),
    ("server", TERMINAL),
    ("doctor", TERMINAL),
];

/// The files of `model` whose types have a textual form of their own: words, IDs, instants, money, the facts that
/// pass between a turn and its store, and the reports in the answers of agents. Every other type of the domain has no serde: requests and responses are types
/// of the API, rows are stored documents.
const SERDE_IN_MODEL: [&str; 12] = [
    "budget/meter.rs",
    "budget/money.rs",
    "feed.rs",
    "goal/report_schema.rs",
    "ids.rs",
    "outcome.rs",
    "prompt/mod.rs",
    "schedule/every.rs",
    "schedule/quiet_hours.rs",
    "text_enum.rs",
    "time.rs",
    "turn.rs",
];

/// The crates whose SQL may name the tables: the store, and the tools and test helpers that check its rows.
const NAMES_TABLES: [&str; 4] = ["store", "testkit", "bench", "chaos"];

/// The words of SQL that stand in front of the name of a table.
const BEFORE_A_TABLE: [&str; 5] = ["from", "into", "update", "join", "table"];

fn repository() -> PathBuf {
    let above = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    above.unwrap().to_owned()
}

/// Collects the files below a folder that have an extension.
fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|kind| kind == extension) {
            found.push(path);
        }
    }
}

/// Returns the code of a Rust file, without its comments and without the test modules at its end.
fn code_without_tests(text: &str) -> String {
    let end = text.find("#[cfg(test)]").unwrap_or(text.len());
    let lines = text[..end].lines();
    let code = lines.filter(|line| !line.trim_start().starts_with("//"));
    code.collect::<Vec<_>>().join("\n")
}

/// Returns the path below `src` and the code of each Rust file of a crate. Test files, which are modules behind
/// `#[cfg(test)]`, are left out.
fn sources(name: &str) -> Vec<(String, String)> {
    let folder = repository().join("crates").join(name).join("src");
    let mut found = Vec::new();
    files(&folder, "rs", &mut found);
    assert!(!found.is_empty(), "{name} has no sources");
    let mut sources = Vec::new();
    for path in found {
        let inner = path.strip_prefix(&folder).unwrap();
        let inner = inner.to_str().unwrap().to_owned();
        if !inner.contains("tests") {
            sources.push((
                inner,
                code_without_tests(&fs::read_to_string(&path).unwrap()),
            ));
        }
    }
    sources
}

#[test]
fn crate_uses_no_forbidden_effects() {
    let mut found = Vec::new();
    for (name, forbidden) in FORBIDDEN_CODE {
        for (path, code) in sources(name) {
            let broken = forbidden.iter().filter(|part| code.contains(**part));
            found.extend(broken.map(|part| format!("{name}/src/{path}: {part}")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn domain_types_have_no_serde() {
    let with_serde: BTreeSet<String> = sources("model")
        .into_iter()
        .filter(|(_, code)| code.contains("Serialize") || code.contains("serde("))
        .map(|(path, _)| path)
        .collect();
    let allowed: BTreeSet<String> = SERDE_IN_MODEL.map(str::to_owned).into();
    assert_eq!(with_serde, allowed);
}

/// Returns the names of all tables, as the migrations create them.
fn tables() -> BTreeSet<String> {
    let mut migrations = Vec::new();
    files(
        &repository().join("crates/store/migrations"),
        "sql",
        &mut migrations,
    );
    let mut tables = BTreeSet::new();
    for path in migrations {
        let text = fs::read_to_string(path).unwrap();
        for after in text.split("create table ").skip(1) {
            let name = after.trim_start_matches("if not exists ");
            let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
            tables.insert(name[..end.unwrap_or(name.len())].to_owned());
        }
    }
    tables
}

/// Returns the tables that a text names as SQL does, behind `from` or `update`, for example.
fn named_tables(text: &str, tables: &BTreeSet<String>) -> Vec<String> {
    let words: Vec<&str> = text
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .filter(|word| !word.is_empty())
        .collect();
    let named = words
        .windows(2)
        .filter(|pair| BEFORE_A_TABLE.contains(&pair[0]) && tables.contains(pair[1]));
    named.map(|pair| pair.join(" ")).collect()
}

#[test]
fn sql_outside_store_names_no_table() {
    let tables = tables();
    assert!(tables.contains("agent_runs"), "{tables:?}");
    let mut found = Vec::new();
    for entry in fs::read_dir(repository().join("crates")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if NAMES_TABLES.contains(&name.as_str()) {
            continue;
        }
        for (path, code) in sources(&name) {
            let mut named = named_tables(&code, &tables);
            // `db` applies the migrations that the store hands it, and records them.
            named.retain(|sql| name != "db" || !sql.ends_with(" schema_versions"));
            found.extend(named.iter().map(|sql| format!("{name}/src/{path}: {sql}")));
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn table_name_is_found_in_sql_only() {
    let tables = BTreeSet::from(["agent_runs".to_owned()]);
    let sql = "\"select 1 from agent_runs\" and \"update agent_runs\"";
    assert_eq!(
        named_tables(sql, &tables),
        ["from agent_runs", "update agent_runs"]
    );
    assert_eq!(
        named_tables("the agent_runs of a seat", &tables),
        Vec::<String>::new()
    );
    assert_eq!(code_without_tests("a\n// println!\n#[cfg(test)]\nb"), "a");
}
