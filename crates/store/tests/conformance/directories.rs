//! The working directories of sessions: folders of their own, which each server has in its data folder, and paths that
//! persons gave.

use std::{path::PathBuf, sync::Arc};

use model::{
    InstanceId, RunId, SessionId, WorkerId,
    entity::SeatSettings,
    outcome::FailureKind,
    policy::SessionMode,
    run::RunStatus::{Delivered, Failed, Queued},
    turn::{ClaimedRun, StartReply, WriteOutcome},
};
use store::{
    DOCUMENT_FORMAT, DirectoryRefusal, Scope, ServerHeartbeatReply, Store, database::Dialect,
    params,
};
use testkit::clock::SeededEntropy;

use crate::{
    fixtures::TestStore,
    opening::change,
    stage::{Stage, answer, instance, store_over},
};

/// The version of the schema whose migration removes the paths of own folders.
const OWN_FOLDERS_VERSION: i64 = 26;

/// The format of the program before that version.
const EARLIER_FORMAT: i64 = 4;

impl Stage {
    /// Creates a session that works in a path which a person gave.
    pub(crate) async fn session_in(&self, path: &str) -> SessionId {
        let mut new = self.new_session(None);
        new.cwd = Some(path.to_owned());
        let created = self.store.create_session(self.tenant, &new, self.now());
        created.await.unwrap().0
    }
}

/// Returns the stored directory of a session, and the format that its seat needs.
async fn stored_directory(db: &TestStore, session: SessionId) -> (String, i64) {
    let sql = "select s.cwd, d.needs_format from agent_sessions s \
               join agent_definitions d on d.session_id = s.id where s.id = $1";
    let rows = db.run(Scope::System, sql, params![session]).await.unwrap();
    (
        rows[0].get("cwd").unwrap(),
        rows[0].get("needs_format").unwrap(),
    )
}

pub(crate) async fn own_folder_is_resolved_by_server_that_takes_turn(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let found = stage.store.session(stage.scope(), session).await.unwrap();
    assert_eq!(found.cwd, None);
    let run = stage.send_message(session, "hello").await.run_id;
    // Another server, with a data folder of its own, takes the turn.
    let other = Stage {
        store: Store::new(
            db.database.clone(),
            Arc::new(SeededEntropy::new(77)),
            PathBuf::from("/other/sessions"),
        ),
        ..stage
    };
    let assignment = other.start(run).await;
    assert_eq!(assignment.cwd, format!("/other/sessions/{session}"));

    let given = other.session_in("/work").await;
    let run = other.send_message(given, "hello").await.run_id;
    assert_eq!(other.start(run).await.cwd, "/work");
}

pub(crate) async fn own_folder_is_left_to_later_servers(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (own, given) = (stage.session().await, stage.session_in("/work").await);
    assert_eq!(stored_directory(db, own).await, (String::new(), 5));
    assert_eq!(stored_directory(db, given).await, ("/work".into(), 1));

    // An edit of the settings keeps the format.
    let id = stage.automation("report", SessionMode::Continuous).await;
    let run = stage.fire(id).await.run_id;
    let session = stage.run(run).await.session_id.unwrap();
    let settings = SeatSettings {
        mode: Some("plan".into()),
        ..SeatSettings::default()
    };
    let edited = stage.edit(id, false, |to| to.settings = settings).await;
    edited.unwrap();
    assert_eq!(stored_directory(db, session).await, (String::new(), 5));
    const { assert!(EARLIER_FORMAT < 5 && 5 <= DOCUMENT_FORMAT) };
}

pub(crate) async fn paths_of_own_folders_are_removed_by_migration(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (own, given) = (stage.session().await, stage.session_in("/work").await);
    // A folder with the ID of another session is a path that a person gave.
    let misleading = format!("/elsewhere/sessions/{own}");
    let other = stage.session_in(&misleading).await;
    let sql = "update agent_sessions set cwd = $1 where id = $2";
    db.run(Scope::System, sql, params![misleading.as_str(), own])
        .await
        .unwrap();
    let sql = "update agent_definitions set format = $1, needs_format = 1";
    db.run(Scope::System, sql, params![EARLIER_FORMAT])
        .await
        .unwrap();
    // Servers of the earlier version may still store such a path after the migration.
    let found = stage.store.session(stage.scope(), own).await.unwrap();
    assert_eq!(found.cwd, None);

    let version = OWN_FOLDERS_VERSION;
    let earlier = match db.dialect() {
        Dialect::Postgres => format!(
            "set matins.scope = 'system'; \
             drop table automation.task_checks, automation.task_memories, automation.goals, automation.staged_tasks, automation.task_reports; \
             alter table automation.agent_runs drop column task_prompt, drop column task_review, drop column listed_tools; \
             alter table automation.agent_tasks drop column number, drop column key, drop column kind, \
             drop column plan_version, drop column unmet, drop column priority, drop column optional, drop column review, \
             drop column step, drop column seat_id, drop column reason, drop column acceptance, drop column checks, \
             drop column writes, drop column digest, drop column attempts, drop column rounds, drop column progress; \
             create index agent_tasks_by_session on automation.agent_tasks (session_id, created_at); \
             drop table automation.directory_refusals; \
             drop table automation.trigger_files; alter table automation.instances drop column folder_key; \
             alter table automation.agent_definitions drop column directory, drop column presence; \
             drop index automation.agent_definitions_one_name_per_session; \
             create index agent_definitions_by_session on automation.agent_definitions (session_id, id); \
             drop index automation.agent_messages_undelivered_by_seat, automation.agent_runs_one_message_input_per_seat, \
             automation.agent_runs_by_reason, automation.agent_runs_late, automation.automations_paused_or_noticed, \
             automation.questions_pending_by_session, automation.approvals_pending_by_session; \
             alter table automation.agent_messages drop column input_id, drop column chain_length; \
             delete from automation.schema_versions where version >= {version}"
        ),
        Dialect::Sqlite => format!(
            "drop table task_checks; drop table task_memories; drop table task_reports; drop table staged_tasks; drop table goals; \
             alter table agent_runs drop column task_prompt; alter table agent_runs drop column task_review; \
             alter table agent_runs drop column listed_tools; \
             drop table directory_refusals; drop table trigger_files; \
             drop index instances_one_per_folder; alter table instances drop column folder_key; \
             alter table agent_definitions drop column directory; alter table agent_definitions drop column presence; \
             drop index agent_definitions_one_name_per_session; \
             create index agent_definitions_by_session on agent_definitions (session_id, id); \
             drop index agent_messages_undelivered_by_seat; drop index agent_runs_one_message_input_per_seat; \
             drop index agent_runs_by_reason; drop index agent_runs_late; drop index automations_paused_or_noticed; \
             drop index questions_pending_by_session; drop index approvals_pending_by_session; \
             drop index agent_messages_by_input; alter table agent_messages drop column input_id; \
             alter table agent_messages drop column chain_length; \
             delete from schema_versions where version >= {version}; \
             pragma user_version = {}",
            version - 1
        ),
    };
    change(&db.home, &earlier).await;
    let database = store::open(&db.location()).await.unwrap();
    assert_eq!(stored_directory(db, own).await, (String::new(), 5));
    assert_eq!(stored_directory(db, given).await, ("/work".into(), 1));
    assert_eq!(stored_directory(db, other).await, (misleading.clone(), 1));
    let stage = Stage {
        store: store_over(&database),
        ..stage
    };
    let run = stage.send_message(own, "hello").await.run_id;
    let assignment = stage.start(run).await;
    assert_eq!(assignment.cwd, format!("/data/sessions/{own}"));
    let run = stage.send_message(other, "hello").await.run_id;
    assert_eq!(stage.start(run).await.cwd, misleading);
}

/// A server with a data folder of its own.
struct Server {
    instance: InstanceId,
    worker: WorkerId,
}

impl Stage {
    /// Starts a server.
    async fn server(&self, number: u128) -> Server {
        let server = Server {
            instance: instance(number),
            worker: WorkerId::from_stored(format!("host-{number}-aaaaaaaa")),
        };
        let (name, now) = (format!("server {number}"), self.now());
        let registered = self
            .store
            .register_instance(self.tenant, server.instance, &name, now);
        registered.await.unwrap();
        let serves = self
            .store
            .claim_instance(server.instance, &server.worker, None, "1.2.3", now);
        assert!(serves.await.unwrap());
        server
    }

    async fn show_presence(&self, servers: &[&Server]) {
        for server in servers {
            let reply =
                self.store
                    .renew_server_heartbeat(server.instance, &server.worker, self.now());
            assert_eq!(reply.await.unwrap(), ServerHeartbeatReply::Continue);
        }
    }

    /// Advances the clock, and shows the presence of servers in time.
    async fn advance_online(&self, seconds: u64, servers: &[&Server]) {
        for _ in 0..seconds / 60 {
            self.advance_seconds(60);
            self.show_presence(servers).await;
        }
        self.advance_seconds(seconds % 60);
    }

    async fn claim_on(&self, server: &Server) -> Vec<ClaimedRun> {
        let claimed = self
            .store
            .claim(&server.worker, server.instance, 10, None, self.now());
        claimed.await.unwrap()
    }

    async fn refuse_on(&self, server: &Server, run: RunId) -> StartReply {
        let refused = self
            .store
            .refuse_directory(run, &server.worker, server.instance, self.now());
        refused.await.unwrap()
    }

    /// Lets a server claim and refuse a run.
    async fn claim_and_refuse(&self, server: &Server, run: RunId) {
        let claimed = self
            .store
            .claim(&server.worker, server.instance, 1, Some(run), self.now());
        assert_eq!(claimed.await.unwrap().len(), 1);
        let reply = self.refuse_on(server, run).await;
        assert!(matches!(reply, StartReply::Deferred), "{reply:?}");
    }

    async fn fail_overdue(&self) -> u32 {
        let failed = self.store.fail_runs_without_directory(self.now());
        failed.await.unwrap()
    }

    /// Sends a message to a new session in a path.
    async fn message_in(&self, path: &str) -> RunId {
        let session = self.session_in(path).await;
        self.send_message(session, "hello").await.run_id
    }
}

pub(crate) async fn run_without_directory_waits_for_server_that_has_it(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, other) = (stage.server(101).await, stage.server(102).await);
    let run = stage.message_in("/srv/project").await;
    stage.claim_and_refuse(&one, run).await;

    let found = stage.run(run).await;
    assert_eq!((found.status(), found.attempt), (Queued, 1));
    assert_eq!(found.state.reason(), Some("directory not here"));
    let message = found.state.message().unwrap();
    assert!(message.contains("`/srv/project`"), "{message}");
    assert_eq!(db.count(Scope::System, "run_heartbeats").await, 0);
    let status = stage.store.scheduler_status(stage.now()).await.unwrap();
    assert!(status.directory_refusal.is_some());
    let depth = stage.store.queue_depth(stage.scope()).await.unwrap();
    assert_eq!((depth.queued, depth.without_directory), (1, 1));

    // The server claims its other work, and the refused run no more: not for one run, and not after a restart.
    let free = stage.session().await;
    let free = stage.send_message(free, "hello").await.run_id;
    let claimed = stage.claim_on(&one).await;
    assert_eq!(
        claimed.iter().map(|run| run.run).collect::<Vec<_>>(),
        [free]
    );
    assert_eq!(claimed[0].directory, None);
    let restarted = Server {
        worker: WorkerId::from_stored("host-201-bbbbbbbb".into()),
        ..one
    };
    assert!(stage.claim_on(&restarted).await.is_empty());
    let only = stage
        .store
        .claim(&restarted.worker, one.instance, 1, Some(run), stage.now());
    assert!(only.await.unwrap().is_empty());

    // The other server takes the same attempt.
    let claimed = stage.claim_on(&other).await;
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].directory.as_deref(), Some("/srv/project"));
    let begun = stage
        .store
        .begin(run, &other.worker, other.instance, stage.now(), None);
    let StartReply::Started(assignment) = begun.await.unwrap() else {
        panic!("the turn did not begin")
    };
    assert_eq!(
        (assignment.cwd.as_str(), assignment.run.attempt),
        ("/srv/project", 1)
    );
    assert_eq!(stage.run(run).await.state.reason(), None);
    // A review removes the refusal of a run that no longer waits.
    let refusals = stage
        .store
        .directory_refusals(other.instance)
        .await
        .unwrap();
    assert_eq!(refusals.len(), 1);
    assert!(!refusals[0].is_waiting);
    let removed = stage.store.remove_directory_refusals(&refusals).await;
    removed.unwrap();
    assert_eq!(db.count(Scope::System, "directory_refusals").await, 0);
}

pub(crate) async fn run_refused_by_all_online_servers_fails_after_wait(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, other) = (stage.server(101).await, stage.server(102).await);
    let session = stage.session_in("/srv/project").await;
    let run = stage.send_message(session, "hello").await.run_id;
    let next = stage.send_message(session, "and then").await.run_id;
    stage.claim_and_refuse(&one, run).await;
    stage.advance_online(660, &[&one, &other]).await;
    assert_eq!(stage.fail_overdue().await, 0, "one server has not checked");
    stage.claim_and_refuse(&other, run).await;
    stage.advance_online(599, &[&one, &other]).await;
    assert_eq!(stage.fail_overdue().await, 0);
    stage.advance_online(1, &[&one, &other]).await;
    assert_eq!(stage.fail_overdue().await, 1);
    assert_eq!(stage.fail_overdue().await, 0);
    let found = stage.run(run).await;
    assert_eq!(found.state.reason(), Some(FailureKind::Directory.as_str()));
    let message = found.state.message().unwrap();
    assert!(
        message.contains("`/srv/project`")
            && message.contains("create it")
            && message.ends_with("and retry the run."),
        "{message}"
    );
    // No further attempt follows, and the next input of the seat is queued.
    let attempts = stage.store.attempts(stage.scope(), found.input_id).await;
    assert_eq!(attempts.unwrap().len(), 1);
    assert_eq!(stage.status(next).await, Queued);
    assert_eq!(stage.run(next).await.state.reason(), None);
}

pub(crate) async fn only_online_servers_count_for_missing_directory(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, dead) = (stage.server(101).await, stage.server(102).await);
    let run = stage.message_in("/srv/project").await;
    stage.claim_and_refuse(&one, run).await;
    // The other server dies, and a third one comes.
    stage.advance_online(600, &[&one]).await;
    let third = stage.server(103).await;
    let online = stage.store.count_online_servers(stage.now()).await;
    assert_eq!(online.unwrap(), 2);
    assert_eq!(stage.fail_overdue().await, 0);
    stage.claim_and_refuse(&third, run).await;
    stage.advance_online(540, &[&one, &third]).await;
    assert_eq!(stage.fail_overdue().await, 0);
    // The refusal of a server that has stopped neither fails the run nor keeps it.
    let stopped = stage
        .store
        .record_server_stop(third.instance, &third.worker, stage.now());
    stopped.await.unwrap();
    assert_eq!(stage.fail_overdue().await, 1);
    assert_eq!(stage.status(run).await, Failed);

    // Without a server that is online, a run waits.
    let waits = stage.message_in("/srv/project").await;
    stage.show_presence(&[&dead]).await;
    stage.claim_and_refuse(&one, waits).await;
    stage.advance_online(6000, &[]).await;
    assert_eq!(stage.fail_overdue().await, 0);
    assert_eq!(stage.status(waits).await, Queued);
}

pub(crate) async fn run_without_directory_on_only_server_fails_at_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, other) = (stage.server(101).await, stage.server(102).await);
    // The memory of the agent is on one server, so that no other server could take the run.
    let session = stage.session_in("/srv/project").await;
    let run = stage.send_message(session, "hello").await.run_id;
    let claimed = stage
        .store
        .claim(&one.worker, one.instance, 1, Some(run), stage.now());
    assert_eq!(claimed.await.unwrap().len(), 1);
    let begun = stage
        .store
        .begin(run, &one.worker, one.instance, stage.now(), None);
    assert!(matches!(begun.await.unwrap(), StartReply::Started(_)));
    let done = answer("done");
    let finished = stage.store.finish(run, &one.worker, &done, stage.now());
    assert_eq!(finished.await.unwrap(), WriteOutcome::Committed);
    let run = stage.send_message(session, "again").await.run_id;
    assert_eq!(stage.claim_on(&one).await.len(), 1);
    let reply = stage.refuse_on(&one, run).await;
    let StartReply::Refused(failure) = reply else {
        panic!("{reply:?}")
    };
    assert_eq!(
        (failure.kind, failure.prompted),
        (FailureKind::Directory, false)
    );
    assert!(
        failure.message.contains("`/srv/project`"),
        "{}",
        failure.message
    );
    assert!(failure.message.contains("memory"), "{}", failure.message);
    assert_eq!(stage.status(run).await, Failed);

    let stopped = stage
        .store
        .record_server_stop(other.instance, &other.worker, stage.now());
    stopped.await.unwrap();
    let run = stage.message_in("/srv/project").await;
    assert_eq!(stage.claim_on(&one).await.len(), 1);
    let reply = stage.refuse_on(&one, run).await;
    assert!(matches!(reply, StartReply::Refused(_)), "{reply:?}");
    let found = stage.run(run).await;
    assert_eq!(found.status(), Failed);
    let message = found.state.message().unwrap();
    assert!(
        message.contains("`/srv/project`")
            && message.contains("create it")
            && message.ends_with("and retry the run."),
        "{message}"
    );
    assert_eq!(db.count(Scope::System, "directory_refusals").await, 0);
}

pub(crate) async fn found_directory_removes_refusal(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, _other) = (stage.server(101).await, stage.server(102).await);
    let run = stage.message_in("/srv/project").await;
    stage.claim_and_refuse(&one, run).await;
    let refusals = stage.store.directory_refusals(one.instance).await.unwrap();
    assert_eq!(
        refusals,
        [DirectoryRefusal {
            run,
            instance: one.instance,
            directory: Some("/srv/project".into()),
            is_waiting: true,
        }]
    );
    let removed = stage.store.remove_directory_refusals(&refusals).await;
    removed.unwrap();
    let claimed = stage.claim_on(&one).await;
    assert_eq!(claimed.len(), 1);
    let own = stage.store.runs_claimed_by(&one.worker).await.unwrap();
    assert_eq!(own, claimed);
}

pub(crate) async fn only_owner_of_claim_refuses_run(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, other) = (stage.server(101).await, stage.server(102).await);
    let run = stage.message_in("/srv/project").await;
    assert_eq!(stage.claim_on(&one).await.len(), 1);
    let reply = stage.refuse_on(&other, run).await;
    assert!(matches!(reply, StartReply::Fenced), "{reply:?}");
    assert_eq!(stage.status(run).await, Delivered);
    // A run that was cancelled since its claim is cancelled and not refused.
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), run, "enough", stage.now());
    cancelled.await.unwrap();
    let reply = stage.refuse_on(&one, run).await;
    assert!(matches!(reply, StartReply::Cancelled), "{reply:?}");
    assert_eq!(db.count(Scope::System, "directory_refusals").await, 0);
    // A folder of the session's own can be made on each server.
    let own = stage.session().await;
    let own = stage.send_message(own, "hello").await.run_id;
    assert_eq!(stage.claim_on(&one).await.len(), 1);
    let reply = stage.refuse_on(&one, own).await;
    assert!(matches!(reply, StartReply::Started(_)), "{reply:?}");
}
