//! The reads of goals: lists, details of tasks, and the rows of reports.

use model::{
    RunId, TenantId,
    budget::Money,
    entity::Message,
    event::{Change, SessionChange},
    goal::{
        GoalBudget, GoalState, GoalStatus, NewTask, PauseReason, Reviews, StuckCause, TaskKind,
        TaskStatus,
    },
    transcript::task_prompt_names,
    turn::Role,
};
use serde_json::json;
use store::{
    Error, GoalChange, GoalFilter, GoalItem, NeedyGoal, OverviewLimits, OverviewPeriods, Page,
    Scope, SessionFilter, SessionOrder, params,
};

use super::stage::{done, sent_back, team, verdict, work};
use crate::{
    fixtures::{TestStore, id},
    run_lists::FEW,
    stage::Stage,
};

impl Stage {
    async fn goal_page(&self, filter: GoalFilter, page: Page<model::SessionId>) -> Vec<GoalItem> {
        let found = self.store.goal_page(self.tenant, filter, page).await;
        found.unwrap()
    }

    /// Returns the goals of an overview.
    async fn goals_of_overview(&self, limits: OverviewLimits) -> Vec<NeedyGoal> {
        let now = self.now();
        let periods = OverviewPeriods {
            since: now,
            failures_since: now,
            today: now,
        };
        let read = self.store.overview(self.tenant, periods, limits, now).await;
        read.unwrap().goals
    }

    /// Checks that each task has by itself what it has in its goal, and returns the tasks as lines.
    async fn tasks_by_themselves(&self, session: model::SessionId) -> Vec<String> {
        let view = self.store.goal(self.scope(), session).await.unwrap();
        for task in &view.tasks {
            let details = self.store.task_details(self.scope(), task.id).await;
            assert_eq!(details.unwrap().task, *task);
        }
        self.tasks(session).await
    }
}

pub(crate) async fn goals_are_listed_with_their_tasks_and_usage(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let all = GoalFilter::default();
    assert_eq!(stage.goal_page(all, Page::first(10)).await, []);
    let first = stage
        .planned_goal(db, team(1, None), &[work("a", &[]), work("b", &["a"])])
        .await;
    stage.advance_seconds(1);
    let second = stage.goal(team(1, None)).await;
    stage.change(second, GoalChange::Pause).await.unwrap();
    // The newest goal comes first, and each page continues after the last one.
    let page = stage.goal_page(all, Page::first(1)).await;
    assert_eq!(page[0].session, second);
    assert_eq!(page[0].state, GoalState::Paused(PauseReason::Person));
    assert_eq!(
        (page[0].team.as_str(), page[0].turn_limit),
        ("campaign", 200)
    );
    let after = Page {
        after: Some(second),
        limit: 1,
    };
    let page = stage.goal_page(all, after).await;
    assert_eq!((page[0].session, page[0].turns), (first, 2));
    let count = |status| {
        let of = page[0].tasks.iter();
        let mut of = of.filter(|it| it.kind == TaskKind::Work && it.status == status);
        of.next().map(|it| it.number)
    };
    assert_eq!(count(TaskStatus::Running), Some(1));
    assert_eq!(count(TaskStatus::Pending), Some(1));
    assert_eq!(count(TaskStatus::Done), None);
    // The turn of the planner has ended without usage.
    assert_eq!(page[0].usage.unreported_runs, 1);
    let worker = stage.turn(db, first, "worker-1").await;
    let usage = json!({ "spent": { "tokens": 7, "cost": { "USD": 2_000_000 } } });
    stage.record_usage(worker.run, &usage).await;
    let page = stage.goal_page(all, after).await;
    assert_eq!(page[0].usage.used.tokens, 7);
    assert_eq!(page[0].usage.money(), [Money::parse("2", "USD").unwrap()]);
    // The filter and the tenant.
    let paused = GoalFilter {
        state: Some(GoalStatus::Paused),
    };
    let page = stage.goal_page(paused, Page::first(10)).await;
    assert_eq!(page.len(), 1);
    let other = TenantId::from_uuid(id());
    let theirs = stage.store.goal_page(other, all, Page::first(10)).await;
    assert_eq!(theirs.unwrap(), []);
}

pub(crate) async fn overview_has_goals_that_only_person_can_move(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let next_goal = async || {
        stage.advance_seconds(1);
        stage.goal(team(1, None)).await
    };
    // A goal at work, and one that a person has paused, need nobody.
    next_goal().await;
    let paused = next_goal().await;
    stage.change(paused, GoalChange::Pause).await.unwrap();
    assert_eq!(stage.goals_of_overview(FEW).await, []);

    stage.advance_seconds(1);
    let mut new = stage.new_goal(team(1, None));
    new.approve_plan = true;
    new.text = "Draft it. ".repeat(100);
    let planned = stage.store.create_goal(stage.tenant, &new, stage.now());
    let planned = planned.await.unwrap();
    stage.plan(db, planned, &[work("a", &[])]).await;
    let [stuck, over_budget] = [next_goal().await, next_goal().await];
    let cause = StuckCause::Idle;
    for (session, reason, word) in [
        (stuck, PauseReason::Stuck, Some(cause.as_str())),
        (over_budget, PauseReason::Budget, None),
    ] {
        let sql =
            "update goals set state = 'paused', reason = $2, cause = $3 where session_id = $1";
        let params = params![session, reason.as_str(), word];
        db.run(Scope::System, sql, params).await.unwrap();
    }
    let found = stage.goals_of_overview(FEW).await;
    let states: Vec<_> = found
        .iter()
        .map(|goal| (goal.session, goal.state))
        .collect();
    assert_eq!(
        states,
        [
            (over_budget, GoalState::Paused(PauseReason::Budget)),
            (stuck, GoalState::Stuck(cause)),
            (planned, GoalState::Paused(PauseReason::ApprovePlan)),
        ],
        "the newest comes first"
    );
    assert_eq!(found[2].title.as_deref(), Some("Campaign"));
    assert_eq!(found[2].text, "Draft it. ".repeat(20), "the text is cut");

    let one = OverviewLimits { needing: 1, ..FEW };
    assert_eq!(stage.goals_of_overview(one).await, found[..1]);
    // An approved plan needs nobody.
    stage.change(planned, GoalChange::Resume).await.unwrap();
    assert_eq!(stage.goals_of_overview(FEW).await, found[..2]);

    // A goal that was given up in the period is a failure that nobody has seen; one that a person has cancelled is none.
    stage.change(over_budget, GoalChange::Cancel).await.unwrap();
    let sql = "update goals set state = 'failed', reason = 'stuck for too long', cause = null, ended_at = $2 \
               where session_id = $1";
    let params = params![stuck, stage.now()];
    db.run(Scope::System, sql, params).await.unwrap();
    let found = stage.goals_of_overview(FEW).await;
    assert_eq!(found.len(), 1);
    assert_eq!(
        (found[0].session, found[0].state),
        (stuck, GoalState::GivenUp)
    );
    stage.advance_seconds(1);
    assert_eq!(stage.goals_of_overview(FEW).await, [], "before the period");
}

pub(crate) async fn task_has_texts_findings_and_runs(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let reviewed = NewTask {
        review: true,
        acceptance: vec!["It has a source.".into()],
        ..work("a", &[])
    };
    let session = stage
        .planned_goal(
            db,
            team(1, Some(Reviews::Marked)),
            &[reviewed, work("b", &["a"])],
        )
        .await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("The mail.")).await.unwrap();
    // The IDs of runs follow the clock.
    stage.advance_seconds(1);
    stage.succeed(worker.run).await;
    let judge = stage.turn(db, session, "judge").await;
    let mut refused = sent_back("source", "There is no source.");
    refused.body.findings[0].criterion = Some(1);
    stage.report(&judge, &refused).await.unwrap();
    stage.advance_seconds(1);
    stage.succeed(judge.run).await;
    let task = stage.task_id(session, "a").await;
    let details = stage.store.task_details(stage.scope(), task).await.unwrap();
    assert_eq!(details.session, session);
    assert_eq!(details.description, "Do a well.");
    assert_eq!(details.acceptance, ["It has a source."]);
    assert_eq!((details.task.round, details.round_limit), (1, 3));
    assert_eq!(details.task.result.as_deref(), Some("The mail."));
    let findings: Vec<_> = details.findings.iter().map(|it| it.text.as_str()).collect();
    assert_eq!(findings, ["There is no source."]);
    assert_eq!(details.findings[0].criterion, Some(1));
    let runs = details.runs.iter();
    let runs: Vec<_> = runs
        .map(|run| format!("{} {}", run.seat, run.prompt.as_deref().unwrap_or("-")))
        .collect();
    assert_eq!(runs, ["worker work", "judge review", "worker rework"]);
    // The rows of a task begin with those of its first run. The rows of a task without a run are all later ones.
    let seq_before = async |task| stage.store.seq_before_task(stage.scope(), task).await;
    let first_run = stage
        .store
        .seq_before_run(stage.scope(), details.runs[0].id);
    assert_eq!(seq_before(task).await.unwrap(), first_run.await.unwrap());
    let waiting = stage.task_id(session, "b").await;
    let rows = stage.store.messages(
        stage.scope(),
        session,
        seq_before(waiting).await.unwrap(),
        10,
    );
    assert_eq!(rows.await.unwrap(), []);
    let waiting = stage
        .store
        .task_details(stage.scope(), waiting)
        .await
        .unwrap();
    assert_eq!(waiting.task.depends_on, ["a"]);
    assert_eq!(waiting.runs, []);
    let other = Scope::Tenant(TenantId::from_uuid(id()));
    let theirs = stage.store.task_details(other, task).await;
    assert!(matches!(theirs, Err(Error::NotFound { .. })), "{theirs:?}");
    let theirs = stage.store.seq_before_task(other, task).await;
    assert!(matches!(theirs, Err(Error::NotFound { .. })), "{theirs:?}");
}

pub(crate) async fn report_has_verdicts_and_text_of_planner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, Some(Reviews::Goal)), &[work("a", &[])])
        .await;
    let rows = stage
        .store
        .goal_report(stage.scope(), session)
        .await
        .unwrap();
    assert_eq!(rows.prose, None);
    assert!(rows.verdicts.is_empty());
    let worker = stage.turn(db, session, "worker-1").await;
    stage.report(&worker, &done("The mail.")).await.unwrap();
    stage.succeed(worker.run).await;
    let check = stage.turn(db, session, "judge").await;
    stage.report(&check, &verdict(&["read it"])).await.unwrap();
    stage.succeed(check.run).await;
    let report = stage.turn(db, session, "planner").await;
    stage.succeed(report.run).await;
    let rows = stage
        .store
        .goal_report(stage.scope(), session)
        .await
        .unwrap();
    assert_eq!(rows.goal.state, GoalState::Done);
    assert_eq!(rows.prose.as_deref(), Some("Done."));
    assert!(rows.goal.ended_at.is_some());
    let evidence: Vec<_> = rows
        .verdicts
        .values()
        .map(|it| it.evidence.clone())
        .collect();
    assert_eq!(evidence, [["read it"]]);
    let other = Scope::Tenant(TenantId::from_uuid(id()));
    let theirs = stage.store.goal_report(other, session).await;
    assert!(matches!(theirs, Err(Error::NotFound { .. })), "{theirs:?}");
}

pub(crate) async fn budget_and_time_of_goal_are_changed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    let until = stage.now() + std::time::Duration::from_hours(1);
    let budget = GoalBudget {
        tokens: Some(1000),
        cost: Money::parse("9", "USD").ok(),
    };
    let change = GoalChange::Budget(budget.clone());
    stage.change(session, change).await.unwrap();
    let change = GoalChange::Until(until);
    stage.change(session, change).await.unwrap();
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!((view.budget, view.until), (budget, Some(until)));
    let change = GoalChange::Budget(GoalBudget::default());
    stage.change(session, change).await.unwrap();
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert!(view.budget.is_none() && view.until == Some(until));
    stage.change(session, GoalChange::Cancel).await.unwrap();
    let late = GoalChange::Budget(GoalBudget::default());
    let refused = stage.change(session, late).await;
    assert!(matches!(refused, Err(Error::Goal(_))), "{refused:?}");
}

pub(crate) async fn new_text_of_goal_changes_title_that_no_person_chose(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.goal(team(1, None)).await;
    let view = async || stage.store.goal(stage.scope(), session).await.unwrap();
    let read = async || stage.store.session(stage.scope(), session).await.unwrap();
    let edit = async |from: Option<&str>, to: Option<&str>, text: &str| {
        let title = GoalChange::Title {
            from: from.map(str::to_owned),
            to: to.map(str::to_owned),
        };
        let changes = [title, GoalChange::Edit(text.to_owned())];
        let (tenant, seen, now) = (stage.tenant, view().await, stage.now());
        stage.store.edit_goal(tenant, &seen, &changes, now).await
    };
    // 1. The title `Campaign` is not the one of the old text, so that a person has chosen it.
    edit(Some("Draft"), Some("Two"), "Two").await.unwrap();
    assert_eq!(read().await.title.as_deref(), Some("Campaign"));
    edit(None, Some("Two"), "Two").await.unwrap();
    assert_eq!(read().await.title.as_deref(), Some("Campaign"));
    // 2. The title of the old text becomes that of the new one, which the log of the session tells, and can be absent.
    edit(Some("Campaign"), None, "Three").await.unwrap();
    assert_eq!(read().await.title, None);
    edit(None, Some("Four"), "Four").await.unwrap();
    assert_eq!(read().await.title.as_deref(), Some("Four"));
    let log = stage.store.events(stage.scope(), session, 0, 1000).await;
    let titles = log.unwrap().into_iter().filter_map(|event| {
        let Change::Session { change, .. } = event.change else {
            return None;
        };
        let SessionChange::Renamed { title, .. } = change else {
            return None;
        };
        Some(title)
    });
    let titles: Vec<_> = titles.collect();
    assert_eq!(titles, [None, Some("Four".to_owned())]);
    // 3. A refused edit changes neither the text nor the title.
    stage.change(session, GoalChange::Cancel).await.unwrap();
    let refused = edit(Some("Four"), Some("Five"), "Five").await;
    assert!(matches!(refused, Err(Error::Goal(_))), "{refused:?}");
    assert_eq!(read().await.title.as_deref(), Some("Four"));
    assert_eq!(view().await.text, "Four");
}

pub(crate) async fn task_by_itself_is_as_in_its_goal(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let writing = |key| NewTask {
        writes: Some(vec!["src".into()]),
        ..work(key, &[])
    };
    let plan = [
        work("first", &[]),
        writing("a"),
        writing("b"),
        work("c", &["first", "b"]),
    ];
    let session = stage
        .planned_goal(db, team(2, Some(Reviews::All)), &plan)
        .await;
    let first = stage.turn(db, session, "worker-1").await;
    stage.report(&first, &done("First.")).await.unwrap();
    stage.succeed(first.run).await;
    // The judge reviews a task, a worker is in its turn, and another task waits for the paths of that turn.
    assert_eq!(
        stage.tasks_by_themselves(session).await,
        [
            "plan#1 DONE nothing",
            "first RUNNING nothing",
            "a RUNNING nothing",
            "b READY a, which writes the same paths",
            "c PENDING first, b",
        ]
    );
    let judge = stage.turn(db, session, "judge").await;
    stage.report(&judge, &verdict(&["read"])).await.unwrap();
    stage.succeed(judge.run).await;
    let second = stage.turn(db, session, "worker-2").await;
    stage.report(&second, &done("Second.")).await.unwrap();
    stage.succeed(second.run).await;
    // The review waits in the pause, and the task keeps its paths.
    let judge = stage.turn(db, session, "judge").await;
    let finding = sent_back("source", "There is no source.");
    stage.report(&judge, &finding).await.unwrap();
    stage.change(session, GoalChange::Pause).await.unwrap();
    stage.succeed(judge.run).await;
    assert_eq!(
        stage.tasks_by_themselves(session).await[1..],
        [
            "first DONE nothing",
            "a RUNNING the goal, which is paused (person)",
            "b READY the goal, which is paused (person)",
            "c PENDING b",
        ]
    );
    stage.change(session, GoalChange::Cancel).await.unwrap();
    stage.tasks_by_themselves(session).await;
}

/// The name of a seat, and the key of a task.
type SeatAndTask = (String, String);

pub(crate) async fn prompts_of_tasks_name_seat_and_task(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage
        .planned_goal(db, team(1, None), &[work("a", &[])])
        .await;
    let worker = stage.turn(db, session, "worker").await;
    let chat = stage.session().await;
    let message = stage.send_message(chat, "hello").await.run_id;
    stage.start(message).await;
    let names = |messages: &[Message]| -> Vec<(Option<RunId>, Option<SeatAndTask>)> {
        let prompts = messages.iter().filter(|row| row.role == Role::User);
        let owned = |(seat, task): (&str, &str)| (seat.to_owned(), task.to_owned());
        let names = prompts.map(|row| (row.run_id, task_prompt_names(&row.metadata).map(owned)));
        names.collect()
    };
    // 1. Both pages of the transcript have the names.
    let (scope, store) = (stage.scope(), &stage.store);
    let of_goal = store.messages(scope, session, 0, 100).await.unwrap();
    let shown = names(&of_goal);
    let expected = [("planner", "plan#1"), ("worker", "a")];
    let expected = expected.map(|(seat, task)| Some((seat.to_owned(), task.to_owned())));
    assert!(
        shown.iter().map(|(_, names)| names).eq(&expected),
        "{shown:?}"
    );
    assert_eq!(shown[1].0, Some(worker.run));
    let before = store.messages_before(scope, session, None, 100).await;
    assert_eq!(before.unwrap().messages, of_goal);
    // 2. The message of a person has none.
    let of_chat = store.messages(scope, chat, 0, 100).await.unwrap();
    assert_eq!(names(&of_chat), [(Some(message), None)]);
    // 3. The rows that events announce are the same.
    let updates = store.session_updates(scope, &[(session, 0)], 100).await;
    let events = updates.unwrap().swap_remove(0).events.into_iter();
    let announced: Vec<Message> = events.filter_map(|entry| entry.message).collect();
    assert_eq!(announced, of_goal);
    let feed = stage.whole_feed(db).await.into_iter();
    let of_session = feed.filter(|event| event.session_id == Some(session));
    let announced: Vec<Message> = of_session.filter_map(|event| event.message).collect();
    assert_eq!(announced, of_goal);
}

pub(crate) async fn sessions_of_goals_are_listed_alone_or_left_out(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let talk = stage.session().await;
    stage.advance_seconds(1);
    let goal = stage.goal(team(1, None)).await;
    let listed = async |of_goal, order| {
        let filter = SessionFilter {
            of_goal,
            ..SessionFilter::default()
        };
        let read = stage
            .store
            .session_items(stage.tenant, &filter, order, 9, 9);
        let items = read.await.unwrap().into_iter();
        items.map(|item| item.session.id).collect::<Vec<_>>()
    };
    for order in [
        SessionOrder::Created { after: None },
        SessionOrder::Changed { after: None },
    ] {
        assert_eq!(listed(None, order).await, [goal, talk]);
        assert_eq!(listed(Some(true), order).await, [goal]);
        assert_eq!(listed(Some(false), order).await, [talk]);
    }
}
