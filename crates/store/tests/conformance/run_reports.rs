//! Reports of runs that precede prompts: the runs of a seat that ended without success since its last success.

use futures::future::join_all;
use model::{
    AutomationId, RunId, SessionId,
    outcome::{FailureKind, Outcome, StopReason},
    policy::{Overlap, RunReports, SessionMode},
    precheck::Precheck,
    prompt::{RUN_REPORT, RUN_REPORT_LINES, RenderedPrompt, RunReport},
    run::RunStatus,
    schedule::{QuietHours, Spec},
    turn::StartReply,
};
use serde_json::json;

pub(crate) use crate::sessions::seats::instructions_open_each_new_memory_of_seat;
use crate::{
    fixtures::TestStore,
    stage::{Stage, answer, at, failed, hourly, servers},
};

impl Stage {
    /// Begins the turn of a message and returns its prompt.
    async fn prompt_of_message(&self, session: SessionId, text: &str) -> (RunId, RenderedPrompt) {
        self.advance_seconds(1);
        let run = self.send_message(session, text).await.run_id;
        (run, self.start(run).await.prompt)
    }

    /// Takes a turn that succeeds, and returns the lines of its report.
    async fn reported(&self, session: SessionId) -> Vec<String> {
        let (run, prompt) = self.prompt_of_message(session, "What failed?").await;
        assert_eq!(prompt.text, "What failed?");
        self.advance_seconds(1);
        self.succeed(run).await;
        lines(&prompt)
    }

    /// Takes a turn that fails.
    async fn failed_message(&self, session: SessionId, kind: FailureKind) -> RunId {
        let (run, _) = self.prompt_of_message(session, "secret words").await;
        self.advance_seconds(1);
        self.fail(run, kind).await;
        run
    }

    /// Fires an automation whose turn fails.
    async fn failed_occurrence(&self, automation: AutomationId) -> RunId {
        self.advance_seconds(1);
        let run = self.fire_and_start(automation).await;
        self.advance_seconds(1);
        self.fail(run, FailureKind::Timeout).await;
        run
    }
}

/// Returns the lines of a prompt's report, without their instants and IDs.
fn lines(prompt: &RenderedPrompt) -> Vec<String> {
    let report = prompt.run_report.as_ref().unwrap();
    assert_eq!(report.version, RUN_REPORT.version);
    let Some(text) = &report.text else {
        return Vec::new();
    };
    let lines = text.lines().skip_while(|line| !line.starts_with("<<<"));
    let lines = lines.skip(1).take_while(|line| !line.ends_with(">>>"));
    let short = |line: &str| {
        let line = line.split_once(": ").map_or(line, |(_, rest)| rest);
        line.split(", run_").next().unwrap().to_owned()
    };
    lines.map(short).collect()
}

pub(crate) async fn seat_without_failures_has_no_report(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    for _ in 0..2 {
        let (run, prompt) = stage.prompt_of_message(session, "Hello").await;
        assert_eq!(prompt.blocks(), ["Hello"]);
        let report = RunReport {
            version: RUN_REPORT.version,
            text: None,
        };
        assert_eq!(prompt.run_report, Some(report));
        stage.succeed(run).await;
    }
}

pub(crate) async fn report_names_each_end_without_success(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("standup", SessionMode::Continuous);
    new.policies.overlap = Some(Overlap::Skip);
    let automation = stage.create(&new).await;
    let first = stage.fire_and_start(automation).await;
    let session = stage.session_of(first).await;
    stage.advance_seconds(1);
    assert_eq!(stage.fire(automation).await.status, RunStatus::Skipped);
    stage.end(first, &refusal()).await;
    stage.failed_occurrence(automation).await;
    stage.failed_message(session, FailureKind::Inactive).await;
    let (running, _) = stage.prompt_of_message(session, "First").await;
    let waiting = stage.send_message(session, "Second").await.run_id;
    let now = stage.advance_seconds(1);
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), waiting, "cancelled by a person", now);
    cancelled.await.unwrap();
    stage.end(running, &failed(FailureKind::Budget, true)).await;
    assert_eq!(
        stage.reported(session).await,
        [
            "automation \"standup\" failed (refusal)",
            "automation \"standup\" skipped (overlap)",
            "automation \"standup\" failed (timeout)",
            "a message failed (inactive)",
            "a message failed (budget)",
            "a message cancelled (cancelled by a person)",
        ]
    );
    assert_eq!(stage.reported(session).await, [""; 0]);
}

fn refusal() -> model::turn::TurnResult {
    model::turn::TurnResult {
        outcome: Outcome::Stopped(StopReason::Refusal),
        ..answer("No.")
    }
}

pub(crate) async fn report_begins_after_last_success_began(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    stage.failed_message(session, FailureKind::Timeout).await;
    // A turn that fails has no effect on the report of the next one.
    let (run, prompt) = stage.prompt_of_message(session, "Again").await;
    assert_eq!(lines(&prompt), ["a message failed (timeout)"]);
    stage.advance_seconds(1);
    stage.fail(run, FailureKind::Inactive).await;
    let both = ["a message failed (timeout)", "a message failed (inactive)"];
    let (run, prompt) = stage.prompt_of_message(session, "Again").await;
    assert_eq!(lines(&prompt), both);
    // A message that is cancelled during the turn ends before the turn's success, but its prompt did not report it.
    let waiting = stage.send_message(session, "Never mind").await.run_id;
    let now = stage.advance_seconds(1);
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), waiting, "cancelled by a person", now);
    cancelled.await.unwrap();
    stage.succeed(run).await;
    let cancelled = ["a message cancelled (cancelled by a person)"];
    assert_eq!(stage.reported(session).await, cancelled);
    assert_eq!(stage.reported(session).await, [""; 0]);
}

pub(crate) async fn attempts_at_one_input_are_one_line_by_last_end(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    for outcomes in [[false, true], [false, false]] {
        let (mut run, _) = stage.prompt_of_message(session, "Try").await;
        for succeeds in outcomes {
            stage.advance_seconds(1);
            if succeeds {
                stage.succeed(run).await;
                break;
            }
            stage.fail(run, FailureKind::AgentExited).await;
            let next = stage.attempts(run).await.pop().unwrap();
            stage.advance_seconds(600);
            stage.store.promote_due(stage.now()).await.unwrap();
            let prompt = stage.start(next.id).await.prompt;
            // The prompt itself tells of the earlier attempt.
            assert_eq!(lines(&prompt), [""; 0]);
            run = next.id;
        }
        if !outcomes[1] {
            stage.advance_seconds(1);
            stage.fail(run, FailureKind::AgentExited).await;
            assert_eq!(stage.attempts(run).await.len(), 3);
        }
    }
    let reported = ["a message failed (agent_exited)"];
    assert_eq!(stage.reported(session).await, reported);
}

pub(crate) async fn command_of_agent_has_no_report_and_leaves_it_to_next_prompt(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    stage.failed_message(session, FailureKind::Timeout).await;
    let (run, prompt) = stage.prompt_of_message(session, "/compact").await;
    assert_eq!(prompt.run_report, None);
    assert_eq!(prompt.blocks(), ["/compact"]);
    stage.advance_seconds(1);
    stage.succeed(run).await;
    let reported = ["a message failed (timeout)"];
    assert_eq!(stage.reported(session).await, reported);
}

pub(crate) async fn policy_turns_reports_of_automation_off(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("quiet", SessionMode::Continuous);
    new.policies.run_reports = RunReports::Off;
    let automation = stage.create(&new).await;
    let failed = stage.failed_occurrence(automation).await;
    let session = stage.session_of(failed).await;
    let run = stage.fire(automation).await.run_id;
    assert_eq!(stage.start(run).await.prompt.run_report, None);
    stage.advance_seconds(1);
    stage.succeed(run).await;
    // The message of a person has the report, because no prompt has had it.
    let reported = ["automation \"quiet\" failed (timeout)"];
    assert_eq!(stage.reported(session).await, reported);
}

pub(crate) async fn runs_of_other_seats_and_tenants_are_not_reported(db: &TestStore) {
    let [stage, other] = servers::two_tenants(db).await;
    let session = stage.session().await;
    stage
        .failed_message(stage.session().await, FailureKind::Timeout)
        .await;
    other
        .failed_message(other.session().await, FailureKind::Timeout)
        .await;
    // A fresh automation has a new session for each run.
    let fresh = stage.automation("fresh", SessionMode::Fresh).await;
    stage.failed_occurrence(fresh).await;
    stage.advance_seconds(1);
    let run = stage.fire(fresh).await.run_id;
    assert_eq!(lines(&stage.start(run).await.prompt), [""; 0]);
    // Another tenant has an automation for a key of the same text.
    let keyed = stage.keyed_session(Some("web:1")).await;
    let mut bound = other.new_automation("bound", SessionMode::Bound);
    bound.bound_session_key = Some("web:1".into());
    bound.triggers = vec![hourly()];
    other.create(&bound).await;
    for stage in [&stage, &other] {
        stage.clock.set(at("2026-05-04T12:30:00Z"));
    }
    stage.fire_due().await;
    assert_eq!(stage.reported(session).await, [""; 0]);
    assert_eq!(stage.reported(keyed).await, [""; 0]);
}

pub(crate) async fn occurrences_without_seat_are_reported_to_their_session(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let bound_session = stage.keyed_session(Some("web:1")).await;
    let prague = |expression: &str| Spec::Cron {
        expression: expression.into(),
        zone: "Europe/Prague".into(),
    };
    let mut bound = stage.new_automation("bound", SessionMode::Bound);
    bound.bound_session_key = Some("web:1".into());
    bound.triggers = vec![prague("30 * * * *")];
    stage.create(&bound).await;
    let continuous = stage
        .automation_with_triggers("continuous", SessionMode::Continuous, &[hourly()])
        .await;
    stage.clock.set(at("2026-05-04T13:45:00Z"));
    stage.fire_due().await;
    // The first run of the session comes at the instant at which the occurrences before it are recorded as missed.
    let runs = stage.runs_of(continuous).await;
    let run = runs.iter().find(|run| run.status() == RunStatus::Queued);
    let prompt = stage.start(run.unwrap().id).await.prompt;
    let missed = "automation \"continuous\" missed (the system was down), 3 occurrences until Mon 2026-05-04 12:00:00 \
                  +00:00 UTC";
    assert_eq!(lines(&prompt), [missed]);
    let caught_up = stage.claim().await.unwrap();
    let StartReply::Started(assignment) = stage.begin(caught_up).await else {
        panic!("it did not begin");
    };
    assert_eq!(assignment.session.id, bound_session);
    let report = assignment.prompt.run_report.unwrap().text.unwrap();
    assert!(
        report
            .contains("Mon 2026-05-04 11:30:00 +02:00 Europe/Prague: automation \"bound\" missed"),
        "{report}"
    );
}

pub(crate) async fn skips_of_quiet_hours_and_prechecks_are_counted(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_automation("watch", SessionMode::Continuous);
    new.policies.precheck = Some(Precheck::new(vec!["is-there-news".into()]));
    new.policies.quiet_hours = QuietHours::new(vec!["11:30-13:30".parse().unwrap()]).unwrap();
    new.triggers = vec![hourly()];
    let automation = stage.create(&new).await;
    let run = stage.fire(automation).await.run_id;
    assert_eq!(stage.claim().await, Some(run));
    let begun =
        stage
            .store
            .begin_after_precheck(run, &stage.worker, stage.instance, stage.now(), None);
    assert!(matches!(begun.await.unwrap(), StartReply::Started(_)));
    stage.advance_seconds(1);
    stage.fail(run, FailureKind::Timeout).await;
    let session = stage.session_of(run).await;
    for due in ["10:00", "11:00", "12:00", "13:00"] {
        stage.clock.set(at(&format!("2026-05-04T{due}:00Z")));
        stage.fire_due().await;
        if let Some(run) = stage.claim().await {
            let (diagnostics, now) = (json!({}), stage.now());
            let declined = stage.store.decline(run, &stage.worker, &diagnostics, now);
            let _ = declined.await.unwrap();
        }
    }
    assert_eq!(
        stage.reported(session).await,
        [
            "automation \"watch\" failed (timeout)",
            "2 skipped by quiet hours, 2 skipped by the precheck",
        ]
    );
    assert_eq!(stage.reported(session).await, [""; 0]);
}

pub(crate) async fn report_of_thousand_failures_lists_newest_and_counts_rest(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let (running, _) = stage.prompt_of_message(session, "Wait").await;
    let (store, tenant) = (&stage.store, stage.tenant);
    let sends = (0..1_000).map(|_| {
        let now = stage.advance_seconds(1);
        async move {
            let sent = store.send_message(tenant, session, None, "Hello", now);
            sent.await.unwrap();
        }
    });
    join_all(sends).await;
    let now = stage.advance_seconds(1);
    let cancelled =
        stage
            .store
            .cancel_session_runs(stage.scope(), session, "cancelled by a person", now);
    assert_eq!(cancelled.await.unwrap(), 1_001);
    stage.advance_seconds(1);
    stage.succeed(running).await;
    let reported = stage.reported(session).await;
    assert_eq!(reported.len(), RUN_REPORT_LINES + 1);
    let line = "a message cancelled (cancelled by a person)";
    assert!(reported[..RUN_REPORT_LINES].iter().all(|one| one == line));
    assert_eq!(
        reported[RUN_REPORT_LINES],
        "99+ earlier runs are not listed"
    );
    assert_eq!(stage.reported(session).await, [""; 0]);
}

pub(crate) async fn report_is_stored_and_repeated_with_its_prompt(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    stage.failed_message(session, FailureKind::Timeout).await;
    stage.advance_seconds(1);
    let run = stage.send_message(session, "What failed?").await.run_id;
    assert_eq!(stage.claim().await, Some(run));
    let begin = async || {
        let secret = Some([1; 32]);
        let reply = stage
            .store
            .begin(run, &stage.worker, stage.instance, stage.now(), secret);
        match reply.await.unwrap() {
            StartReply::Started(assignment) => assignment.prompt,
            other => panic!("it did not begin: {other:?}"),
        }
    };
    let first = begin().await;
    stage.advance_seconds(1);
    // A message that ends between the two requests changes nothing.
    let waiting = stage.send_message(session, "Never mind").await.run_id;
    let cancelled =
        stage
            .store
            .cancel_run(stage.scope(), waiting, "cancelled by a person", stage.now());
    cancelled.await.unwrap();
    assert_eq!(begin().await, first);
    assert_eq!(lines(&first), ["a message failed (timeout)"]);
    let record = stage.store.run_record(stage.scope(), run).await;
    let record = record.unwrap().unwrap();
    assert_eq!(record.run_report, first.run_report);
    assert_eq!(record.rendered_prompt.as_deref(), Some("What failed?"));
    let sent = first.run_report.unwrap().text.unwrap();
    for row in stage.transcript(session).await {
        assert!(!row.contains(&sent), "{row}");
    }
    // No text of earlier inputs, answers or errors is in the report.
    assert!(
        !sent.contains("secret words") && !sent.contains("it broke"),
        "{sent}"
    );
}
