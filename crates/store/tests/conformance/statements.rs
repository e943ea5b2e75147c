//! Checks that the suite runs every statement of the store.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs::{self, File},
    io::Write as _,
    path::{Path, PathBuf},
};

use store::{
    Scope,
    database::{Dialect, executed_statements, with_numbered_params},
    params,
};
use testkit::databases::build_fingerprint;

use crate::{TestStore, behaviours, fixtures::statement, goals};

/// Lists the `.sql` files below a folder, without the extension.
pub(crate) fn files(folder: &Path, below: &str, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{below}{name}");
        if entry.file_type().unwrap().is_dir() {
            files(folder, &format!("{path}/"), found);
        } else if let Some(name) = path.strip_suffix(".sql") {
            found.insert(name.to_owned());
        }
    }
}

/// Returns the folder of the package that these tests belong to, with its statements and migrations.
pub(crate) fn store_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Records the statements that this process has executed, for [`every_statement_is_executed_by_the_suite`].
pub(crate) fn record_executed() {
    let mut lines = String::new();
    for (name, dialect) in executed_statements() {
        writeln!(lines, "{dialect:?} {name}").unwrap();
    }
    // One write appends all lines, because other tests append to the same file at the same time.
    let mut file = File::options()
        .create(true)
        .append(true)
        .open(record_file())
        .unwrap();
    file.write_all(lines.as_bytes()).unwrap();
}

/// Returns the file with the statements that tests of this build have executed. Removes the files of earlier builds.
fn record_file() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("executed-statements");
    fs::create_dir_all(&folder).unwrap();
    let build = build_fingerprint().unwrap();
    let file = folder.join(format!("{build:016x}"));
    if !file.exists() {
        for earlier in fs::read_dir(&folder).unwrap().flatten() {
            // Another test may have removed it.
            let _ = fs::remove_file(earlier.path());
        }
    }
    file
}

/// Reads the statements that tests of this build have recorded.
fn recorded() -> BTreeSet<String> {
    let text = fs::read_to_string(record_file()).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

/// Each test of a behaviour records its statements, and this test runs last. If it runs alone, it runs behaviours
/// until no statement is missing.
#[tokio::test]
async fn every_statement_is_executed_by_the_suite() {
    let mut expected = BTreeSet::new();
    let mut listed = BTreeSet::new();
    let folder = store_folder().join("src/sql");
    files(&folder, "", &mut listed);
    for file in &listed {
        if let Some(name) = file.strip_prefix("postgres/") {
            expected.insert((name, Dialect::Postgres));
        } else if let Some(name) = file.strip_prefix("sqlite/") {
            expected.insert((name, Dialect::Sqlite));
        } else {
            expected.insert((file.as_str(), Dialect::Postgres));
            expected.insert((file.as_str(), Dialect::Sqlite));
        }
    }
    let recorded = recorded();
    expected.retain(|(name, dialect)| !recorded.contains(&format!("{dialect:?} {name}")));
    println!("no test has recorded {expected:?}");
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        // Begin with the last behaviours, because they run most statements.
        let all = goals::all_behaviours(dialect).into_iter();
        for behaviour in all.chain(behaviours(dialect)).rev() {
            if unexecuted_statements(&expected, dialect).is_empty() {
                break;
            }
            println!("{} on {dialect:?}", behaviour.name);
            (behaviour.run)(&TestStore::open(dialect).await).await;
        }
    }
    let never: Vec<_> = [Dialect::Sqlite, Dialect::Postgres]
        .map(|dialect| unexecuted_statements(&expected, dialect))
        .concat();
    assert!(never.is_empty(), "the suite never ran {never:?}");
}

/// Lists the statements that have not run on a database.
fn unexecuted_statements<'a>(
    expected: &BTreeSet<(&'a str, Dialect)>,
    dialect: Dialect,
) -> Vec<(&'a str, Dialect)> {
    let executed = executed_statements();
    let of = expected.iter().filter(|(_, on)| *on == dialect);
    of.filter(|statement| !executed.contains(*statement))
        .copied()
        .collect()
}

/// Reads all files below `src/sql`.
fn texts() -> Vec<(String, String)> {
    let folder = store_folder().join("src/sql");
    let mut listed = BTreeSet::new();
    files(&folder, "", &mut listed);
    assert!(listed.len() > 200, "{listed:?}");
    let read = |file: &String| fs::read_to_string(folder.join(file).with_extension("sql")).unwrap();
    let texts = listed.iter().map(|file| (file.clone(), read(file)));
    texts.collect()
}

/// Returns the names under which a statement reads a table.
fn aliases<'a>(text: &'a str, table: &str) -> BTreeSet<&'a str> {
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let of_table = words.windows(2).filter(|pair| pair[0] == table);
    of_table.flatten().copied().collect()
}

/// The indexes of unfinished runs, which are few.
const OF_UNFINISHED_RUNS: [&str; 5] = [
    "agent_runs_claimable",
    "agent_runs_deferred_by_seat",
    "agent_runs_deferred_by_time",
    "agent_runs_one_active_per_automation",
    "agent_runs_one_active_per_seat",
];

/// Each run that has ever ended, or the seat of each session, would slow such a statement down, and the loops of a server
/// execute many of them.
#[tokio::test]
async fn no_statement_reads_all_runs_or_seats() {
    let db = TestStore::open(Dialect::Sqlite).await;
    let mut tx = db.database.begin(Scope::System).await.unwrap();
    for (name, text) in texts() {
        if name.starts_with("postgres/") {
            continue;
        }
        let explain = format!("explain query plan\n{}", with_numbered_params(&text));
        let plan = tx.fetch_all(statement(&explain), params![]).await;
        let plan = plan.unwrap_or_else(|error| panic!("{name}: {error}"));
        let lines = plan.iter().map(|row| row.get("detail").unwrap());
        let lines: Vec<String> = lines.collect();
        for (table, few) in [
            ("agent_runs", OF_UNFINISHED_RUNS.as_slice()),
            ("agent_definitions", &[]),
        ] {
            let aliases = aliases(&text, table);
            let of_all_rows = |line: &&String| {
                let mut words = line.split(' ');
                words.next() == Some("SCAN")
                    && words.next().is_some_and(|alias| aliases.contains(alias))
                    && !words.any(|word| few.contains(&word))
            };
            let found = lines.iter().find(of_all_rows);
            assert_eq!(found, None, "{name}:\n{}", lines.join("\n"));
        }
    }
}

/// The insert of a row locks the keys of all rows to which it refers, in no order of ours, so a lock with the key would
/// deadlock with it.
#[test]
fn locks_leave_keys_free_except_where_new_references_must_wait() {
    let with_key: BTreeSet<String> = texts()
        .into_iter()
        .filter(|(_, text)| text.contains("for update"))
        .map(|(name, _)| name)
        .collect();
    let expected = [
        "postgres/endpoints/lock",
        "postgres/harnesses/lock_to_remove",
    ];
    assert_eq!(with_key, expected.map(str::to_owned).into());
}

/// Returns the names of the statements that take many keys at once. The name is the first text of such a call.
fn statements_by_keys() -> BTreeSet<String> {
    let mut folders = vec![store_folder().join("src")];
    let mut found = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let calls = text.split("fetch_by_keys(").skip(1);
                let names = calls.map(|call| call.split('"').nth(1).unwrap().to_owned());
                found.extend(names);
            }
        }
    }
    found
}

/// SQLite knows little of the number of keys, and may choose to read a table before them, once or for each key.
#[tokio::test]
async fn statements_by_keys_read_keys_first() {
    let db = TestStore::open(Dialect::Sqlite).await;
    let mut tx = db.database.begin(Scope::System).await.unwrap();
    let by_keys = statements_by_keys();
    assert!(by_keys.contains("goals/message_inputs"), "{by_keys:?}");
    let texts: BTreeMap<String, String> = texts().into_iter().collect();
    for name in &by_keys {
        let of_sqlite = texts.get(&format!("sqlite/{name}"));
        let text = of_sqlite.or_else(|| texts.get(name)).unwrap();
        let keys = "select unhex(value) from json_each($1)";
        let text = text.replace("values /* row */ ($1)", keys);
        let explain = format!("explain query plan\n{}", with_numbered_params(&text));
        let plan = tx.fetch_all(statement(&explain), params![]).await.unwrap();
        let lines = plan.iter().map(|row| row.get("detail").unwrap());
        let lines: Vec<String> = lines.collect();
        let reads = |line: &&String| line.starts_with("SCAN ") || line.starts_with("SEARCH ");
        let first = lines.iter().find(reads);
        assert!(
            first.is_some_and(|line| line.starts_with("SCAN json_each")),
            "{name}:\n{}",
            lines.join("\n")
        );
    }
}

/// The maximum number of parameters that a statement may number instead of naming.
const MAX_NUMBERED_PARAMETERS: usize = 6;

#[test]
fn statement_with_more_than_six_parameters_names_them() {
    for (file, text) in texts() {
        let code = text.lines().filter(|line| !line.starts_with("--"));
        let code: Vec<_> = code.collect();
        let numbers = code.iter().flat_map(|line| line.split('$').skip(1));
        let numbers = numbers.filter_map(|part| {
            let end = part.find(|c: char| !c.is_ascii_digit());
            part[..end.unwrap_or(part.len())].parse::<usize>().ok()
        });
        let highest = numbers.max().unwrap_or(0);
        assert!(
            highest <= MAX_NUMBERED_PARAMETERS,
            "{file} numbers {highest} parameters"
        );
        let names = with_numbered_params(&text) != text;
        assert!(
            !names || highest == 0,
            "{file} names and numbers its parameters"
        );
    }
}

#[test]
fn statement_texts_of_both_databases_declare_same_names() {
    let texts: BTreeMap<String, String> = texts().into_iter().collect();
    let mut compared = 0;
    for (file, text) in &texts {
        let other = file.replacen("postgres/", "sqlite/", 1);
        let Some(other) = texts.get(&other).filter(|_| other != *file) else {
            continue;
        };
        assert_eq!(names(text), names(other), "{file}");
        compared += 1;
    }
    assert!(compared > 8);
}

/// Lists the names of a text in the order of their first appearance.
fn names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for word in text.split(|c: char| !(c.is_ascii_lowercase() || c == '_' || c == ':')) {
        if let Some(name) = word.strip_prefix(':')
            && !name.is_empty()
            && !name.contains(':')
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    names
}

#[test]
fn statement_marks_at_most_one_row_template() {
    let mut marked = 0;
    for (file, text) in texts() {
        let (marks, templates) = (
            text.matches("row */").count(),
            text.matches("values /* row */ (").count(),
        );
        assert!(marks == templates && templates <= 1, "{file}");
        marked += templates;
    }
    assert!(marked > 50);
}

/// The functions that read the time of a database.
const DATABASE_TIME_FUNCTIONS: [&str; 11] = [
    "clock_timestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "current_timestamp",
    "current_date",
    "current_time",
    "localtime",
    "timeofday",
    "now()",
    "'now'",
    "unixepoch(",
];

#[test]
fn only_clock_statement_reads_database_time() {
    let folder = store_folder();
    let mut asking = Vec::new();
    for below in ["src/sql/", "migrations/"] {
        let mut listed = BTreeSet::new();
        files(&folder, below, &mut listed);
        assert!(listed.len() > 10, "{listed:?}");
        for file in listed {
            let text = fs::read_to_string(folder.join(&file).with_extension("sql")).unwrap();
            let code = text.lines().filter(|line| !line.starts_with("--"));
            let asks = |line: &str| {
                DATABASE_TIME_FUNCTIONS
                    .iter()
                    .any(|word| line.contains(word))
            };
            if code.map(str::to_lowercase).any(|line| asks(&line)) {
                asking.push(file);
            }
        }
    }
    assert_eq!(asking, ["src/sql/postgres/clock/read"]);
}
