//! Lists of runs for people: one row for each input, with its outcome and its names.

mod usage;

use std::time::Duration;

use model::{
    AutomationId, RunId, Timestamp,
    entity::Channel,
    outcome::FailureKind,
    policy::SessionMode,
    run::RunStatus::{
        self, Deferred, Failed, Missed, Queued, Running, Skipped, Stalled, Succeeded,
    },
    session::SessionType,
};
use store::{
    CountedRun, OverviewLimits, OverviewPeriods, PAUSED_BY_PERSON, Page, Period, RunFilter,
    RunNames, Scope, SessionEdit,
};

use crate::{
    fixtures::TestStore,
    stage::{Stage, answer, hourly},
};

pub(crate) use usage::{
    changed_day_of_overview_is_read_again, overview_shows_usage_of_day_and_month,
};

/// The filter of a list of inputs.
fn inputs(statuses: &[RunStatus]) -> RunFilter {
    RunFilter {
        statuses: statuses.to_vec(),
        last_attempts_only: true,
        ..RunFilter::default()
    }
}

async fn listed(stage: &Stage, filter: &RunFilter) -> Vec<RunId> {
    let page = stage.store.run_page(stage.scope(), filter, Page::first(50));
    page.await.unwrap().iter().map(|run| run.id).collect()
}

pub(crate) async fn run_list_has_one_row_for_each_input(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let retried = stage
        .send_message(stage.session().await, "one")
        .await
        .run_id;
    stage.start(retried).await;
    stage.fail(retried, FailureKind::AgentError).await;
    let again = stage
        .store
        .retry_run(stage.scope(), retried, None, stage.now());
    let again = again.await.unwrap().run_id;
    stage.start(again).await;
    stage.succeed(again).await;
    let lost = stage
        .send_message(stage.session().await, "two")
        .await
        .run_id;
    stage.start(lost).await;
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [lost]);
    let waiting = stage.attempts(lost).await[1].id;

    assert_eq!(listed(&stage, &inputs(&[])).await, [waiting, again]);
    assert_eq!(listed(&stage, &inputs(&[Failed, Stalled])).await, []);
    assert_eq!(listed(&stage, &inputs(&[Succeeded])).await, [again]);
    assert_eq!(
        listed(&stage, &inputs(&[Deferred, Queued])).await,
        [waiting]
    );
    let attempts = RunFilter {
        last_attempts_only: false,
        ..inputs(&[Failed, Stalled, Succeeded])
    };
    assert_eq!(listed(&stage, &attempts).await, [lost, again, retried]);
}

pub(crate) async fn run_list_is_filtered_by_reason_and_creation(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let first = stage
        .send_message(stage.session().await, "one")
        .await
        .run_id;
    stage.start(first).await;
    stage.fail(first, FailureKind::AgentError).await;
    let between = stage.advance_seconds(60);
    let second = stage
        .send_message(stage.session().await, "two")
        .await
        .run_id;
    stage.start(second).await;
    stage.fail(second, FailureKind::SignIn).await;
    let end = stage.advance_seconds(1);

    let of_reason = |reason: &str| RunFilter {
        reason: Some(reason.into()),
        ..inputs(&[Failed, Skipped, Missed])
    };
    assert_eq!(listed(&stage, &of_reason("sign_in")).await, [second]);
    assert_eq!(listed(&stage, &of_reason("sign")).await, []);
    let in_any_status = RunFilter {
        statuses: Vec::new(),
        ..of_reason("sign_in")
    };
    assert_eq!(listed(&stage, &in_any_status).await, [second]);
    let created = |from: Option<Timestamp>, before: Option<Timestamp>| RunFilter {
        created_from: from,
        created_before: before,
        ..inputs(&[])
    };
    assert_eq!(
        listed(&stage, &created(Some(between), None)).await,
        [second]
    );
    assert_eq!(listed(&stage, &created(None, Some(between))).await, [first]);
    assert_eq!(listed(&stage, &created(Some(end), None)).await, []);
    let day_ago = end.saturating_sub(Duration::from_hours(24));
    let all = listed(&stage, &created(Some(day_ago), Some(end))).await;
    assert_eq!(all, [second, first]);
    // The earliest and the latest instant exclude nothing.
    let bounds = created(Some(Timestamp::UNIX_EPOCH), Some(Timestamp::MAX));
    assert_eq!(listed(&stage, &bounds).await, [second, first]);
}

pub(crate) async fn run_statuses_are_those_of_the_list(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let failed = stage
        .send_message(stage.session().await, "one")
        .await
        .run_id;
    stage.start(failed).await;
    stage.fail(failed, FailureKind::AgentError).await;
    let session = stage.session().await;
    let first = stage.send_message(session, "two").await.run_id;
    let second = stage.send_message(session, "three").await.run_id;
    let read = async |scope, statuses: &[RunStatus], limit| {
        let filter = inputs(statuses);
        let page = Page::first(limit);
        let found = stage.store.run_statuses(scope, &filter, page);
        found.await.unwrap()
    };
    let all = [(second, Deferred), (first, Queued), (failed, Failed)];
    let all = all.map(|(id, status)| CountedRun {
        id,
        status,
        is_of_task: false,
    });
    assert_eq!(read(stage.scope(), &[], 50).await, all);
    assert_eq!(read(stage.scope(), &[], 2).await, all[..2]);
    assert_eq!(read(stage.scope(), &[Queued, Failed], 50).await, all[1..]);
    let next = Page {
        after: Some(first),
        limit: 50,
    };
    let next = stage
        .store
        .run_statuses(stage.scope(), &inputs(&[]), next)
        .await;
    assert_eq!(next.unwrap(), all[2..]);
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = Scope::Tenant(other.await.unwrap());
    assert_eq!(read(other, &[], 50).await, []);
    assert_eq!(read(other, &[Queued, Failed], 50).await, []);
}

pub(crate) async fn listed_runs_have_names_of_people(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let daily = stage.automation("daily", SessionMode::Continuous).await;
    let fired = stage.fire_and_start(daily).await;
    stage.end(fired, &answer("Two services changed")).await;
    let session = stage.session_of(fired).await;
    let seen = stage.store.session(stage.scope(), session).await.unwrap();
    let seen = SessionEdit::of(&seen);
    let titled = SessionEdit {
        title: Some("Release".into()),
    };
    let edited = stage
        .store
        .edit_session(stage.scope(), session, &seen, &titled, stage.now());
    edited.await.unwrap();
    let deleted = stage
        .store
        .delete_automation(stage.scope(), daily, stage.now());
    deleted.await.unwrap();
    let sent = stage
        .send_message(stage.session().await, "one")
        .await
        .run_id;

    let all = inputs(&[]);
    let read = stage
        .store
        .named_run_page(stage.scope(), &all, Page::first(50), 12);
    let read = read.await.unwrap();
    let [(newest, unnamed), (oldest, named)] = read.as_slice() else {
        panic!("{read:?}");
    };
    assert_eq!((newest.id, oldest.id), (sent, fired));
    assert_eq!(
        *named,
        RunNames {
            agent_name: unnamed.agent_name.clone(),
            automation_name: Some("daily".into()),
            session_title: Some("Release".into()),
            instance_name: named.instance_name.clone(),
            seat_name: None,
            trigger_kind: Some("manual".into()),
            channel: None,
            answer: Some("Two services".into()),
            waits_for_approval: false,
            waits_for_answer: false,
        }
    );
    // The texts of the list are cut, those of a page of runs are whole.
    assert_eq!(newest.content, "one");
    let whole = stage.store.run(stage.scope(), fired).await.unwrap().content;
    assert!(whole.len() > 5, "{whole}");
    let short = stage
        .store
        .named_run_page(stage.scope(), &all, Page::first(50), 5);
    let short = &short.await.unwrap()[1].0.content;
    assert_eq!(*short, whole[..5]);
    let page = stage.store.run_page(stage.scope(), &all, Page::first(50));
    assert_eq!(page.await.unwrap()[1].content, whole);
    assert!(unnamed.agent_name.is_some() && named.instance_name.is_some());
    assert_eq!((&unnamed.automation_name, &unnamed.answer), (&None, &None));
    assert_eq!((&unnamed.trigger_kind, &unnamed.channel), (&None, &None));
}

pub(crate) async fn listed_runs_have_kind_of_trigger_and_channel(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let hourly = stage
        .automation_with_triggers("hourly", SessionMode::Fresh, &[hourly()])
        .await;
    stage.advance_seconds(3600);
    stage.fire_due().await;
    let fired = stage.fire(hourly).await.run_id;
    let mut new = stage.new_session(None);
    new.session_type = SessionType::ChannelSlack;
    new.channel = Some(Channel {
        channel: "slack".into(),
        chat_id: "C1".into(),
        thread: None,
    });
    let created = stage.store.create_session(stage.tenant, &new, stage.now());
    let (chat, _) = created.await.unwrap();
    let sent = stage.send_message(chat, "one").await.run_id;

    let all = inputs(&[]);
    let read = stage
        .store
        .named_run_page(stage.scope(), &all, Page::first(50), 12);
    let read = read.await.unwrap();
    let origins: Vec<_> = read
        .iter()
        .map(|(run, names)| {
            (
                run.id,
                names.trigger_kind.as_deref(),
                names.channel.as_deref(),
            )
        })
        .collect();
    let [newest, manual, (_, kind, None)] = origins.as_slice() else {
        panic!("{origins:?}");
    };
    assert_eq!(*newest, (sent, None, Some("slack")));
    assert_eq!(*manual, (fired, Some("manual"), None));
    assert_eq!(*kind, Some("cron"));
}

/// The numbers of rows that suffice for these tests.
pub(crate) const FEW: OverviewLimits = OverviewLimits {
    inputs: 10,
    failures: 10,
    approvals: 10,
    needing: 10,
    running: 10,
    next: 10,
    spenders: 3,
};

/// An automation with a run that has succeeded, and one after `from` that has failed.
struct Daily {
    automation: AutomationId,
    before: RunId,
    from: Timestamp,
    failed: RunId,
}

async fn daily_with_success_and_failure(stage: &Stage) -> Daily {
    let daily = stage
        .automation_with_triggers("daily", SessionMode::Continuous, &[hourly()])
        .await;
    let before = stage.fire_and_start(daily).await;
    stage.end(before, &answer("Two services changed")).await;
    let from = stage.advance_seconds(60);
    let failed = stage.fire_and_start(daily).await;
    stage.fail(failed, FailureKind::AgentError).await;
    Daily {
        automation: daily,
        before,
        from,
        failed,
    }
}

pub(crate) async fn overview_reads_period_due_and_needing_automations(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let Daily {
        automation: daily,
        from,
        failed,
        ..
    } = daily_with_success_and_failure(&stage).await;
    let again = stage
        .store
        .retry_run(stage.scope(), failed, None, stage.now());
    let again = again.await.unwrap().run_id;
    stage.start(again).await;
    stage.succeed(again).await;
    let running = stage
        .send_message(stage.session().await, "one")
        .await
        .run_id;
    stage.start(running).await;
    // Two failures, of which one is followed by a success.
    let broken = stage.automation("broken", SessionMode::Fresh).await;
    let first = stage.fire_and_start(broken).await;
    stage.fail(first, FailureKind::AgentError).await;
    let better = stage.fire_and_start(broken).await;
    stage.succeed(better).await;
    let asked = stage
        .send_message(stage.session().await, "two")
        .await
        .run_id;
    stage.start(asked).await;
    stage.fail(asked, FailureKind::AgentError).await;
    let stopped = stage.automation("stopped", SessionMode::Fresh).await;
    for (automation, reason) in [(stopped, "failures"), (daily, PAUSED_BY_PERSON)] {
        let scope = stage.scope();
        let paused = stage
            .store
            .pause_automation(scope, automation, reason, stage.now());
        paused.await.unwrap();
    }
    let due = stage
        .automation_with_triggers("due", SessionMode::Fresh, &[hourly()])
        .await;

    let periods = OverviewPeriods {
        since: from,
        failures_since: from,
        today: from,
    };
    let overview = |limits| {
        stage
            .store
            .overview(stage.tenant, periods, limits, stage.now())
    };
    let read = overview(FEW).await.unwrap();
    let mut inputs = read.counts.inputs.clone();
    inputs.sort_by_key(|(status, _)| status.as_str());
    assert_eq!(
        inputs,
        [(Failed, 2), (Running, 1), (Succeeded, 2)],
        "each input counts once, and none of before"
    );
    assert_eq!((read.counts.reported.turns, read.counts.cut), (4, false));
    let failures = read.failures.outcomes.iter();
    let shown = failures.map(|failure| (failure.outcome.run, failure.automation));
    let shown: Vec<_> = shown.collect();
    assert_eq!(shown, [(asked, None), (first, Some(broken))]);
    let runs = [asked, first];
    let recovered = stage.store.recovered_runs(stage.tenant, &runs);
    assert!(recovered.await.unwrap().into_iter().eq([first]));
    assert!(!read.failures.cut);
    assert_eq!((read.open.running, read.open.queued), (1, 0));
    assert_eq!(read.running[0].id, running);
    let ids = |items: &store::AutomationItems| {
        let ids = items.readable.iter().map(|item| item.automation.id);
        ids.collect::<Vec<_>>()
    };
    assert_eq!(
        ids(&read.needing),
        [stopped],
        "a pause by a person needs nobody"
    );
    assert_eq!(ids(&read.next), [due], "a paused automation is not due");
    assert_eq!(read.usage.day.turns, 7);
    let spenders: Vec<_> = read.spenders.iter().map(|used| used.turns).collect();
    assert_eq!(spenders.iter().sum::<u64>(), 7);

    let one = OverviewLimits {
        inputs: 1,
        failures: 1,
        ..FEW
    };
    let cut = overview(one).await.unwrap();
    assert!(cut.counts.cut && cut.failures.cut);
    assert_run_of_earlier_days_counts(&stage, running).await;
    let chosen = [due, daily];
    let items = stage.store.automation_items_by_id(stage.tenant, &chosen, 0);
    assert_eq!(ids(&items.await.unwrap()), chosen);
}

/// Ends a run that was created days before, and checks that the period of its end counts it.
async fn assert_run_of_earlier_days_counts(stage: &Stage, run: RunId) {
    stage.advance_seconds(3 * 24 * 60 * 60);
    let now = stage.now();
    stage.succeed(run).await;
    let periods = OverviewPeriods {
        since: now,
        failures_since: now,
        today: now,
    };
    let read = stage.store.overview(stage.tenant, periods, FEW, now).await;
    let counts = read.unwrap().counts;
    assert_eq!((counts.inputs, counts.cut), (vec![(Succeeded, 1)], false));
    assert_eq!(counts.reported.turns, 0, "the turn began earlier");
}

pub(crate) async fn timeline_reads_inputs_and_due_automations_of_period(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let Daily {
        automation: daily,
        before,
        from,
        failed,
    } = daily_with_success_and_failure(&stage).await;
    let running = stage
        .send_message(stage.session().await, "one")
        .await
        .run_id;
    stage.start(running).await;
    let to = Timestamp::MAX;
    let period = Period { from, to };
    let timeline = async |automation, period| {
        let read = stage
            .store
            .timeline(stage.tenant, period, automation, 10, 10);
        let read = read.await.unwrap();
        let runs = read.outcomes.outcomes.iter().map(|one| one.outcome.run);
        (runs.collect::<Vec<_>>(), read.due)
    };
    assert_eq!(
        timeline(None, period).await,
        (vec![running, failed], vec![daily]),
        "none of before"
    );
    assert_eq!(
        timeline(Some(daily), period).await,
        (vec![failed], vec![daily])
    );
    let past = Period {
        from: Timestamp::UNIX_EPOCH,
        to: from,
    };
    assert_eq!(timeline(None, past).await, (vec![before], vec![]));
}
