//! Commands that find no server, because it starts at the same time.

use rustix::process::Signal;
use testkit::databases::TestDatabase;

use crate::test_installation::TestInstallation;

/// The number of commands that run while one server starts.
const COMMANDS_PER_START: usize = 5;

/// Returns an installation whose server polls only once an hour, so that a missed change is never noticed by chance.
fn rarely_polling_installation() -> TestInstallation {
    TestInstallation::new()
        .with_env("MATINS_TICK_SECONDS", "3600")
        .with_env("MATINS_WATCHDOG_SECONDS", "3600")
}

/// Gives schedules to automations while a server starts, again and again, and waits until each schedule has fired.
fn edit_while_server_starts(world: &TestInstallation, starts: usize) {
    for start in 0..starts {
        let names: Vec<_> = (0..COMMANDS_PER_START)
            .map(|command| format!("report-{start}-{command}"))
            .collect();
        for name in &names {
            let add = ["automation", "add", "--on-demand", "--agent", "demo"];
            let add = [&add[..], &["--name", name, "Report"]].concat();
            world.run(&add).expect_success();
        }
        let mut server = world.start(&["serve"]);
        let edits: Vec<_> = names
            .iter()
            .map(|name| world.start(&["automation", "edit", name, "--every", "1s"]))
            .collect();
        for edit in edits {
            let ended = edit.end();
            assert_eq!(ended.code, 0, "{ended:#?}");
        }
        server.read_stdout_until("next run");
        for name in &names {
            world.wait_for(&format!("{name} fires"), |world| {
                let runs = world.json(&["run", "list", "--automation", name]);
                !runs.as_array().unwrap().is_empty()
            });
            world.run(&["automation", "pause", name]).expect_success();
        }
        server.signal(Signal::TERM);
        assert_eq!(server.end().code, 0);
    }
}

#[test]
fn schedule_edited_while_server_starts_fires_on_time() {
    edit_while_server_starts(&rarely_polling_installation(), 4);
}

#[test]
fn schedule_edited_while_server_starts_fires_on_time_on_postgresql() {
    let database = TestDatabase::empty_postgres().unwrap();
    let world = rarely_polling_installation().with_env("MATINS_DATABASE", database.url());
    edit_while_server_starts(&world, 2);
}

#[test]
fn message_queued_while_server_starts_is_taken_at_once() {
    let world = rarely_polling_installation();
    let mut server = world.start(&["serve"]);
    let messages: Vec<_> = (0..COMMANDS_PER_START)
        .map(|_| {
            let send = [
                "session", "send", "--new", "--agent", "demo", "--queue", "Hello",
            ];
            world.start(&send)
        })
        .collect();
    for message in messages {
        let ended = message.end();
        assert_eq!(ended.code, 0, "{ended:#?}");
    }
    server.read_stdout_until("next run");
    world.wait_for("all messages are answered", |world| {
        let runs = world.json(&["run", "list", "--status", "succeeded"]);
        runs.as_array().unwrap().len() == COMMANDS_PER_START
    });
    server.signal(Signal::TERM);
    assert_eq!(server.end().code, 0);
}
