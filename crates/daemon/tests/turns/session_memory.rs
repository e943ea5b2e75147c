//! The common path of every turn: due, claimed, prompted, answered, remembered.

use std::time::Duration;

use model::{Clock as _, agent::AgentConfig, limits, policy::SessionMode, run::RunStatus};
use store::RunFilter;
use testkit::scripted::{Event, Step};

use crate::world::{World, automation, prompt_log};

pub(crate) async fn continuous_automation_resumes_its_session(world: &World) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let new = automation(agent, SessionMode::Continuous);
    let id = world.create_automation(&new).await;

    for _ in 0..2 {
        world.clock.advance(Duration::from_hours(24));
        world.fire_due().await;
        world.take_turns().await;
    }

    let automation = world.store().automation(world.scope(), id).await.unwrap();
    let session = automation.current_session_id.unwrap();
    let filter = RunFilter {
        automation: Some(id),
        ..RunFilter::default()
    };
    let runs = world.store().runs(world.scope(), filter, 10).await.unwrap();
    assert_eq!(runs.len(), 2);
    assert!(
        runs.iter().all(|run| run.status() == RunStatus::Succeeded),
        "{runs:#?}"
    );
    assert!(runs.iter().all(|run| run.session_id == Some(session)));

    // Two processes: the first created the session, and the second restored it.
    let ledger = prompt_log(&script);
    let opened: Vec<_> = ledger
        .events()
        .filter_map(|event| match event {
            Event::New(..) => Some("new"),
            Event::Resume(..) => Some("resume"),
            Event::Load(..) => Some("load"),
            _ => None,
        })
        .collect();
    assert_eq!(opened, ["new", "resume"]);

    let words = world.messages(session).await;
    let roles: Vec<_> = words.iter().map(|(role, _)| role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    assert_eq!(
        words[0].1,
        "Scheduled automation triggered: daily monitor\n\nCheck the logs"
    );
    let asked = &world.transcript(session).await[0].metadata;
    assert_eq!(asked["_automation_turn"], true);
    assert_eq!(asked["automation_id"], id.to_string());
    assert_eq!(
        asked["automation_prompt_ref"]["id"],
        "cron.agent_turn.reminder"
    );

    // Only the run record has the prompt that was really sent, and the agent received exactly that prompt.
    let record = world
        .store()
        .run_record(world.scope(), runs[1].id)
        .await
        .unwrap()
        .unwrap();
    let sent = record.rendered_prompt.unwrap();
    assert_eq!(ledger.prompts()[0], sent);
    assert_ne!(sent, words[0].1);
}

pub(crate) async fn persons_message_is_answered_in_session(world: &World) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let said = world
        .store()
        .send_message(world.tenant, session, None, "Hello", world.clock.now())
        .await
        .unwrap();
    let run = world.take_turn(said.run_id).await;
    assert_eq!(run.status(), RunStatus::Succeeded, "{run:#?}");
    let expected = [("user", "Hello"), ("assistant", "Hello")];
    assert_eq!(
        world.messages(session).await,
        expected.map(|(a, b)| (a.to_owned(), b.to_owned()))
    );
}

pub(crate) async fn report_of_failed_turn_is_block_before_unchanged_message(world: &World) {
    let overloaded = Step::ReplyError {
        code: -32000,
        message: "overloaded, token=secret".into(),
    };
    let script = world
        .script()
        .prompt([Step::Echo])
        .prompt([overloaded])
        .prompt([Step::Echo])
        .prompt([Step::Echo]);
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    world.send_and_take_turn(session, "Zero").await;
    world.clock.advance(Duration::from_mins(1));
    let failed = world.send_and_take_turn(session, "One").await;
    assert_eq!(failed.status(), RunStatus::Failed, "{failed:#?}");
    world.clock.advance(Duration::from_mins(1));
    let question = "What failed last night\nand why? ";
    let answered = world.send_and_take_turn(session, question).await;
    assert_eq!(answered.status(), RunStatus::Succeeded, "{answered:#?}");
    world.clock.advance(Duration::from_mins(1));
    world.send_and_take_turn(session, "Two").await;

    let log = prompt_log(&script);
    assert_eq!(log.prompts(), ["Zero", "One", question, "Two"]);
    let [report] = log.blocks_before_prompts()[..] else {
        panic!("{log:#?}");
    };
    let line = format!("a message failed (agent_error), {}", failed.id);
    assert!(report.contains(&line), "{report}");
    assert!(
        !report.contains("overloaded") && !report.contains("One"),
        "{report}"
    );
    // The record has what the agent received, and the transcript has only the message.
    let record = world.store().run_record(world.scope(), answered.id);
    let record = record.await.unwrap().unwrap();
    assert_eq!(record.run_report.unwrap().text.as_deref(), Some(report));
    assert_eq!(record.rendered_prompt.as_deref(), Some(question));
    let messages = world.messages(session).await;
    assert!(
        messages.iter().all(|(_, text)| !text.contains("This note")),
        "{messages:?}"
    );
}

pub(crate) async fn simultaneous_message_and_occurrence_run_in_order(world: &World) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let mut new = automation(agent, SessionMode::Bound);
    new.bound_session_key = Some(format!("web:{session}"));
    world.create_automation(&new).await;

    let now = world.clock.advance(Duration::from_secs(10));
    let (said, fired) = tokio::join!(
        world
            .store()
            .send_message(world.tenant, session, None, "Hello", now),
        world.store().fire_due(world.scope(), now),
    );
    said.unwrap();
    assert_eq!(fired.unwrap().occurrences, 1);
    let filter = RunFilter {
        session: Some(session),
        ..RunFilter::default()
    };
    let mut statuses: Vec<_> = world
        .store()
        .runs(world.scope(), filter.clone(), 10)
        .await
        .unwrap()
        .iter()
        .map(model::entity::Run::status)
        .collect();
    statuses.sort();
    assert_eq!(statuses, [RunStatus::Queued, RunStatus::Deferred]);

    let first = world
        .store()
        .runs(world.scope(), filter, 10)
        .await
        .unwrap()
        .into_iter()
        .find(|run| run.status() == RunStatus::Queued)
        .unwrap();
    world.take_turns().await;
    // The first input has the first turn, in the transcript and in the agent's prompt log. The log proves that the
    // turns did not overlap.
    let person = "Hello".to_owned();
    let schedule = "Scheduled automation triggered: daily monitor\n\nCheck the logs".to_owned();
    let expected = if first.content == "Hello" {
        [person, schedule]
    } else {
        [schedule, person]
    };
    let words = world.messages(session).await;
    let said: Vec<_> = words
        .iter()
        .map(|(_, text)| text.clone())
        .step_by(2)
        .collect();
    assert_eq!(said, expected);
    let ledger = prompt_log(&script);
    let asked = ledger.prompts();
    assert_eq!(asked.len(), 2);
    for (words, prompt) in expected.iter().zip(asked) {
        assert_eq!(words == "Hello", prompt == "Hello", "{prompt}");
    }
}

pub(crate) async fn session_is_not_restored_before_restore_delay(world: &World) {
    let script = world.script();
    let mut config = AgentConfig::new(script.command().unwrap());
    config.restore_after_seconds = 60;
    let agent = world.agent_with(&config).await;
    let session = world.session(agent).await;
    let say = async |words| {
        let now = world.clock.now();
        world
            .store()
            .send_message(world.tenant, session, None, words, now)
            .await
            .unwrap()
            .run_id
    };
    let first = say("One").await;
    world.take_turn(first).await;

    let second = say("Two").await;
    let turn = world.take_turn(second);
    let advance = async {
        while world
            .store()
            .run(world.scope(), second)
            .await
            .unwrap()
            .state
            .started_at()
            .is_none()
        {
            tokio::task::yield_now().await;
        }
        // The turn has begun, and no agent was started for it.
        assert_eq!(prompt_log(&script).prompts().len(), 1);
        world.clock.advance(Duration::from_mins(1));
    };
    let (ended, ()) = tokio::join!(turn, advance);
    assert_eq!(ended.status(), RunStatus::Succeeded, "{ended:#?}");
    assert_eq!(prompt_log(&script).prompts(), ["One", "Two"]);
}

pub(crate) async fn prompt_is_full_message_without_history(world: &World) {
    let script = world.script();
    let agent = world.agent(&script).await;
    let session = world.session(agent).await;
    let long = "å".repeat(limits::CONTENT_BYTES / 2);
    let said = [long.as_str(), "Short", long.as_str()];
    for words in said {
        let run = world.send_and_take_turn(session, words).await;
        assert_eq!(run.status(), RunStatus::Succeeded);
    }
    assert!(
        prompt_log(&script).prompts() == said,
        "the agent got other words"
    );
    // The transcript has all of it as well.
    let shown = world.messages(session).await;
    let shown: Vec<_> = shown.iter().map(|(_, text)| text.as_str()).collect();
    let both = said.iter().flat_map(|words| [*words, *words]);
    assert!(
        both.eq(shown.iter().copied()),
        "the transcript has other words"
    );
}
