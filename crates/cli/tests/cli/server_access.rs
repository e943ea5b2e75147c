//! Access to a server: its socket, its address and its first token.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::MetadataExt as _,
};

use rustix::process::Signal;

use crate::test_installation::TestInstallation;

#[test]
fn only_first_server_start_creates_token() {
    let world = TestInstallation::new();
    let mut server = world.start(&["serve"]);
    let told = server.read_stdout_until("next run");
    let file = world.data_folder().join("token");
    assert!(told.contains(file.to_str().unwrap()), "{told}");
    assert!(told.contains("matins sign-in"), "{told}");
    assert!(told.contains(&world.address()), "{told}");
    let token = world.token();
    assert!(!told.contains(&token), "a log holds no secret");
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, 0);
    assert!(!world.data_folder().join("server.url").exists());
    fs::remove_file(&file).unwrap();
    let _server = world.serve();
    assert!(!file.exists(), "there is a token already");
    world.remote(&token).run(&["run", "list"]).expect_success();
}

#[test]
fn foreign_token_file_is_not_overwritten() {
    let world = TestInstallation::new();
    fs::create_dir(world.data_folder()).unwrap();
    let file = world.data_folder().join("token");
    fs::write(&file, "my notes").unwrap();
    let mut server = world.start(&["serve"]);
    server.read_stdout_until("next run");
    server.read_stderr_until("was not written by Matins");
    assert_eq!(fs::read_to_string(&file).unwrap(), "my notes");
    let tokens = world.json(&["token", "list"]);
    assert_eq!(tokens.as_array().unwrap().len(), 0);
}

#[test]
fn ready_event_contains_address_token_file_and_pid() {
    let world = TestInstallation::new();
    let mut server = world.start(&["serve", "--json"]);
    let ready: serde_json::Value =
        serde_json::from_str(&server.read_stdout_until("ready")).unwrap();
    assert_eq!(ready["event"], "ready");
    assert_eq!(ready["address"], world.address());
    let file = world.data_folder().join("token");
    assert_eq!(ready["token_file"], file.to_str().unwrap());
    assert_eq!(ready["pid"], server.process_id());
}

#[test]
fn non_loopback_address_is_refused_by_default() {
    let world = TestInstallation::new().with_env("MATINS_LISTEN", "0.0.0.0:0");
    let refused = world.run(&["serve"]);
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(
        refused.stderr.contains("server.beyond_loopback"),
        "{refused:#?}"
    );
    assert!(!world.data_folder().exists(), "nothing was begun");
    // An invalid address is refused as well.
    let wrong = world.run(&["serve", "--listen", "localhost"]);
    assert_eq!(wrong.code, 2, "{wrong:#?}");
}

#[test]
fn default_listen_address_is_loopback() {
    let world = TestInstallation::new();
    let mut command = world.command(&["config", "show", "--json"]);
    let shown = command.env_remove("MATINS_LISTEN").output().unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let mut settings = shown.as_array().unwrap().iter();
    let listen = settings.find(|setting| setting["name"] == "server.listen");
    let listen = listen.unwrap();
    assert_eq!(listen["origin"]["kind"], "default");
    let address: std::net::SocketAddr = listen["value"].as_str().unwrap().parse().unwrap();
    assert!(address.ip().is_loopback(), "{address}");
}

#[test]
fn non_loopback_address_is_accepted_with_beyond_loopback() {
    // No machine has this one (RFC 5737), so that nothing is ever reached at it.
    let world = TestInstallation::new().with_env("MATINS_LISTEN", "192.0.2.1:0");
    let refused = world.run(&["serve"]);
    assert_eq!(refused.code, 2, "{refused:#?}");
    assert!(
        refused.stderr.contains("server.beyond_loopback"),
        "{refused:#?}"
    );
    let allowed = world.with_env("MATINS_BEYOND_LOOPBACK", "true");
    let tried = allowed.run(&["serve"]);
    assert_ne!(tried.code, 2, "{tried:#?}");
    assert!(tried.stderr.contains("192.0.2.1:0"), "{tried:#?}");
    assert!(
        !tried.stderr.contains("server.beyond_loopback"),
        "{tried:#?}"
    );
}

#[test]
fn listen_address_in_use_is_reported() {
    let world = TestInstallation::new();
    let _server = world.serve();
    let address = world.address().replace("http://", "");
    let other = world
        .with_data_folder("other")
        .with_env("MATINS_LISTEN", address.clone());
    let refused = other.run(&["serve"]);
    assert_eq!(refused.code, 6, "{refused:#?}");
    assert!(refused.stderr.contains(&address), "{refused:#?}");
    assert!(refused.stderr.contains("--listen"), "{refused:#?}");
}

/// Returns the response of the server at an address to a request with this host name.
fn request_by_host(address: &str, name: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("GET /api/v1/server HTTP/1.1\r\nhost: {name}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn requests_for_unconfigured_host_are_refused() {
    let world = TestInstallation::new()
        .with_env("MATINS_HOSTS", "matins.example.org")
        .with_env("MATINS_LISTEN", "127.0.0.2:0");
    let _server = world.serve();
    let told = world.address();
    let port = told
        .strip_prefix("http://matins.example.org:")
        .expect("the named host stands in the address");
    let address = format!("127.0.0.2:{port}");
    for name in ["matins.example.org", "localhost", "127.0.0.2"] {
        let answer = request_by_host(&address, &format!("{name}:{port}"));
        assert!(answer.contains(" 401 "), "{name}: {answer}");
    }
    let refused = request_by_host(&address, "evil.example");
    assert!(refused.contains(" 403 "), "{refused}");
    assert!(refused.contains("server.hosts"), "{refused}");
}

#[test]
fn command_bypasses_frozen_server() {
    let world = TestInstallation::new();
    let server = world.serve();
    server.freeze();
    let listed = world.run(&["automation", "list"]);
    assert_eq!(listed.code, 0, "{listed:#?}");
    assert!(listed.stderr.contains("does not answer"), "{listed:#?}");
    server.signal(Signal::CONT);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, 0);
}
