//! Requests that the document of the API allows and requests that it forbids, as two tenants (`scripts/check-api`).

use std::{path::Path, process::Command};

use testkit::databases::{TestDatabase, find_binaries};

use crate::test_installation::TestInstallation;

#[expect(
    clippy::print_stdout,
    reason = "`scripts/test-long` reads the number of requests"
)]
fn api_responses_match_openapi_document(
    world: &TestInstallation,
    database: Option<&TestDatabase>,
    extent: &[&str],
) {
    let _server = world.serve();
    let other = world.json(&["tenant", "create", "other"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let checked = Command::new(root.join("scripts/check-api"))
        .arg(world.address())
        .arg(world.token())
        .arg(other["token"]["secret"].as_str().unwrap())
        .args(extent)
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&checked.stdout);
    let failed = String::from_utf8_lossy(&checked.stderr);
    assert!(
        checked.status.success(),
        "{told}\n{failed}\n{}",
        database.map(connections).unwrap_or_default()
    );
    println!("{told}");
}

/// Returns what each connection to a database on PostgreSQL does and waits for, for the message of a failed test.
fn connections(database: &TestDatabase) -> String {
    let listed = find_binaries(&["psql"]).map(|folder| {
        Command::new(folder.join("psql"))
            .arg(database.url())
            .args(["--expanded", "--command"])
            .arg(
                "select pid, state, wait_event_type, wait_event, now() - xact_start as in_transaction,
                    pg_blocking_pids(pid) as blocked_by, query
                from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
            )
            .output()
    });
    match listed {
        Ok(Ok(listed)) => String::from_utf8_lossy(&listed.stdout).into_owned(),
        other => format!("cannot list the connections: {other:?}"),
    }
}

#[test]
fn api_responses_match_openapi_document_on_sqlite() {
    api_responses_match_openapi_document(&TestInstallation::new(), None, &[]);
}

#[test]
fn api_responses_match_openapi_document_on_postgres() {
    let database = TestDatabase::empty_postgres().unwrap();
    let world = TestInstallation::new().with_env("MATINS_DATABASE", database.url());
    // The edges of each value are the same code on both databases; they take most of the time.
    api_responses_match_openapi_document(&world, Some(&database), &["few"]);
}
