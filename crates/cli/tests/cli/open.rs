//! `matins open`: opens the web page in a browser, signed in.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::test_installation::TestInstallation;

#[test]
fn page_is_opened_with_a_sign_in_link() {
    let world = TestInstallation::new();
    let folder = world.path().join("bin");
    fs::create_dir(&folder).unwrap();
    let opener = folder.join("xdg-open");
    fs::write(&opener, "#!/bin/sh\nprintf %s \"$1\" > \"$HOME/opened\"\n").unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.display());
    let refused = world.run(&["open"]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    let _server = world.serve();
    let world = world.with_env("PATH", path);
    let opened = world.run(&["open"]);
    assert!(
        opened.stderr.contains("opens in your browser"),
        "{opened:#?}"
    );
    assert_eq!(opened.expect_success(), "");
    let address = fs::read_to_string(world.path().join("opened")).unwrap();
    assert!(address.starts_with("http://127.0.0.1:"), "{address}");
    assert!(address.contains("/sign-in#"), "{address}");
}

#[test]
fn link_is_printed_if_no_browser_opens() {
    let world = TestInstallation::new();
    let _server = world.serve();
    let world = world.with_env("PATH", "/nonexistent");
    let opened = world.run(&["open"]);
    assert!(opened.stderr.contains("`xdg-open` failed"), "{opened:#?}");
    assert!(opened.expect_success().contains("/sign-in#"));
}
