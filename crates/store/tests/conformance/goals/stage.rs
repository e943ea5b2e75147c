//! Goals on a stage: a team, its turns and its tools.

use std::collections::BTreeMap;

use model::{
    RunId, SessionId, TaskId,
    entity::SeatSettings,
    goal::{
        GoalBudget, GoalState, JUDGE, NewTask, PLANNER, ReportBody, ReportStatus, ReportedFinding,
        Reviews, Severity, WORKER,
    },
    outcome::FailureKind,
    team::{SeatDefinition, TeamDefinition, TeamLimits},
};
use store::{Error, GoalChange, NewGoal, Scope, TaskReport, ToolCaller, params};

use crate::{fixtures::TestStore, stage::Stage, tool_calls::start};

/// Returns a team of a planner, workers, and a judge unless `reviews` is `None`.
pub(super) fn team(workers: u32, reviews: Option<Reviews>) -> TeamDefinition {
    let mut planner = SeatDefinition::new(PLANNER);
    planner.is_entry = true;
    let mut worker = SeatDefinition::new(WORKER);
    worker.count = workers;
    let mut seats = vec![planner, worker];
    if reviews.is_some() {
        let mut judge = SeatDefinition::new(JUDGE);
        judge.reviews = reviews;
        seats.push(judge);
    }
    TeamDefinition {
        name: "campaign".into(),
        limits: TeamLimits::default(),
        checks: BTreeMap::new(),
        seats,
    }
}

/// Returns a task of a worker that writes nothing.
pub(super) fn work(key: &str, depends_on: &[&str]) -> NewTask {
    NewTask {
        title: format!("Do {key}"),
        description: format!("Do {key} well."),
        depends_on: depends_on.iter().map(|it| (*it).to_owned()).collect(),
        writes: Some(Vec::new()),
        ..NewTask::new(key, WORKER)
    }
}

/// Returns the report of a finished task.
pub(super) fn done(result: &str) -> TaskReport {
    TaskReport {
        status: ReportStatus::Done,
        body: ReportBody {
            result: Some(result.to_owned()),
            ..ReportBody::default()
        },
    }
}

/// Returns a verdict that accepts with evidence.
pub(super) fn verdict(evidence: &[&str]) -> TaskReport {
    TaskReport {
        status: ReportStatus::Accept,
        body: ReportBody {
            evidence: evidence.iter().map(|it| (*it).to_owned()).collect(),
            ..ReportBody::default()
        },
    }
}

/// Returns a verdict that sends a task back.
pub(super) fn sent_back(id: &str, text: &str) -> TaskReport {
    TaskReport {
        status: ReportStatus::SendBack,
        body: ReportBody {
            findings: vec![ReportedFinding {
                id: id.to_owned(),
                text: text.to_owned(),
                severity: Severity::Blocker,
                regression: false,
                criterion: None,
            }],
            ..ReportBody::default()
        },
    }
}

impl Stage {
    pub(super) fn new_goal(&self, team: TeamDefinition) -> NewGoal {
        let agents = team.seats().into_iter();
        let agents = agents.map(|_| (self.agent, SeatSettings::default()));
        NewGoal {
            session: self.new_session(None).id,
            text: "Draft the campaign.".into(),
            key: None,
            title: Some("Campaign".into()),
            cwd: None,
            placed_on: None,
            agents: agents.collect(),
            team,
            approve_plan: false,
            budget: GoalBudget::default(),
            until: None,
            draft: false,
        }
    }

    pub(super) async fn goal(&self, team: TeamDefinition) -> SessionId {
        let new = self.new_goal(team);
        let created = self.store.create_goal(self.tenant, &new, self.now());
        created.await.unwrap()
    }

    /// Takes the turn of the planner with these tasks.
    pub(super) async fn plan(&self, db: &TestStore, session: SessionId, tasks: &[NewTask]) {
        let planner = self.turn(db, session, "planner").await;
        for task in tasks {
            self.stage_task(&planner, task).await.unwrap();
        }
        self.succeed(planner.run).await;
    }

    /// Creates a goal with a first plan.
    pub(super) async fn planned_goal(
        &self,
        db: &TestStore,
        team: TeamDefinition,
        tasks: &[NewTask],
    ) -> SessionId {
        let session = self.goal(team).await;
        self.plan(db, session, tasks).await;
        session
    }

    /// A stuck goal whose only task has failed twice. It is given up after three hours.
    pub(super) async fn stuck_goal(&self, db: &TestStore) -> SessionId {
        let mut new = self.new_goal(team(1, None));
        new.team.limits.graph.replans = 0;
        new.team.limits.give_up_after_hours = 3;
        let session = self.store.create_goal(self.tenant, &new, self.now());
        let session = session.await.unwrap();
        self.plan(db, session, &[work("a", &[])]).await;
        for _ in 0..2 {
            let worker = self.turn(db, session, "worker").await;
            self.fail(worker.run, FailureKind::AgentError).await;
        }
        // The report comes before the pause.
        let report = self.turn(db, session, "planner").await;
        self.succeed(report.run).await;
        session
    }

    /// Returns the run that holds a seat. The only seat of a role has the name of its role, and `worker-1` names it too.
    pub(super) async fn open_run(
        &self,
        db: &TestStore,
        session: SessionId,
        seat: &str,
    ) -> Option<RunId> {
        let sql = "select r.id from agent_runs r join agent_definitions d on d.id = r.seat_id \
            where r.session_id = $1 and $2 in (d.name, d.name || '-1') and r.status in ('queued', 'delivered', 'running')";
        let rows = db.run(Scope::System, sql, params![session, seat]).await;
        let rows = rows.unwrap();
        rows.first().map(|row| row.get("id").unwrap())
    }

    /// Begins the turn that holds a seat, and returns its agent as a caller of tools.
    pub(super) async fn turn(&self, db: &TestStore, session: SessionId, seat: &str) -> ToolCaller {
        let run = self.open_run(db, session, seat).await;
        start(self, run.unwrap_or_else(|| panic!("no turn of {seat}"))).await
    }

    /// Begins the only queued turn of a session.
    pub(super) async fn next_turn(&self, db: &TestStore, session: SessionId) -> ToolCaller {
        let sql = "select id from agent_runs where session_id = $1 and status = 'queued'";
        let rows = db.run(Scope::System, sql, params![session]).await.unwrap();
        assert_eq!(rows.len(), 1, "one turn is queued");
        start(self, rows[0].get("id").unwrap()).await
    }

    pub(super) async fn stage_task(
        &self,
        caller: &ToolCaller,
        task: &NewTask,
    ) -> Result<usize, Error> {
        let staged = self.store.create_task(caller, task, self.now()).await;
        Ok(staged?.staged)
    }

    /// Lists the tools, as each agent does at the beginning of its turn.
    pub(super) async fn list_tools(&self, caller: &ToolCaller) {
        let noted = self.store.note_listed_tools(caller, self.now());
        noted.await.unwrap();
    }

    pub(super) async fn report(
        &self,
        caller: &ToolCaller,
        report: &TaskReport,
    ) -> Result<String, Error> {
        let stored = self.store.report_task(caller, report, self.now()).await;
        Ok(stored?.key)
    }

    pub(super) async fn change(
        &self,
        session: SessionId,
        change: GoalChange,
    ) -> Result<GoalState, Error> {
        let (tenant, now) = (self.tenant, self.now());
        self.store.change_goal(tenant, session, &change, now).await
    }

    pub(super) async fn change_with_comment(
        &self,
        session: SessionId,
        change: GoalChange,
        comment: &str,
    ) -> Result<GoalState, Error> {
        let (tenant, now) = (self.tenant, self.now());
        let changed =
            self.store
                .change_goal_with_comment(tenant, session, &change, Some(comment), now);
        changed.await
    }

    /// Returns the tasks as lines of key, status and the thing for which they wait.
    pub(super) async fn tasks(&self, session: SessionId) -> Vec<String> {
        let view = self.store.goal(self.scope(), session).await.unwrap();
        let line =
            |task: &store::GoalTask| format!("{} {} {}", task.key, task.status, task.waits_for);
        view.tasks.iter().map(line).collect()
    }

    /// Returns the ID of the task with a key.
    pub(super) async fn task_id(&self, session: SessionId, key: &str) -> TaskId {
        let view = self.store.goal(self.scope(), session).await.unwrap();
        view.tasks.iter().find(|task| task.key == key).unwrap().id
    }
}
