//! The tools of the tasks of a goal, as the service checks and answers their calls.

use std::{collections::BTreeMap, time::Duration};

use api_types::ReplayItem;
use model::{
    InstanceId, RunId, SessionId, WorkerId,
    approval::Decider,
    entity::SeatSettings,
    goal::{
        GoalBudget, JUDGE, NewTask, PLANNER, ReportedFinding, Reviews, Severity, TaskRole,
        TaskStatus, WORKER,
    },
    run::RunStatus,
    schedule::Zone,
    team::{SeatDefinition, TeamDefinition, TeamLimits},
    turn::StartReply,
};
use serde_json::json;
use service::{
    ArtifactSave, ArtifactSource, CronAdd, Error, ErrorKind, PersonQuestion, RunTools, TaskQuery,
    TaskResult, TaskVerdict,
};
use store::{NewGoal, Scope, ToolCaller, database::Statement};
use uuid::Uuid;

use crate::{replay::replay_in_pages, world::World};

fn here() -> InstanceId {
    InstanceId::from_uuid(Uuid::from_u128(1))
}

fn task(key: &str, depends_on: &[&str]) -> NewTask {
    NewTask {
        title: format!("Do {key}"),
        description: format!("Do {key} well."),
        depends_on: depends_on.iter().map(|key| (*key).to_owned()).collect(),
        ..NewTask::new(key, WORKER)
    }
}

fn result(text: &str) -> TaskResult {
    TaskResult {
        task: None,
        is_done: true,
        result: Some(text.into()),
        artifacts: Vec::new(),
        follow_up: None,
    }
}

fn finding(id: &str) -> ReportedFinding {
    ReportedFinding {
        id: id.into(),
        text: "There is no source.".into(),
        severity: Severity::Blocker,
        regression: false,
        criterion: None,
    }
}

/// A goal with a planner, a worker and a judge of all tasks.
pub(crate) struct Goal {
    pub(crate) world: World,
}

impl Goal {
    pub(crate) async fn start() -> Self {
        let world = World::new().await;
        let now = world.clock_now();
        let registered = world
            .store
            .register_instance(world.tenant, here(), "host", now);
        registered.await.unwrap();
        let mut planner = SeatDefinition::new(PLANNER);
        planner.is_entry = true;
        let mut judge = SeatDefinition::new(JUDGE);
        judge.reviews = Some(Reviews::All);
        let team = TeamDefinition {
            name: "campaign".into(),
            limits: TeamLimits::default(),
            checks: BTreeMap::new(),
            seats: vec![planner, SeatDefinition::new(WORKER), judge],
        };
        let agents = world
            .store
            .seats(Scope::System, world.conversation().await.id);
        let agent = agents.await.unwrap()[0].agent_id;
        let agents = team.seats().into_iter();
        let agents = agents.map(|_| (agent, SeatSettings::default())).collect();
        let new = NewGoal {
            session: SessionId::from_uuid(Uuid::from_u128(7)),
            text: "Draft the campaign.".into(),
            key: None,
            title: None,
            cwd: None,
            placed_on: None,
            agents,
            team,
            approve_plan: false,
            budget: GoalBudget::default(),
            until: None,
            draft: false,
        };
        let created = world.store.create_goal(world.tenant, &new, now);
        created.await.unwrap();
        Self { world }
    }

    /// Begins the only queued turn.
    async fn turn(&self) -> (RunId, RunTools) {
        let World { store, service, .. } = &self.world;
        let worker = WorkerId::from_stored("host-1-aaaaaaaa".into());
        let now = self.world.clock_now();
        let claimed = store.claim(&worker, here(), 1, None, now).await.unwrap();
        let [claimed] = &claimed[..] else {
            panic!("one turn is queued")
        };
        let run = claimed.run;
        let secret = [7; 32];
        let begun = store.begin(run, &worker, here(), now, Some(secret));
        assert!(matches!(begun.await.unwrap(), StartReply::Started(_)));
        let caller = ToolCaller {
            run,
            secret,
            worker,
            stale_after: Duration::from_mins(3),
        };
        let (tools, _) = service.run_tools(caller, Zone::utc()).await.unwrap();
        (run, tools)
    }

    async fn end(&self, run: RunId) {
        self.world.finish_with_answer(run, "over").await;
        let run = self.world.store.run(Scope::System, run).await.unwrap();
        assert_eq!(run.state.status(), RunStatus::Succeeded);
    }
}

#[tokio::test]
async fn plan_is_made_done_and_judged_by_tools() {
    let goal = Goal::start().await;
    // 1. The planner.
    let (run, tools) = goal.turn().await;
    let offer = tools.offer().await.unwrap();
    assert_eq!(
        (offer.task, offer.unread),
        (Some(TaskRole::Planner), Some(0))
    );
    let mut empty = task("a", &[]);
    empty.description = " ".into();
    let refused = tools.create_task(&empty).await.unwrap_err();
    assert_eq!(refused.field(), Some("description"));
    let mut broken = task("a", &[]);
    broken.title = "One\n| two".into();
    let refused = tools.create_task(&broken).await.unwrap_err().to_string();
    let says = "`title` of `a` is `One\\n| two`; 1 to 120 bytes on one line";
    assert!(refused.contains(says), "{refused}");
    let items = NewTask {
        each: vec!["x".into(), "y".into()],
        ..task("b", &["a"])
    };
    tools.create_task(&items).await.unwrap();
    let staged = tools.create_task(&task("a", &[])).await.unwrap();
    assert_eq!((staged.staged, staged.unresolved.len()), (2, 0));
    let listed = tools.list_tasks(&TaskQuery::default()).await.unwrap();
    assert_eq!((listed.tasks.len(), listed.staged.len()), (1, 2));
    goal.end(run).await;
    // 2. The worker.
    let (run, tools) = goal.turn().await;
    assert_eq!(tools.offer().await.unwrap().task, Some(TaskRole::Worker));
    let mut other = result("B");
    other.task = Some("b/1".into());
    let refused = tools.report_task(&other).await.unwrap_err();
    assert!(matches!(refused, Error::NotAllowed { .. }), "{refused:?}");
    let mut long = result("A");
    long.follow_up = Some("x".repeat(2049));
    let refused = tools.report_task(&long).await.unwrap_err();
    assert_eq!(refused.field(), Some("follow_up"));
    let mut invented = result("A");
    invented.artifacts = vec!["mail".into()];
    let refused = tools.report_task(&invented).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NotFound);
    let saved = ArtifactSave {
        name: "mail".into(),
        source: ArtifactSource::Uri("https://example.com/mail".into()),
        media_type: None,
    };
    tools.save_artifact(&saved).await.unwrap();
    invented.task = Some("a".into());
    let reported = tools.report_task(&invented).await.unwrap();
    assert_eq!(tools.report_task(&invented).await.unwrap(), reported);
    assert_eq!(reported.key, "a");
    goal.end(run).await;
    // 3. The judge.
    let (run, tools) = goal.turn().await;
    assert_eq!(tools.offer().await.unwrap().task, Some(TaskRole::Judge));
    let accept = |evidence: &[&str], notes| TaskVerdict::Accept {
        evidence: evidence.iter().map(|it| (*it).to_owned()).collect(),
        notes,
    };
    let refused = tools.judge_task(&accept(&[], Vec::new())).await;
    assert!(matches!(refused, Err(Error::Store(store::Error::Goal(_)))));
    let finding = finding("source");
    let twice = TaskVerdict::SendBack(vec![finding.clone(), finding.clone()]);
    let refused = tools.judge_task(&twice).await.unwrap_err();
    assert_eq!(refused.field(), Some("findings.id"));
    let judged = tools
        .judge_task(&TaskVerdict::SendBack(vec![finding.clone()]))
        .await;
    let judged = judged.unwrap();
    assert_eq!((judged.round, judged.accepts), (1, false));
    assert_eq!(judged.counted, ["source"]);
    let twice = accept(&["read it"], vec![finding.clone(), finding.clone()]);
    let refused = tools.judge_task(&twice).await.unwrap_err();
    assert_eq!(refused.field(), Some("findings.id"));
    let accepted = tools.judge_task(&accept(&["read it"], vec![finding])).await;
    assert!(accepted.unwrap().accepts);
    goal.end(run).await;
    // The findings of a verdict that accepts are notes.
    let (store, session) = (&goal.world.store, SessionId::from_uuid(Uuid::from_u128(7)));
    let view = store.goal(Scope::System, session).await.unwrap();
    let judged = view.tasks.iter().find(|task| task.key == "a").unwrap();
    let details = store.task_details(Scope::System, judged.id).await.unwrap();
    assert_eq!(details.task.reason, Some("judge"));
    assert_eq!(details.findings[0].id, "source");
    // 4. The next worker lists the tasks.
    let (_, tools) = goal.turn().await;
    list_has_filters(&tools).await;
}

#[tokio::test]
async fn turn_with_message_lists_tasks_and_changes_none() {
    let goal = Goal::start().await;
    let (run, tools) = goal.turn().await;
    tools.create_task(&task("a", &[])).await.unwrap();
    goal.end(run).await;
    let (_, worker) = goal.turn().await;
    worker.send_message("planner", "Which tone?").await.unwrap();
    let (_, tools) = goal.turn().await;
    let offer = tools.offer().await.unwrap();
    assert_eq!((offer.is_of_goal, offer.task), (true, None));
    let query = TaskQuery {
        task: Some("a".into()),
        ..TaskQuery::default()
    };
    let listed = tools.list_tasks(&query).await.unwrap();
    let single = &listed.tasks[0];
    let content = single.content.as_ref().unwrap();
    assert_eq!(
        (single.status, content.description.as_str()),
        (TaskStatus::Running, "Do a well.")
    );
    let refused = tools.create_task(&task("b", &[])).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    let refused = tools.report_task(&result("A")).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
}

#[tokio::test]
async fn replay_of_goal_has_each_task_once_before_its_first_run() {
    let goal = Goal::start().await;
    // 1. A plan, work, and a verdict about the work. The task `b` has no run.
    let (run, tools) = goal.turn().await;
    tools.create_task(&task("a", &[])).await.unwrap();
    tools.create_task(&task("b", &["a"])).await.unwrap();
    goal.end(run).await;
    let (run, tools) = goal.turn().await;
    tools.report_task(&result("A")).await.unwrap();
    goal.end(run).await;
    let (run, tools) = goal.turn().await;
    let sent_back = TaskVerdict::SendBack(vec![finding("source")]);
    tools.judge_task(&sent_back).await.unwrap();
    goal.end(run).await;
    // 2. The replay without its rows.
    let session = SessionId::from_uuid(Uuid::from_u128(7)).to_string();
    let whole = replay_in_pages(&goal.world, &session, 500).await;
    let shown = whole.iter().filter_map(|item| match item {
        ReplayItem::Task(task) => Some(format!("{} {} {}", task.key, task.status, task.round)),
        ReplayItem::Run(run) => Some(run.status.to_string()),
        ReplayItem::Message(_) => None,
    });
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [
            "plan#1 DONE 0",
            "succeeded",
            "a RUNNING 1",
            "succeeded",
            "succeeded"
        ]
    );
    let rows = whole
        .iter()
        .filter(|item| matches!(item, ReplayItem::Message(_)));
    for limit in 1..=u32::try_from(rows.count()).unwrap() {
        let pages = replay_in_pages(&goal.world, &session, limit).await;
        assert_eq!(pages, whole, "pages of {limit}");
    }
}

async fn list_has_filters(tools: &RunTools) {
    let list = async |task: Option<&str>, status: Option<&str>, after: Option<&str>| {
        let query = TaskQuery {
            task: task.map(str::to_owned),
            status: status.map(str::to_owned),
            after: after.map(str::to_owned),
        };
        tools.list_tasks(&query).await
    };
    let keys = |list: service::TaskList| -> Vec<String> {
        list.tasks.into_iter().map(|task| task.key).collect()
    };
    let all = list(None, None, None).await.unwrap();
    assert_eq!((all.plan_version, all.next.as_deref()), (1, None));
    assert_eq!(keys(all), ["plan#1", "b/1", "b/2", "a"]);
    assert_eq!(
        keys(list(Some("b"), None, None).await.unwrap()),
        ["b/1", "b/2"]
    );
    let done = list(None, Some("done"), Some("plan#1")).await.unwrap();
    assert_eq!(keys(done), ["a"]);
    let single = list(Some("b/2"), None, None).await.unwrap();
    let single = &single.tasks[0];
    let content = single.content.as_ref().unwrap();
    assert_eq!(content.depends_on, ["a"]);
    assert_eq!(single.status, TaskStatus::Ready);
    let waits_for = single.waits_for.as_deref().unwrap();
    assert!(
        waits_for.contains("worker") || waits_for.contains("b/1"),
        "{waits_for}"
    );
    let unknown = list(Some("b/3"), None, None).await.unwrap_err();
    assert!(unknown.to_string().contains("did you mean"), "{unknown}");
    let unknown = list(None, Some("open"), None).await.unwrap_err();
    assert!(
        unknown.to_string().contains("use PENDING, READY"),
        "{unknown}"
    );
    let unknown = list(None, None, Some("z")).await.unwrap_err();
    assert_eq!(unknown.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn message_to_person_is_refused_with_the_tool_that_asks() {
    let goal = Goal::start().await;
    let (_, tools) = goal.turn().await;
    let refused = tools.send_message("person", "Which colour?").await;
    let refused = refused.unwrap_err();
    assert_eq!(refused.field(), Some("to"));
    let says = "ask a person with `ask_person`, and tell a person in your answer";
    assert!(refused.to_string().contains(says), "{refused}");
    let refused = tools.send_message("persons", "Which colour?").await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("the session has no such seat"),
        "{refused}"
    );
}

#[tokio::test]
async fn agents_of_goal_make_no_automations() {
    let goal = Goal::start().await;
    let World { store, tenant, .. } = &goal.world;
    let (_, planner) = goal.turn().await;
    // A message of a person allows them elsewhere.
    let session = SessionId::from_uuid(Uuid::from_u128(7));
    let seats = store.seat_names(*tenant, session).await.unwrap();
    let seat = seats.iter().find(|seat| seat.role == WORKER).unwrap().id;
    let (text, now) = ("Check the build every day.", goal.world.clock_now());
    let sent = store.send_message_to_seat(*tenant, (session, seat), None, text, now);
    sent.await.unwrap();
    let (_, worker) = goal.turn().await;
    let request = CronAdd {
        name: None,
        schedule: "0 9 * * *".into(),
        zone: None,
        message: "Check the build.".into(),
        expires: None,
    };
    for (tools, in_task) in [(planner, true), (worker, false)] {
        let offer = tools.offer().await.unwrap();
        assert_eq!((offer.is_of_goal, offer.task.is_some()), (true, in_task));
        let refused = tools.add_cron(&request).await.unwrap_err();
        assert!(
            matches!(&refused, Error::NotAllowed { reason } if reason.contains("no limit of the goal")),
            "{refused:?}"
        );
    }
}

#[tokio::test]
async fn report_has_all_questions_and_calls_caller_over_socket_a_person() {
    let goal = Goal::start().await;
    let World { store, tenant, .. } = &goal.world;
    let (_, tools) = goal.turn().await;
    let question = PersonQuestion {
        question: "Which colour?".into(),
        options: Vec::new(),
        default: "red".into(),
        hours: 12,
    };
    let asked = tools.ask_person(&question).await.unwrap();
    let by = Decider {
        token: None,
        name: "socket".into(),
    };
    let (answer, now) = (json!("blue"), goal.world.clock_now());
    let answered = store.answer_question(*tenant, asked.id, &answer, &by, now);
    answered.await.unwrap();
    // More questions than the report reads at once.
    let sql = "insert into questions
            (id, tenant_id, session_id, seat_id, run_id, input_id, kind, text, body, format, needs_format, state,
            deadline_at, created_at, closed_at)
        with recursive copies (number) as (select 1 union all select number + 1 from copies where number < 600)
        select randomblob(16), q.tenant_id, q.session_id, q.seat_id, q.run_id, q.input_id, q.kind,
            q.text || ' ' || copies.number, q.body, q.format, q.needs_format, 'void', q.deadline_at, q.created_at,
            q.created_at
        from questions q join copies on true";
    let statement = Box::leak(Box::new(Statement::new("more questions", sql, sql)));
    let mut tx = store.database().begin(Scope::System).await.unwrap();
    tx.execute(statement, Vec::new()).await.unwrap();
    tx.commit().await.unwrap();
    let session = asked.session_id.to_string();
    let report = goal.world.service.goal_report(&session).await.unwrap();
    let line = "- planner: Which colour? — blue (a person at the server)\n";
    assert!(report.text.contains(line), "{}", report.text);
    assert_eq!(report.text.matches("Which colour?").count(), 601);
    // The goal goes on, so that the questions without an answer do not say that it has ended.
    let void = "- planner: Which colour? 600 — no answer, and nothing waits for one\n";
    assert!(report.text.contains(void), "{}", report.text);
}
