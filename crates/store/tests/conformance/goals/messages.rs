//! Messages between the seats of a goal, and the limits that its team sets for them.

use futures::future::join_all;
use model::{
    SeatId, SessionId,
    goal::{GoalState, Reviews},
    outcome::FailureKind,
    run::RunStatus,
    seat_message::{CARRIED_PER_TURN, SeatMessageStatus, Sender},
    team::TeamDefinition,
    turn::StartReply,
};
use serde_json::json;
use store::{Error, GoalChange, NewSeatMessage, Recipients, SeatMessage, ToolCaller};

use super::stage::{done, sent_back, team, work};
use crate::{
    fixtures::TestStore,
    stage::Stage,
    without_locks::{patiently, without_locks},
};

impl Stage {
    pub(super) async fn seat_named(&self, session: SessionId, name: &str) -> SeatId {
        let seats = self.store.seat_names(self.tenant, session).await.unwrap();
        let found = seats.into_iter().find(|seat| seat.name == name);
        found.unwrap_or_else(|| panic!("no seat {name}")).id
    }

    pub(super) async fn write_to(
        &self,
        session: SessionId,
        from: &ToolCaller,
        to: &str,
        text: &str,
    ) -> Result<SeatMessage, Error> {
        let to = Recipients::Seat(self.seat_named(session, to).await);
        let now = self.tick();
        let sent = self.store.send_seat_message(from, to, text, now).await;
        sent.map(|mut sent| sent.remove(0))
    }

    pub(super) async fn write_as_person(&self, session: SessionId, to: &str, text: &str) {
        let new = NewSeatMessage {
            from: Sender::Person("Ann".into()),
            to: Recipients::Seat(self.seat_named(session, to).await),
            content: text.into(),
            metadata: json!({}),
        };
        let now = self.tick();
        let sent = self
            .store
            .publish_seat_message(self.tenant, session, None, &new, now);
        assert_eq!(sent.await.unwrap().len(), 1);
    }

    pub(super) async fn state_of(&self, message: &SeatMessage) -> SeatMessageStatus {
        let found = self
            .store
            .seat_message(self.tenant, message.session, message.id);
        found.await.unwrap().status()
    }

    async fn change_message_turns(&self, session: SessionId, message_turns: u32) {
        let view = self.store.goal(self.scope(), session).await.unwrap();
        let mut limits = view.limits;
        limits.message_turns = message_turns;
        let change = GoalChange::Limits(limits);
        self.change(session, change).await.unwrap();
    }

    /// Returns the number of notices that messages to the planner start no turn.
    async fn block_notices(&self, session: SessionId) -> usize {
        let shown = self.transcript(session).await;
        let text = "Messages to `planner` start no turn.";
        shown.iter().filter(|line| line.contains(text)).count()
    }

    /// Creates a goal with one task, and begins the turn of its worker.
    async fn goal_with_worker(
        &self,
        db: &TestStore,
        team: TeamDefinition,
    ) -> (SessionId, ToolCaller) {
        let session = self.planned_goal(db, team, &[work("a", &[])]).await;
        (session, self.turn(db, session, "worker-1").await)
    }

    /// Returns the number of turns that a goal has used.
    async fn goal_turns(&self, session: SessionId) -> u32 {
        let view = self.store.goal(self.scope(), session).await;
        view.unwrap().turns
    }

    /// Returns the counts of messages, of message turns, and of those that two seats have taken alternately.
    async fn message_counts(&self, session: SessionId) -> (u32, u32, u32) {
        let view = self.store.goal(self.scope(), session).await.unwrap();
        (view.messages, view.message_turns, view.alternating_turns)
    }
}

fn limited(workers: u32, alternating: u32, messages: u32, message_turns: u32) -> TeamDefinition {
    let mut team = team(workers, None);
    team.limits.graph.alternating_turns = alternating;
    team.limits.graph.messages = messages;
    team.limits.graph.message_turns = message_turns;
    team
}

pub(crate) async fn talk_of_two_seats_ends_by_limit_of_goal(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, worker) = stage.goal_with_worker(db, limited(2, 3, 200, 40)).await;
    let before = stage.goal_turns(session).await;
    // 1. Three turns have no other cause than messages of two seats.
    let mut sender = worker;
    let mut last = None;
    for (to, text) in [
        ("worker-2", "One."),
        ("planner", "Two."),
        ("worker-2", "Three."),
    ] {
        let sent = stage.write_to(session, &sender, to, text).await.unwrap();
        assert_eq!(sent.status(), SeatMessageStatus::Undelivered);
        if let Some(ended) = last {
            stage.succeed(ended).await;
        }
        sender = stage.turn(db, session, to).await;
        last = Some(sender.run);
    }
    assert_eq!(stage.message_counts(session).await, (3, 3, 3));
    // 2. The fourth message is stored, and starts none.
    let fourth = stage.write_to(session, &sender, "planner", "Four.").await;
    let fourth = fourth.unwrap();
    assert_eq!(fourth.status(), SeatMessageStatus::Blocked);
    stage.succeed(sender.run).await;
    assert_eq!(stage.state_of(&fourth).await, SeatMessageStatus::Blocked);
    for seat in ["planner", "worker-2"] {
        assert_eq!(stage.open_run(db, session, seat).await, None, "{seat}");
    }
    assert_eq!(stage.message_counts(session).await, (4, 3, 3));
    let turns = stage.goal_turns(session).await;
    assert_eq!(turns, before + 3, "turns for messages count");
    let shown = stage.transcript(session).await;
    let says = format!(
        "Two seats have only written to each other in 3 turns, which is the limit `alternating_turns` of the goal `{session}`. \
         Messages to `planner` start no turn."
    );
    assert!(shown.iter().any(|line| line.contains(&says)), "{shown:#?}");
    // 3. The message of a person is not limited, and its turn brings the one that waits.
    stage.write_as_person(session, "planner", "Go on.").await;
    let planner = stage.turn(db, session, "planner").await;
    stage.succeed(planner.run).await;
    assert_eq!(stage.state_of(&fourth).await, SeatMessageStatus::Delivered);
    assert_eq!(stage.message_counts(session).await, (4, 3, 3));
}

pub(crate) async fn messages_of_goal_are_refused_at_limit(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, worker) = stage.goal_with_worker(db, limited(1, 6, 2, 40)).await;
    let send = async |text: &str| stage.write_to(session, &worker, "planner", text).await;
    let first = send("One.").await.unwrap();
    send("Two.").await.unwrap();
    let refused = send("Three.").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "the goal `{session}` takes no further message between its seats: its limit `messages` is 2"
        )
    );
    // The refused message left nothing behind, a repeated one is none, and those of people are not counted.
    let store = &stage.store;
    let stored = store.seat_messages(stage.tenant, session, None, 0, 10);
    assert_eq!(stored.await.unwrap().len(), 2);
    assert_eq!(send("One.").await.unwrap().id, first.id);
    stage.write_as_person(session, "planner", "Be brief.").await;
    assert_eq!(stage.message_counts(session).await, (2, 0, 0));
    // A higher limit lets the message through.
    let mut limits = limited(1, 6, 2, 40).limits.graph;
    limits.messages = 3;
    let change = GoalChange::Limits(limits);
    stage.change(session, change).await.unwrap();
    send("Three.").await.unwrap();
    assert!(matches!(
        send("Four.").await,
        Err(Error::MessageLimit { limit: 3, .. })
    ));
}

pub(crate) async fn message_beyond_turns_of_goal_waits_for_task(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, limited(1, 6, 200, 1), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    // 1. Two messages share the only turn for messages.
    for text in ["Which tone?", "Which length?"] {
        let sent = stage.write_to(session, &worker, "planner", text).await;
        assert_eq!(sent.unwrap().status(), SeatMessageStatus::Undelivered);
    }
    let planner = stage.turn(db, session, "planner").await;
    let answer = stage
        .write_to(session, &planner, "worker", "Use metres.")
        .await;
    let answer = answer.unwrap();
    assert_eq!(answer.status(), SeatMessageStatus::Blocked);
    stage.succeed(planner.run).await;
    assert_eq!(stage.message_counts(session).await, (3, 1, 1));
    let shown = stage.transcript(session).await;
    let says = "The seats of the goal have had, or will have, 1 turns for messages, which is the limit `message_turns` of the goal";
    assert!(shown.iter().any(|line| line.contains(says)), "{shown:#?}");
    // 2. The next turn of a task on the seat brings the message, and no other turn does.
    stage.report(&worker, &done("A")).await.unwrap();
    stage.succeed(worker.run).await;
    let next = stage.turn(db, session, "worker-1").await;
    let run = stage.run(next.run).await;
    assert_eq!(run.prompt_ref.unwrap().id, "goal.work");
    assert!(run.content.contains("Use metres."), "{}", run.content);
    stage.report(&next, &done("B")).await.unwrap();
    stage.succeed(next.run).await;
    assert_eq!(stage.state_of(&answer).await, SeatMessageStatus::Delivered);
    assert_eq!(stage.message_counts(session).await.1, 1);
}

pub(crate) async fn messages_are_in_prompt_of_each_task_turn(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let mut team = team(1, Some(Reviews::All));
    team.limits.graph.message_turns = 0;
    let (session, worker) = stage.goal_with_worker(db, team).await;
    let send = async |from: &ToolCaller, to: &str, text: &str| {
        let sent = stage.write_to(session, from, to, text).await.unwrap();
        assert_eq!(sent.status(), SeatMessageStatus::Blocked, "{text}");
        sent
    };
    let assert_brings = async |turn: &ToolCaller, prompt: &str, text: &str| {
        let run = stage.run(turn.run).await;
        assert_eq!(run.prompt_ref.unwrap().id, prompt);
        let content = run.content;
        assert!(content.starts_with("Messages for your seat"), "{content}");
        assert_eq!(content.matches(text).count(), 1, "{content}");
    };
    // 1. The review and the rework bring the messages that wait.
    let to_judge = send(&worker, "judge", "Mind the tone.").await;
    let to_planner = send(&worker, "planner", "Which colour?").await;
    stage.report(&worker, &done("Draft")).await.unwrap();
    stage.succeed(worker.run).await;
    let judge = stage.turn(db, session, "judge").await;
    assert_brings(&judge, "goal.review", "Mind the tone.").await;
    let to_worker = send(&judge, "worker", "See page 2.").await;
    let finding = sent_back("source", "There is no source.");
    stage.report(&judge, &finding).await.unwrap();
    stage.succeed(judge.run).await;
    let worker = stage.turn(db, session, "worker").await;
    assert_brings(&worker, "goal.rework", "See page 2.").await;
    stage.report(&worker, &done("Mended")).await.unwrap();
    stage.succeed(worker.run).await;
    // 2. So does the next plan. Each message is delivered with the success of its turn, and no later prompt has it.
    stage.change(session, GoalChange::Replan).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    assert_brings(&planner, "goal.replan", "Which colour?").await;
    let judge = stage.turn(db, session, "judge").await;
    let review = stage.run(judge.run).await.content;
    assert!(!review.contains("Messages for your seat"), "{review}");
    let states = [&to_judge, &to_worker, &to_planner].map(|sent| stage.state_of(sent));
    let delivered = SeatMessageStatus::Delivered;
    let expected = [delivered, delivered, SeatMessageStatus::Blocked];
    assert_eq!(join_all(states).await, expected);
}

pub(crate) async fn message_of_paused_goal_starts_no_turn(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &["a"])];
    let session = stage.planned_goal(db, limited(1, 6, 200, 40), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    stage.change(session, GoalChange::Pause).await.unwrap();
    let sent = stage
        .write_to(session, &worker, "planner", "Which tone?")
        .await;
    let sent = sent.unwrap();
    assert_eq!(sent.status(), SeatMessageStatus::Blocked);
    stage.succeed(worker.run).await;
    assert_eq!(stage.open_run(db, session, "planner").await, None);
    assert_eq!(stage.message_counts(session).await, (1, 0, 0));
    let shown = stage.transcript(session).await;
    let says = format!("The goal `{session}` starts no turn now.");
    assert!(shown.iter().any(|line| line.contains(&says)), "{shown:#?}");
}

pub(crate) async fn message_turn_counts_when_it_begins(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (session, worker) = stage.goal_with_worker(db, limited(3, 6, 200, 2)).await;
    let send = async |to: &str, text: &str| {
        let sent = stage.write_to(session, &worker, to, text).await.unwrap();
        (sent.status(), sent)
    };
    let before = stage.goal_turns(session).await;
    // 1. Turns that are requested count towards the limit together, and as turns only when they begin.
    for (to, text) in [("planner", "One."), ("worker-2", "Two.")] {
        assert_eq!(send(to, text).await.0, SeatMessageStatus::Undelivered);
    }
    let (state, third) = send("worker-3", "Three.").await;
    assert_eq!(state, SeatMessageStatus::Blocked);
    assert_eq!(stage.message_counts(session).await, (3, 0, 0));
    let view = stage.store.goal(stage.scope(), session).await.unwrap();
    assert_eq!((view.turns, view.counted_turns), (before, before + 2));
    let planner = stage.turn(db, session, "planner").await;
    assert_eq!(stage.message_counts(session).await, (3, 1, 1));
    // 2. A turn that is cancelled before it begins counts nowhere.
    let run = stage.open_run(db, session, "worker-2").await.unwrap();
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), run, "enough", stage.now());
    assert_eq!(cancelled.await.unwrap(), RunStatus::Cancelled);
    let (state, fourth) = send("worker-3", "Four.").await;
    assert_eq!(state, SeatMessageStatus::Undelivered);
    assert_eq!(stage.message_counts(session).await, (4, 1, 1));
    // 3. Neither does one whose messages were acknowledged.
    let (state, fifth) = send("worker-2", "Five.").await;
    assert_eq!(state, SeatMessageStatus::Blocked);
    let run = stage.open_run(db, session, "worker-3").await.unwrap();
    for message in [third, fourth] {
        let (store, now) = (&stage.store, stage.tick());
        let read = store.acknowledge_seat_message(stage.tenant, message.id, message.to, now);
        read.await.unwrap();
    }
    let claimed = stage
        .store
        .claim(&stage.worker, stage.instance, 1, Some(run), stage.now());
    assert_eq!(claimed.await.unwrap().len(), 1);
    let reply = stage.begin(run).await;
    assert!(matches!(reply, StartReply::Cancelled), "{reply:?}");
    let (state, sixth) = send("worker-2", "Six.").await;
    assert_eq!(state, SeatMessageStatus::Undelivered);
    assert_eq!(stage.message_counts(session).await, (6, 1, 1));
    stage.succeed(planner.run).await;
    // 4. A second attempt is no second turn.
    let turn = stage.turn(db, session, "worker-2").await;
    assert_eq!(stage.message_counts(session).await, (6, 2, 2));
    stage.fail(turn.run, FailureKind::Requeued).await;
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let retry = stage.attempts(turn.run).await[1].id;
    stage.start(retry).await;
    stage.succeed(retry).await;
    assert_eq!(stage.message_counts(session).await, (6, 2, 2));
    assert_eq!(stage.goal_turns(session).await, before + 2);
    for message in [fifth, sixth] {
        let state = stage.state_of(&message).await;
        assert_eq!(state, SeatMessageStatus::Delivered);
    }
}

pub(crate) async fn message_behind_full_turn_waits_at_limit_with_notice(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = [work("a", &[]), work("b", &[])];
    let session = stage.planned_goal(db, limited(2, 6, 200, 1), &plan).await;
    let first = stage.turn(db, session, "worker-1").await;
    let second = stage.turn(db, session, "worker-2").await;
    // 1. One turn takes as many messages as it can carry, and the limit allows no other.
    for number in 0..CARRIED_PER_TURN {
        let text = format!("Message {number}.");
        let sent = stage.write_to(session, &first, "planner", &text).await;
        sent.unwrap();
    }
    let last = stage.write_to(session, &second, "planner", "Last.").await;
    let last = last.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    assert_eq!(
        (
            stage.state_of(&last).await,
            stage.block_notices(session).await
        ),
        (SeatMessageStatus::Undelivered, 0)
    );
    stage.succeed(planner.run).await;
    assert_eq!(
        (
            stage.state_of(&last).await,
            stage.block_notices(session).await
        ),
        (SeatMessageStatus::Blocked, 1)
    );
    assert_eq!(stage.open_run(db, session, "planner").await, None);
    // 2. A higher limit starts the turn of the message that waits.
    stage.change_message_turns(session, 2).await;
    let planner = stage.turn(db, session, "planner").await;
    stage.succeed(planner.run).await;
    assert_eq!(stage.state_of(&last).await, SeatMessageStatus::Delivered);
    assert_eq!(stage.message_counts(session).await, (21, 2, 1));
    assert_eq!(stage.block_notices(session).await, 1);
}

pub(crate) async fn messages_that_wait_start_turn_when_limit_is_higher_or_goal_goes_on(
    db: &TestStore,
) {
    let stage = Stage::setup(db).await;
    let (session, worker) = stage.goal_with_worker(db, limited(1, 6, 200, 1)).await;
    let send = async |text: &str| {
        let sent = stage.write_to(session, &worker, "planner", text).await;
        sent.unwrap()
    };
    // 1. The message of a failed turn waits with the next one, which the limit delays.
    let first = send("Which tone?").await;
    let planner = stage.turn(db, session, "planner").await;
    stage.fail(planner.run, FailureKind::AgentError).await;
    assert_eq!(stage.state_of(&first).await, SeatMessageStatus::Undelivered);
    let second = send("Which length?").await;
    for message in [&first, &second] {
        let state = stage.state_of(message).await;
        assert_eq!(state, SeatMessageStatus::Blocked, "{message:?}");
    }
    assert_eq!(stage.block_notices(session).await, 1);
    // 2. A change that does not help starts no turn, and a higher limit does.
    stage.change_message_turns(session, 1).await;
    assert_eq!(stage.open_run(db, session, "planner").await, None);
    assert_eq!(stage.block_notices(session).await, 1);
    stage.change_message_turns(session, 3).await;
    let planner = stage.turn(db, session, "planner").await;
    stage.succeed(planner.run).await;
    for message in [&first, &second] {
        let state = stage.state_of(message).await;
        assert_eq!(state, SeatMessageStatus::Delivered, "{message:?}");
    }
    // 3. So does the end of a pause.
    stage.change(session, GoalChange::Pause).await.unwrap();
    let third = send("Which form?").await;
    assert_eq!(third.status(), SeatMessageStatus::Blocked);
    stage.change(session, GoalChange::Resume).await.unwrap();
    let planner = stage.turn(db, session, "planner").await;
    stage.succeed(planner.run).await;
    assert_eq!(stage.state_of(&third).await, SeatMessageStatus::Delivered);
    assert_eq!(stage.message_counts(session).await, (3, 3, 1));
}

pub(crate) async fn messages_that_wait_start_turn_when_stuck_goal_goes_on(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.stuck_goal(db).await;
    stage
        .write_as_person(session, "worker", "Ask the planner.")
        .await;
    let worker = stage.turn(db, session, "worker").await;
    let sent = stage.write_to(session, &worker, "planner", "Which tone?");
    let sent = sent.await.unwrap();
    stage.succeed(worker.run).await;
    assert_eq!(stage.state_of(&sent).await, SeatMessageStatus::Blocked);
    assert_eq!(stage.open_run(db, session, "planner").await, None);
    let retry = GoalChange::Retry("a".into());
    let state = stage.change(session, retry).await.unwrap();
    assert_eq!(state, GoalState::Active);
    let planner = stage.turn(db, session, "planner").await;
    stage.succeed(planner.run).await;
    assert_eq!(stage.state_of(&sent).await, SeatMessageStatus::Delivered);
}

pub(crate) async fn message_turns_without_locks_stay_within_limit(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let plan = ["a", "b", "c"].map(|key| work(key, &[]));
    let mut team = limited(3, 6, 200, 1);
    team.limits.graph.parallel = 4;
    let session = stage.planned_goal(db, team, &plan).await;
    let mut senders = Vec::new();
    for (seat, to) in [
        ("worker-1", "planner"),
        ("worker-2", "worker-1"),
        ("worker-3", "worker-2"),
    ] {
        let caller = stage.turn(db, session, seat).await;
        let to = Recipients::Seat(stage.seat_named(session, to).await);
        senders.push((caller, to));
    }
    let stores = without_locks(db).await;
    let sends = senders.iter().zip(stores.iter().cycle());
    let sends = sends.map(|((caller, to), store)| {
        let now = stage.now();
        async move { patiently!(store.send_seat_message(caller, *to, "Go on.", now)).remove(0) }
    });
    let sent = join_all(sends).await;
    let mut states = Vec::new();
    for message in &sent {
        states.push(stage.state_of(message).await);
    }
    let waiting = states
        .iter()
        .filter(|it| **it == SeatMessageStatus::Blocked);
    assert_eq!(waiting.count(), 2, "{states:?}");
    assert_eq!(stage.message_counts(session).await, (3, 0, 0));
}
