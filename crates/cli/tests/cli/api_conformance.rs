//! Requests that the document of the API allows and requests that it forbids, as two tenants (`scripts/check-api`).

use std::{path::Path, process::Command};

use testkit::databases::TestDatabase;

use crate::test_installation::TestInstallation;

fn api_responses_match_openapi_document(world: &TestInstallation) {
    let _server = world.serve();
    let other = world.json(&["tenant", "create", "other"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let checked = Command::new(root.join("scripts/check-api"))
        .arg(world.address())
        .arg(world.token())
        .arg(other["token"]["secret"].as_str().unwrap())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&checked.stdout);
    let failed = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{told}\n{failed}");
}

#[test]
fn api_responses_match_openapi_document_on_sqlite() {
    api_responses_match_openapi_document(&TestInstallation::new());
}

#[test]
fn api_responses_match_openapi_document_on_postgres() {
    let database = TestDatabase::empty_postgres().unwrap();
    let world = TestInstallation::new().with_env("MATINS_DATABASE", database.url());
    api_responses_match_openapi_document(&world);
}
