//! Messages between the seats of a goal, and the limits that its team sets for them.

use model::{
    SeatId, SessionId,
    seat_message::{SeatMessageStatus, Sender},
    team::TeamDefinition,
};
use serde_json::json;
use store::{Error, GoalChange, NewSeatMessage, Recipients, SeatMessage, ToolCaller};

use super::stage::{done, team, work};
use crate::{fixtures::TestStore, stage::Stage};

impl Stage {
    async fn seat_named(&self, session: SessionId, name: &str) -> SeatId {
        let seats = self.store.seat_names(self.tenant, session).await.unwrap();
        let found = seats.into_iter().find(|seat| seat.name == name);
        found.unwrap_or_else(|| panic!("no seat {name}")).id
    }

    async fn write_to(
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

    async fn write_as_person(&self, session: SessionId, to: &str, text: &str) {
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

    async fn state_of(&self, message: &SeatMessage) -> SeatMessageStatus {
        let found = self
            .store
            .seat_message(self.tenant, message.session, message.id);
        found.await.unwrap().status()
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
    let plan = [work("a", &[])];
    let session = stage.planned_goal(db, limited(2, 3, 200, 40), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
    let turns = async || {
        let view = stage.store.goal(stage.scope(), session).await.unwrap();
        view.turns
    };
    let before = turns().await;
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
    assert_eq!(turns().await, before + 3, "turns for messages count");
    let shown = stage.transcript(session).await;
    let says = format!(
        "Two seats have only written to each other in 3 turns, which is the limit `alternating_turns` of the goal `{session}`. \
         This message to `planner` starts no turn."
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
    let plan = [work("a", &[])];
    let session = stage.planned_goal(db, limited(1, 6, 2, 40), &plan).await;
    let worker = stage.turn(db, session, "worker-1").await;
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
    assert_eq!(stage.message_counts(session).await, (2, 1, 1));
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
    let says = "The seats of the goal have had 1 turns for messages, which is the limit `message_turns` of the goal";
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
