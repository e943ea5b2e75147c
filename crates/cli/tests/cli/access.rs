//! Authentication and authorization of clients.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
};

use crate::test_installation::TestInstallation;

#[test]
fn login_is_verified_stored_and_used_until_logout() {
    let world = TestInstallation::new();
    let _server = world.serve();
    let address = world.address();
    let home = TestInstallation::new();
    let stored = home.path().join(".config/matins/login.toml");
    for (text, code) in [("", 2), ("nonsense\n", 8), ("mat_nonsense\n", 8)] {
        let refused = home.run_with_stdin(&["login", &address], text);
        assert_eq!(refused.code, code, "{text:?}: {refused:#?}");
        assert!(!stored.exists(), "{text:?}");
    }
    let token = format!("{}\n", world.token());
    let done = home.run_with_stdin(&["login", &address], &token);
    assert!(done.stdout.contains("as admin of default"), "{done:#?}");
    assert_eq!(fs::metadata(&stored).unwrap().mode() & 0o777, 0o600);

    let add = ["automation", "add", "--on-demand", "--agent", "demo"];
    let add: Vec<_> = add.into_iter().chain(["--name", "news", "Work"]).collect();
    home.run(&add).expect_success();
    assert_eq!(world.run(&["automation", "show", "news"]).code, 0);
    assert!(
        !home.data_folder().exists(),
        "nothing is made on this machine"
    );
    // A data folder on the command line takes precedence over the login.
    let data = home.data_folder();
    let here = ["automation", "show", "news", "--data"];
    let here: Vec<_> = here.into_iter().chain([data.to_str().unwrap()]).collect();
    assert_eq!(home.run(&here).code, 3);

    fs::set_permissions(&stored, fs::Permissions::from_mode(0o644)).unwrap();
    let refused = home.run(&["automation", "list"]);
    assert_eq!(refused.code, 6, "{refused:#?}");
    for text in ["mode 644", "chmod 600"] {
        assert!(refused.stderr.contains(text), "{refused:#?}");
    }
    home.run(&["logout"]).expect_success();
    assert!(!stored.exists());
    assert_eq!(home.run(&["automation", "show", "news"]).code, 3);
    let again = home.run(&["logout"]).expect_success();
    assert!(again.contains("Not signed in"), "{again}");
}

#[test]
fn wrong_token_missing_token_and_unreachable_server_differ() {
    let world = TestInstallation::new();
    let server = world.serve();
    let wrong = world.remote("mat_nonsense").run(&["run", "list"]);
    assert_eq!(wrong.code, 8, "{wrong:#?}");
    assert!(wrong.stderr.contains("hint:"), "{wrong:#?}");
    let json = world.remote("mat_nonsense").run(&["run", "list", "--json"]);
    assert!(json.stderr.contains(r#""kind":"not_allowed""#), "{json:#?}");
    let address = world.address();
    let missing = world
        .with_data_folder("elsewhere")
        .run(&["run", "list", "--server", &address]);
    assert_eq!(missing.code, 8, "{missing:#?}");
    assert!(missing.stderr.contains("matins login"), "{missing:#?}");
    let elsewhere = world.remote(&world.token());
    drop(server);
    let gone = elsewhere.run(&["run", "list"]);
    assert_eq!(gone.code, 6, "{gone:#?}");
    assert!(gone.stderr.contains(&address), "{gone:#?}");
    let none = elsewhere.run(&["run", "list", "--server", "unix:/x"]);
    assert_eq!(none.code, 2, "{none:#?}");
}

#[test]
fn token_grants_permissions_of_its_role_until_revoked() {
    let world = TestInstallation::new();
    let _server = world.serve();
    let said = world.json(&["session", "send", "--new", "--agent", "demo", "Hello"]);
    let run = said["run"]["id"].as_str().unwrap();
    let session = said["run"]["session_id"].as_str().unwrap();
    let create = ["token", "create", "looks", "--role", "viewer"];
    let made = world.json(
        &create
            .into_iter()
            .chain(["--expires", "90d"])
            .collect::<Vec<_>>(),
    );
    let viewer = world.remote(made["secret"].as_str().unwrap());
    viewer.run(&["session", "show", session]).expect_success();
    assert_eq!(
        viewer.json(&["run", "show", run])["record"],
        serde_json::Value::Null
    );
    assert!(world.json(&["run", "show", run])["record"].is_object());
    for refused in [
        &["session", "send", session, "Hello"][..],
        &["token", "list"],
        &["tenant", "create", "other"],
        &["agent", "add", "evil", "--", "sh"],
    ] {
        let refused = viewer.run(refused);
        assert_eq!(refused.code, 8, "{refused:#?}");
        assert!(
            refused.stderr.contains("this token lacks the permission `"),
            "{refused:#?}"
        );
    }
    let listed = world.run(&["token", "list"]).expect_success();
    assert!(listed.contains("looks"), "{listed}");
    assert!(
        !listed.contains(made["secret"].as_str().unwrap()),
        "{listed}"
    );
    world
        .run(&["token", "revoke", made["id"].as_str().unwrap()])
        .expect_success();
    assert_eq!(viewer.run(&["session", "show", session]).code, 8);
    let listed = world.run(&["token", "list"]).expect_success();
    assert!(listed.contains("revoked"), "{listed}");
}

#[test]
fn made_tokens_end_with_their_maker_or_are_revoked_with_it() {
    let world = TestInstallation::new();
    let _server = world.serve();
    let create = ["token", "create", "maker", "--role", "admin"];
    let create: Vec<_> = create.into_iter().chain(["--expires", "1d"]).collect();
    let maker = world.json(&create);
    let id = maker["id"].as_str().unwrap();
    let by_maker = world.remote(maker["secret"].as_str().unwrap());
    let later = ["token", "create", "later", "--expires", "2d"];
    let refused = by_maker.run(&later);
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(refused.stderr.contains("expires_at"), "{refused:#?}");
    let made = by_maker.json(&["token", "create", "made", "--role", "admin"]);
    assert_eq!(made["expires_at"], maker["expires_at"]);
    let by_made = world.remote(made["secret"].as_str().unwrap());
    let last = by_made.run(&["token", "create", "last"]);
    assert_eq!(last.code, 0, "{last:#?}");
    assert!(
        last.stderr.contains("with the token that made it"),
        "{last:#?}"
    );
    let listed = world.run(&["token", "list"]).expect_success();
    assert!(listed.contains("MADE BY"), "{listed}");
    let row = listed.lines().find(|line| line.contains(" made ")).unwrap();
    assert!(row.contains(id), "{listed}");

    let revoked = world.run(&["token", "revoke", id]);
    assert_eq!(revoked.stdout, format!("Revoked {id}.\n"));
    let hint = format!("2 tokens that it made stay valid. `matins token revoke {id} --cascade`");
    assert!(revoked.stderr.contains(&hint), "{revoked:#?}");
    by_made.run(&["token", "list"]).expect_success();
    let revoked = world.run(&["token", "revoke", id, "--cascade"]);
    assert!(
        revoked.stdout.contains("and 2 tokens that it made"),
        "{revoked:#?}"
    );
    assert_eq!(by_made.run(&["token", "list"]).code, 8);
}

#[test]
fn tenants_cannot_see_each_other() {
    let world = TestInstallation::new();
    let _server = world.serve();
    let said = world.json(&["session", "send", "--new", "--agent", "demo", "Hello"]);
    let session = said["run"]["session_id"].as_str().unwrap();
    let made = world.json(&["tenant", "create", "other"]);
    let other = world.remote(made["token"]["secret"].as_str().unwrap());
    assert_eq!(other.run(&["session", "show", session]).code, 3);
    assert_eq!(
        other.json(&["session", "list", "--all"]),
        serde_json::json!([])
    );
    assert_eq!(other.json(&["tenant", "list"]).as_array().unwrap().len(), 1);
    assert_eq!(world.json(&["tenant", "list"]).as_array().unwrap().len(), 2);
    assert_eq!(other.run(&["tenant", "create", "third"]).code, 8);
}

#[test]
fn sign_in_link_requires_server_with_address() {
    let world = TestInstallation::new();
    let refused = world.run(&["sign-in"]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    let server = world.serve();
    let address = world.address();
    let link = world.run(&["sign-in"]).expect_success();
    assert!(link.starts_with(&format!("{address}/")), "{link}");
    assert!(link.contains('#'), "the code is sent to no server: {link}");
    let elsewhere = world.remote(&world.token());
    let other = elsewhere.json(&["sign-in"]);
    assert!(other["url"].as_str().unwrap().starts_with(&address));
    drop(server);
    let silent = TestInstallation::new().with_env("MATINS_LISTEN", "none");
    let _server = silent.serve();
    let refused = silent.run(&["sign-in"]);
    assert_eq!(refused.code, 4, "{refused:#?}");
    assert!(refused.stderr.contains("--listen"), "{refused:#?}");
}
