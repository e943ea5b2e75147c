//! Requests that the document of the API allows and requests that it forbids, as two tenants (`scripts/check-api`).

use std::{path::Path, process::Command};

use testkit::databases::TestDatabase;

use crate::test_installation::TestInstallation;

#[expect(
    clippy::print_stdout,
    reason = "`scripts/test-long` reads the number of requests"
)]
fn api_responses_match_openapi_document(world: &TestInstallation, extent: &[&str]) {
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
    assert!(checked.status.success(), "{told}\n{failed}");
    println!("{told}");
}

#[test]
fn api_responses_match_openapi_document_on_sqlite() {
    api_responses_match_openapi_document(&TestInstallation::new(), &[]);
}

#[test]
fn api_responses_match_openapi_document_on_postgres() {
    let database = TestDatabase::empty_postgres().unwrap();
    let world = TestInstallation::new().with_env("MATINS_DATABASE", database.url());
    // The edges of each value are the same code on both databases; they take most of the time.
    api_responses_match_openapi_document(&world, &["few"]);
}
