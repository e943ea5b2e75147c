//! Clients that generators make of the document of the API (`scripts/check-api-clients`).

use std::{path::Path, process::Command};

use crate::test_installation::TestInstallation;

#[test]
fn generated_clients_compile_and_drive_a_server() {
    let world = TestInstallation::new();
    let _server = world.serve();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let checked = Command::new(root.join("scripts/check-api-clients"))
        .arg(world.address())
        .arg(world.token())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&checked.stdout);
    let failed = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{told}\n{failed}");
}
