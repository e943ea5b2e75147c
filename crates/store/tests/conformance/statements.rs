//! The suite runs every statement that the store has.

use std::{collections::BTreeSet, fs, path::Path};

use store::database::{Dialect, executed};

use crate::{TestStore, behaviours};

/// Lists the `.sql` files below a folder, without the ending.
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

#[tokio::test]
async fn every_statement_is_executed_by_the_suite() {
    let mut expected = BTreeSet::new();
    let mut listed = BTreeSet::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sql");
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
    for dialect in [Dialect::Sqlite, Dialect::Postgres] {
        // The last ones first: they make the most of the store, and once nothing is missing the
        // rest need not run again.
        for behaviour in behaviours(dialect).into_iter().rev() {
            if missing(&expected, dialect).is_empty() {
                break;
            }
            println!("{} on {dialect:?}", behaviour.name);
            (behaviour.run)(&TestStore::open(dialect).await).await;
        }
    }
    let never: Vec<_> = [Dialect::Sqlite, Dialect::Postgres]
        .map(|dialect| missing(&expected, dialect))
        .concat();
    assert!(never.is_empty(), "the suite never ran {never:?}");
}

/// The statements that have not run yet on a database.
fn missing<'a>(
    expected: &BTreeSet<(&'a str, Dialect)>,
    dialect: Dialect,
) -> Vec<(&'a str, Dialect)> {
    let executed = executed();
    let of = expected.iter().filter(|(_, on)| *on == dialect);
    of.filter(|statement| !executed.contains(*statement))
        .copied()
        .collect()
}
