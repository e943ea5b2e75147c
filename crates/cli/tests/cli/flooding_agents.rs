//! What agents that send too much do to the server, seen from outside.

use testkit::scripted::{Script, Step};

use crate::test_installation::TestInstallation;

/// How much more memory the server may ever have used than before, in bytes: a few times the longest
/// line that is read.
const MAX_GROWTH_BYTES: u64 = 192 << 20;

/// The most memory that a process has used so far, in bytes (`VmHWM` of proc(5)).
fn peak_memory_bytes(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.unwrap().trim().trim_end_matches(" kB");
    kilobytes.parse::<u64>().unwrap() << 10
}

fn add_agent(world: &TestInstallation, name: &str, steps: Vec<Step>) {
    let script = Script::new(world.path().join(name)).prompt(steps);
    let command = script.command().unwrap();
    let command = command.iter().map(String::as_str);
    let add = ["agent", "add", name, "--"].into_iter();
    world
        .run(&add.chain(command).collect::<Vec<_>>())
        .expect_success();
}

#[test]
fn flooding_agents_cost_little_memory_and_block_no_other_turn() {
    let world = TestInstallation::new().with_env("MATINS_WORKERS", "2");
    add_agent(&world, "good", vec![Step::Echo]);
    let text = |count, bytes| Step::Flood { count, bytes };
    let calls = |count, bytes| Step::ToolCalls { count, bytes };
    let long = Step::LongLine(15 << 20);
    let bad = [
        ("endless-line", vec![Step::LongLine(100 << 20)], "failed"),
        ("long-lines", vec![long; 2], "succeeded"),
        (
            "many-values",
            vec![Step::ManyValues(200_000); 2],
            "succeeded",
        ),
        ("flood", vec![text(100, 100_000)], "succeeded"),
        (
            "tool-calls",
            vec![calls(8, 1 << 20), calls(500, 10)],
            "succeeded",
        ),
        (
            "noise",
            vec![Step::raw_line(&"x".repeat(100_000)), Step::Stderr(10 << 20)],
            "succeeded",
        ),
    ];
    for (name, steps, _) in &bad {
        add_agent(&world, name, steps.clone());
    }
    let server = world.serve();
    let say = |agent: &str, words: &str, more: &[&str]| {
        let say = ["session", "send", "--new", "--agent", agent, words];
        world.json(&say.iter().chain(more).copied().collect::<Vec<_>>())
    };
    say("good", "Hello", &[]);
    let before = peak_memory_bytes(server.process_id());
    for (name, _, status) in bad {
        let asked = say(name, "Go", &["--queue"]);
        let run = asked["run"]["id"].as_str().unwrap();
        let good = say("good", "Hello", &[]);
        assert_eq!(good["answer"], "Hello", "beside {name}: {good:#}");
        let ended = || world.json(&["run", "show", run]);
        world.wait_for(name, |_| {
            let status = ended()["status"].clone();
            ["succeeded", "failed"].iter().any(|over| status == *over)
        });
        assert_eq!(ended()["status"], status, "{name}: {:#}", ended());
        let growth = peak_memory_bytes(server.process_id()).saturating_sub(before);
        println!("{name}: {} MiB above {} MiB", growth >> 20, before >> 20);
        assert!(growth < MAX_GROWTH_BYTES, "{name}: {} MiB", growth >> 20);
    }
}
