//! Sessions with several seats: their creation, their turns side by side, their folders and their instructions.

use model::{
    AcpSessionId, AgentId, SeatId, SessionId, WorkingDirectory,
    entity::{Seat, SeatSettings},
    event::Change,
    outcome::{FailureKind, Outcome, StopReason},
    run::RunStatus::{Deferred, Queued, Running, Succeeded},
    seat::SeatDirectory,
    session::{SessionEvent, SessionKind},
    turn::{StartReply, SubmittedRun, TurnAssignment, TurnResult},
};
use store::{Error, NewSeat, NewSession, Scope, params};
use uuid::Uuid;

use crate::{
    fixtures::TestStore,
    stage::{Stage, failed, servers::two_tenants},
};

/// Returns the end of a turn with a memory.
fn remembered(memory: &str) -> TurnResult {
    TurnResult {
        answer: "Done.".into(),
        acp_session_id: Some(AcpSessionId::new(memory)),
        turn_ended: true,
        ..TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn))
    }
}

impl Stage {
    fn new_seat(&self, role: &str, name: &str) -> NewSeat {
        NewSeat {
            role: role.into(),
            name: name.into(),
            ..NewSeat::only(self.agent, SeatSettings::default())
        }
    }

    /// Returns a background session with a planner, which is its entry, and two workers.
    fn new_team(&self) -> NewSession {
        NewSession {
            kind: SessionKind::Background,
            entry: self.new_seat("planner", "planner"),
            other_seats: vec![
                self.new_seat("worker", "worker-1"),
                self.new_seat("worker", "worker-2"),
            ],
            ..self.new_session(None)
        }
    }

    async fn create_team(&self, new: &NewSession) -> (SessionId, Vec<Seat>) {
        let created = self.store.create_session(self.tenant, new, self.now());
        let (session, entry) = created.await.unwrap();
        let seats = self.store.seats(self.scope(), session).await.unwrap();
        assert_eq!(seats[0].id, entry);
        (session, seats)
    }

    async fn send_to(
        &self,
        session: SessionId,
        seat: SeatId,
        text: &str,
    ) -> Result<SubmittedRun, Error> {
        let now = self.advance_seconds(1);
        let sent = self
            .store
            .send_message_to_seat(self.tenant, (session, seat), None, text, now);
        sent.await
    }
}

pub(crate) async fn seats_are_created_at_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    // 1. One seat at fault creates nothing.
    let unknown = AgentId::from_uuid(Uuid::from_u128(77));
    let taken = stage.new_seat("worker", "worker-1");
    let absent = NewSeat {
        agent: unknown,
        ..stage.new_seat("judge", "judge")
    };
    for at_fault in [taken, absent] {
        let mut new = stage.new_team();
        new.other_seats.push(at_fault);
        let created = stage.store.create_session(stage.tenant, &new, stage.now());
        created.await.unwrap_err();
        let found = stage.store.session(stage.scope(), new.id).await;
        assert!(matches!(found, Err(Error::NotFound { .. })), "{found:?}");
        assert_eq!(db.count(Scope::System, "agent_definitions").await, 0);
    }
    // 2. The seats are listed in the given order, after the entry.
    let (session, seats) = stage.create_team(&stage.new_team()).await;
    let names: Vec<&str> = seats.iter().map(|seat| seat.name.as_str()).collect();
    assert_eq!(names, ["planner", "worker-1", "worker-2"]);
    let entries: Vec<bool> = seats.iter().map(|seat| seat.is_entry).collect();
    assert_eq!(entries, [true, false, false]);
    assert_eq!(seats[2].role, "worker");
    let found = stage.store.session(stage.scope(), session).await.unwrap();
    assert_eq!((found.kind, found.last_seq), (SessionKind::Background, 1));
    let events = stage.store.events(stage.scope(), session, 0, 10);
    let events = events.await.unwrap();
    assert!(matches!(events[0].change, Change::Session { .. }));
    // 3. Names are unique within a session alone.
    stage.create_team(&stage.new_team()).await;
    assert_eq!(db.count(Scope::System, "agent_definitions").await, 6);
}

pub(crate) async fn message_to_seat_runs_beside_other_seats(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, seats) = stage.create_team(&stage.new_team()).await;
    let [planner, first, second] = [&seats[0], &seats[1], &seats[2]];
    // 1. A message without a seat is for the entry. Each seat has a queue of its own.
    let plan = stage.send_message(session, "plan").await;
    assert_eq!((plan.seat_id, plan.status), (Some(planner.id), Queued));
    let one = stage.send_to(session, first.id, "one").await.unwrap();
    let two = stage.send_to(session, second.id, "two").await.unwrap();
    let next = stage.send_to(session, first.id, "next").await.unwrap();
    assert_eq!((one.seat_id, one.status), (Some(first.id), Queued));
    assert_eq!((two.seat_id, two.status), (Some(second.id), Queued));
    assert_eq!((next.seat_id, next.status), (Some(first.id), Deferred));
    let runs = [plan.run_id, one.run_id, two.run_id];
    // 2. All seats take turns at the same time, and each keeps its own memory.
    for run in runs {
        stage.start(run).await;
    }
    assert_eq!(stage.statuses(runs).await, [Running; 3]);
    for (run, memory) in runs.into_iter().zip(["m-0", "m-1", "m-2"]) {
        stage.end(run, &remembered(memory)).await;
    }
    assert_eq!(stage.statuses(runs).await, [Succeeded; 3]);
    let seats = stage.store.seats(stage.scope(), session).await.unwrap();
    let memories: Vec<_> = seats
        .iter()
        .map(|seat| seat.acp_session_id.clone())
        .collect();
    assert_eq!(
        memories,
        ["m-0", "m-1", "m-2"].map(|it| Some(AcpSessionId::new(it)))
    );
    let assignment = stage.start(next.run_id).await;
    assert_eq!(
        assignment.seat.acp_session_id,
        Some(AcpSessionId::new("m-1"))
    );
    assert_eq!(assignment.prompt.text, "next");
    stage.end(next.run_id, &remembered("m-1")).await;
    // The rows of the agents name their seats.
    let rows = stage.store.messages(stage.scope(), session, 0, 100);
    let rows = rows.await.unwrap();
    let of_agents: Vec<SeatId> = rows.iter().filter_map(|row| row.seat_id).collect();
    assert_eq!(of_agents, [planner.id, first.id, second.id, first.id]);
    // 3. A pause holds all seats.
    stage.move_on(session, SessionEvent::Pause).await;
    let held = [
        stage.send_message(session, "plan").await,
        stage.send_to(session, second.id, "two").await.unwrap(),
    ];
    assert_eq!(held.map(|sent| sent.status), [Deferred; 2]);
    stage.move_on(session, SessionEvent::Resume).await;
    let held = held.map(|sent| sent.run_id);
    assert_eq!(stage.statuses(held).await, [Queued; 2]);
    // 4. Lists name the seats of a session that has several.
    let names = stage.store.run_names(stage.scope(), held[1]).await.unwrap();
    assert_eq!(names.seat_name.as_deref(), Some("worker-2"));
    let chat = stage.send_message(stage.session().await, "hello").await;
    let names = stage.store.run_names(stage.scope(), chat.run_id);
    assert_eq!(names.await.unwrap().seat_name, None);
}

pub(crate) async fn seat_of_other_tenant_or_session_is_not_found(db: &TestStore) {
    let [stage, other] = two_tenants(db).await;
    let (session, seats) = stage.create_team(&stage.new_team()).await;
    let (of_other, seats_of_other) = other.create_team(&other.new_team()).await;
    let chat = stage.session().await;
    for (session, seat) in [
        (chat, seats[1].id),
        (session, seats_of_other[1].id),
        (of_other, seats_of_other[1].id),
        (session, SeatId::from_uuid(Uuid::from_u128(77))),
    ] {
        let sent = stage.send_to(session, seat, "hello").await;
        assert!(matches!(sent, Err(Error::NotFound { .. })), "{sent:?}");
    }
    assert_eq!(db.count(Scope::System, "agent_runs").await, 0);
    let foreign = stage.store.seat_overviews(stage.scope(), of_other);
    assert!(foreign.await.unwrap().is_empty());
    stage.send_to(session, seats[1].id, "hello").await.unwrap();
}

pub(crate) async fn folder_of_seat_needs_no_other_directory(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_team();
    new.cwd = Some("/work".into());
    new.other_seats[0].directory = SeatDirectory::Own;
    let (session, seats) = stage.create_team(&new).await;
    let (shared, own) = (&seats[0], &seats[1]);
    // 1. Servers of earlier formats take no turns in a folder that they do not know.
    let sql =
        "select needs_format as found from agent_definitions where session_id = $1 order by id";
    let rows = db.run(Scope::System, sql, params![session]).await.unwrap();
    let needed: Vec<i64> = rows.iter().map(|row| row.get("found").unwrap()).collect();
    assert_eq!(needed, [1, 5, 1]);
    // 2. Only the shared directory is one that a server may not have.
    let at_shared = stage
        .send_to(session, shared.id, "one")
        .await
        .unwrap()
        .run_id;
    let at_own = stage.send_to(session, own.id, "two").await.unwrap().run_id;
    let claimed = stage
        .store
        .claim(&stage.worker, stage.instance, 9, None, stage.now());
    let claimed = claimed.await.unwrap();
    let directory = |run| {
        claimed
            .iter()
            .find(|it| it.run == run)
            .unwrap()
            .directory
            .clone()
    };
    assert_eq!(directory(at_shared).as_deref(), Some("/work"));
    assert_eq!(directory(at_own), None);
    let listed = stage.store.runs_claimed_by(&stage.worker).await.unwrap();
    let listed = listed.iter().find(|it| it.run == at_own).unwrap();
    assert_eq!(listed.directory, None);
    // 3. The turn of each seat runs in its directory.
    let StartReply::Started(assignment) = stage.begin(at_shared).await else {
        panic!("the turn in the shared directory did not begin");
    };
    assert_eq!(assignment.cwd, "/work");
    let refused = stage
        .store
        .refuse_directory(at_own, &stage.worker, stage.instance, stage.now());
    let StartReply::Started(assignment) = refused.await.unwrap() else {
        panic!("the folder of the seat was missed");
    };
    let path = format!("/data/sessions/{session}/worker-1");
    assert_eq!(assignment.cwd, path);
    let directory = TurnAssignment::from(*assignment).directory;
    let seat = "worker-1".into();
    assert_eq!(directory, WorkingDirectory::OwnOfSeat { path, seat });
}

pub(crate) async fn instructions_open_each_new_memory_of_seat(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut new = stage.new_team();
    new.other_seats[0].instructions = Some("Write the failing test first.".into());
    let (session, seats) = stage.create_team(&new).await;
    let prompt = async |seat: &Seat, text: &str| {
        let run = stage.send_to(session, seat.id, text).await.unwrap().run_id;
        (run, stage.start(run).await.prompt.text)
    };
    let (run, text) = prompt(&seats[0], "/plan").await;
    assert_eq!(text, "/plan", "a seat without instructions");
    stage.succeed(run).await;
    // Each memory begins with the instructions, until one is kept.
    let (run, text) = prompt(&seats[1], "Go").await;
    assert!(text.starts_with("You are the seat `worker-1`"), "{text}");
    assert!(
        text.ends_with("\n\nWrite the failing test first.\n\nGo"),
        "{text}"
    );
    let record = stage.store.run_record(stage.scope(), run).await.unwrap();
    assert_eq!(record.unwrap().rendered_prompt, Some(text));
    stage.fail(run, FailureKind::AgentError).await;
    let (run, text) = prompt(&seats[1], "Go on").await;
    assert!(text.starts_with("You are the seat"), "{text}");
    stage.end(run, &remembered("m-1")).await;
    let (run, text) = prompt(&seats[1], "And now").await;
    assert_eq!(text, "And now");
    stage.end(run, &failed(FailureKind::AgentError, true)).await;
    // The transcript shows the messages as people wrote them.
    let shown = stage.transcript(session).await;
    assert!(shown.contains(&"user: Go".to_owned()), "{shown:?}");
}

pub(crate) async fn seats_are_listed_with_names_of_their_objects(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, seats) = stage.create_team(&stage.new_team()).await;
    let overviews = async || {
        let found = stage.store.seat_overviews(stage.scope(), session);
        found.await.unwrap()
    };
    let listed = overviews().await;
    assert!(listed.iter().map(|it| &it.seat).eq(&seats));
    for overview in &listed {
        assert_eq!(
            (overview.agent.as_str(), &overview.instance),
            ("agent", &None)
        );
        assert!(!overview.is_busy);
    }
    let run = stage
        .send_to(session, seats[1].id, "hello")
        .await
        .unwrap()
        .run_id;
    let busy = overviews().await;
    let busy: Vec<bool> = busy.iter().map(|it| it.is_busy).collect();
    assert_eq!(busy, [false, true, false]);
    stage.start(run).await;
    stage.succeed(run).await;
    let listed = overviews().await;
    assert!(listed.iter().all(|it| !it.is_busy));
    assert_eq!(listed[1].instance.as_deref(), Some("host"));
    assert_eq!(listed[2].instance, None);
}
