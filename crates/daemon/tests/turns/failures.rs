//! Failures of agents and workers: retries, ends without a retry, and their notices.

use std::fs;

use daemon::{Host, WorkerTurnStore};
use model::{
    Clock as _, RunId,
    agent::AgentConfig,
    entity::Run,
    outcome::FailureKind,
    policy::{OnCrash, Policies, Retry, SessionMode},
    run::RunStatus,
};
use serde_json::json;
use testkit::scripted::{Crash, Event, Step};
use turn::ToolGrants;

use crate::world::{World, automation, on_demand, prompt_log, session_openings};

pub(crate) async fn missing_agent_command_exhausts_attempts(world: &World) {
    let config = AgentConfig::new(vec!["/nowhere/agent".into()]);
    let agent = world.agent_with(&config).await;
    let id = world.create_automation(&on_demand(agent)).await;
    let fired = world.fire(id).await;
    let first = world.take_turn(fired).await;
    for number in 1..3 {
        let attempts = world.attempts(first.id).await;
        assert_eq!(attempts.len(), number + 1);
        // The automation has no failure before the last attempt.
        assert_eq!(world.automation_of(id).await.consecutive_failures, 0);
        world.take_after_backoff(&attempts[number]).await;
    }
    let attempts = world.attempts(first.id).await;
    assert_eq!(attempts.len(), 3);
    for run in &attempts {
        assert_eq!(run.status(), RunStatus::Failed, "{run:#?}");
        assert_eq!(run.state.reason(), Some(FailureKind::Start.as_str()));
    }
    assert_eq!(world.automation_of(id).await.consecutive_failures, 1);
    let words = world.messages(first.session_id.unwrap()).await;
    let roles: Vec<_> = words.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(
        roles,
        ["user", "system", "system", "system", "system", "system"]
    );
    assert!(words[1].1.contains("/nowhere/agent"), "{words:#?}");
    assert!(words[1].1.contains("will be retried at"), "{words:#?}");
    assert_eq!(words[2].1, "Attempt 2 begins.");
    assert!(!words[5].1.contains("retried"), "{words:#?}");
}

pub(crate) async fn agent_exit_before_initialize_is_retried(world: &World) {
    let mut script = world.script();
    script.before_initialize = vec![Step::Stderr(10), Step::Crash(Crash::Exit(7))];
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_and_take_turn(session, "Go").await;
    assert_eq!(run.state.reason(), Some("start"), "{run:#?}");
    let notice = world.last_notice(session).await;
    assert!(notice.contains("exit code 7: the last word"), "{notice}");

    script.before_initialize.clear();
    script.command().unwrap();
    let attempts = world.attempts(run.id).await;
    let again = world.take_after_backoff(&attempts[1]).await;
    assert_eq!(again.status(), RunStatus::Succeeded, "{again:#?}");
    // No agent had received the message before, so it is sent unchanged.
    assert_eq!(prompt_log(&script).prompts(), ["Go"]);
}

/// Takes the turn of one attempt on another host of the same worker.
async fn take_turn_on(world: &World, host: &Host, run: RunId) -> Run {
    let claimed = world
        .store()
        .claim(&host.worker, host.instance, 1, Some(run), world.clock.now())
        .await
        .unwrap();
    assert_eq!(claimed.len(), 1, "{run} could not be claimed");
    let store = WorkerTurnStore::new(host.clone());
    let control = turn::TurnControl::idle();
    turn::execute(&store, &host.agent_runtime, run, &control)
        .await
        .unwrap();
    world.run(run).await
}

pub(crate) async fn turn_whose_tools_cannot_be_granted_fails_before_its_agent_and_is_retried(
    world: &World,
) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let (socket, runs) = (world.path("tools.sock"), world.path("runs"));
    let grants = ToolGrants::new("/bin/true".into(), socket, runs.clone()).unwrap();
    let mut host = world.host.clone();
    host.agent_runtime.tools = Some(grants);
    // 1. The files of runs cannot be written.
    fs::remove_dir(&runs).unwrap();
    fs::write(&runs, "").unwrap();
    let run = world.send_message(session, "Go").await;
    let run = take_turn_on(world, &host, run).await;
    assert_eq!(run.state.reason(), Some("internal"), "{run:#?}");
    let notice = world.last_notice(session).await;
    assert!(
        notice.contains("cannot write the file of the agent's tools")
            && notice.contains("will be retried at"),
        "{notice}"
    );
    assert_eq!(
        prompt_log(&script).events().count(),
        0,
        "no agent was started"
    );
    // 2. The next attempt has its tools.
    fs::remove_file(&runs).unwrap();
    fs::create_dir(&runs).unwrap();
    let attempts = world.attempts(run.id).await;
    world.clock.set(attempts[1].state.not_before().unwrap());
    world.fire_due().await;
    let again = take_turn_on(world, &host, attempts[1].id).await;
    assert_eq!(again.status(), RunStatus::Succeeded, "{again:#?}");
    let log = prompt_log(&script);
    let opened = log
        .events()
        .any(|event| matches!(event, Event::New(_, servers) if servers == &["matins"]));
    assert!(opened, "the session has the server of the tools");
}

pub(crate) async fn retry_after_crash_in_answer_prompts_with_interruption(world: &World) {
    let script = world
        .script()
        .prompt([Step::Echo])
        .prompt([
            Step::Update(json!({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "pay"})),
            Step::text("I have paid and"),
            Step::Crash(Crash::Exit(3)),
        ])
        .prompt([Step::text("It was paid.")]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "One").await;
    let crashed = world.send_and_take_turn(session, "Pay the bill").await;
    assert_eq!(crashed.status(), RunStatus::Failed, "{crashed:#?}");
    assert_eq!(crashed.state.reason(), Some("agent_exited"));

    let attempts = world.attempts(crashed.id).await;
    let again = world.take_after_backoff(&attempts[1]).await;
    assert_eq!(again.status(), RunStatus::Succeeded, "{again:#?}");
    assert_eq!(again.interrupted_run_id, Some(crashed.id));
    assert_eq!(again.prompt_ref.unwrap().id, "turn.interrupted");
    let ledger = prompt_log(&script);
    let prompts = ledger.prompts();
    assert_eq!(prompts[..2], ["One", "Pay the bill"]);
    assert!(
        prompts[2].contains(&crashed.id.to_string()),
        "{}",
        prompts[2]
    );
    assert!(prompts[2].ends_with("\nPay the bill"), "{}", prompts[2]);
    assert_eq!(session_openings(&script), ["new", "resume", "resume"]);

    let transcript = world.transcript(session).await;
    let partial = transcript
        .iter()
        .find(|row| row.content == "I have paid and")
        .unwrap();
    assert_eq!(partial.metadata["interrupted"], true);
    assert!(
        transcript
            .iter()
            .any(|row| row.kind.as_str() == "tool_call" && row.content == "pay")
    );
    // The transcript shows the person's message once.
    assert_eq!(
        transcript
            .iter()
            .filter(|row| row.role.as_str() == "user")
            .count(),
        2
    );
    assert_eq!(transcript.last().unwrap().content, "It was paid.");
}

pub(crate) async fn crash_after_prompt_with_fail_policy_is_not_retried(world: &World) {
    let script = world
        .script()
        .prompt([Step::text("Half"), Step::Crash(Crash::Abort)]);
    let agent = world.agent(&script).await;
    let mut new = on_demand(agent);
    new.policies.on_crash = OnCrash::Fail;
    let id = world.create_automation(&new).await;
    let fired = world.fire(id).await;
    let run = world.take_turn(fired).await;
    assert_eq!(run.status(), RunStatus::Failed, "{run:#?}");
    assert_eq!(world.attempts(run.id).await.len(), 1);
    assert_eq!(world.automation_of(id).await.consecutive_failures, 1);
    assert_eq!(prompt_log(&script).prompts().len(), 1);
}

pub(crate) async fn crash_before_prompt_is_retried_despite_fail_policy(world: &World) {
    let mut script = world.script();
    script.before_open = vec![Step::Crash(Crash::Abort)];
    let agent = world.agent(&script).await;
    let mut new = on_demand(agent);
    new.policies.on_crash = OnCrash::Fail;
    let id = world.create_automation(&new).await;
    let fired = world.fire(id).await;
    let run = world.take_turn(fired).await;
    assert_eq!(run.state.reason(), Some("agent_exited"), "{run:#?}");
    script.before_open.clear();
    script.command().unwrap();
    let attempts = world.attempts(run.id).await;
    let again = world.take_after_backoff(&attempts[1]).await;
    assert_eq!(again.status(), RunStatus::Succeeded, "{again:#?}");
    assert_eq!(again.interrupted_run_id, None);
}

pub(crate) async fn unknown_sign_in_method_fails_without_retry(world: &World) {
    let mut script = world.script();
    script.sign_in = Some("browser".into());
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let run = world.send_and_take_turn(session, "Go").await;
    assert_eq!(run.state.reason(), Some("sign_in"), "{run:#?}");
    assert_eq!(world.attempts(run.id).await.len(), 1);
    let notice = world.last_notice(session).await;
    assert!(notice.contains("browser"), "{notice}");
    assert!(prompt_log(&script).prompts().is_empty());

    // An agent with a configured method signs in with each process.
    let mut config = AgentConfig::new(script.command().unwrap());
    config.authenticate = Some("browser".into());
    world.agent_with(&config).await;
    for words in ["One", "Two"] {
        let run = world.send_and_take_turn(session, words).await;
        assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    }
    let ledger = prompt_log(&script);
    let signed_in = Event::SignedIn("browser".into());
    assert_eq!(
        ledger.events().filter(|event| **event == signed_in).count(),
        2
    );
}

pub(crate) async fn unsupported_protocol_version_fails_without_retry(world: &World) {
    for version in [json!(2), json!("1"), json!(null)] {
        let mut script = world.script();
        script.protocol_version = version;
        let agent = world.agent(&script).await;
        let session = world.session(agent).await;
        let run = world.send_and_take_turn(session, "Go").await;
        assert_eq!(run.state.reason(), Some("protocol"), "{run:#?}");
        assert_eq!(world.attempts(run.id).await.len(), 1);
        assert_eq!(session_openings(&script), [] as [&str; 0]);
    }
}

pub(crate) async fn automation_pauses_after_consecutive_failures(world: &World) {
    let script = world
        .script()
        .prompt([Step::stop("refusal")])
        .prompt([Step::Echo])
        .prompt([Step::stop("refusal")]);
    let agent = world.agent(&script).await;
    let mut new = automation(agent, SessionMode::Continuous);
    new.policies = Policies {
        pause_after_failures: 2,
        retry: Retry {
            attempts: 1,
            ..Retry::default()
        },
        ..Policies::default()
    };
    let id = world.create_automation(&new).await;
    let mut counts = Vec::new();
    for _ in 0..4 {
        let fired = world.fire(id).await;
        world.take_turn(fired).await;
        counts.push(world.automation_of(id).await.consecutive_failures);
    }
    // A success resets the count.
    assert_eq!(counts, [1, 0, 1, 2]);
    let automation = world.automation_of(id).await;
    assert_eq!(automation.state.as_str(), "paused");
    assert_eq!(automation.pause_reason.as_deref(), Some("failures"));
    assert!(
        automation
            .attention
            .unwrap()
            .contains("2 consecutive failures")
    );
    // A paused automation is never due.
    world.clock.advance(std::time::Duration::from_hours(48));
    world.fire_due().await;
    assert_eq!(world.runs().await.len(), 4);
}
