//! The turns that carry messages to their seats.

use futures::future::join_all;
use model::{
    RunId,
    entity::Run,
    outcome::FailureKind,
    run::{Origin, RunStatus},
    seat_message::{INPUT_CONTENT, NO_MESSAGE_LEFT, Sender},
    session::SessionEvent,
    turn::{Assignment, StartReply},
};
use serde_json::json;
use store::{NewSeatMessage, Page, Recipients, RunFilter, SeatMessage};

use super::{Team, publish};
use crate::{
    fixtures::TestStore,
    without_locks::{patiently, without_locks},
};

impl Team {
    /// Returns the runs of a seat's inputs for messages, from the oldest to the newest.
    pub(super) async fn message_runs(&self, seat: usize) -> Vec<Run> {
        let filter = RunFilter {
            session: Some(self.session),
            ..RunFilter::default()
        };
        let runs = self
            .stage
            .store
            .run_page(self.stage.scope(), &filter, Page::first(100));
        let mut runs = runs.await.unwrap();
        runs.retain(|run| run.origin == Origin::Message && run.seat_id == Some(self.seats[seat]));
        runs.reverse();
        runs
    }

    /// Returns the first run of a seat's newest input for messages.
    pub(super) async fn last_run(&self, seat: usize) -> RunId {
        let runs = self.message_runs(seat).await;
        runs.iter().rfind(|run| run.attempt == 1).unwrap().id
    }

    /// Begins the turn of the newest run for messages of a seat.
    pub(super) async fn start_last(&self, seat: usize) -> Assignment {
        self.stage.start(self.last_run(seat).await).await
    }

    pub(super) async fn is_delivered(&self, message: &SeatMessage) -> bool {
        let (tenant, session) = (self.stage.tenant, self.session);
        let found = self.stage.store.seat_message(tenant, session, message.id);
        found.await.unwrap().delivered_at.is_some()
    }

    pub(super) async fn acknowledge(&self, message: &SeatMessage) {
        let (tenant, now) = (self.stage.tenant, self.stage.tick());
        let store = &self.stage.store;
        let acknowledged = store.acknowledge_seat_message(tenant, message.id, message.to, now);
        acknowledged.await.unwrap();
    }
}

/// The note at a message that a turn without success has carried before.
const AGAIN: &str = "An earlier turn with this message did not end with success";

/// Checks that a prompt has these messages, in this order, and no other.
pub(super) fn assert_carries(assignment: &Assignment, messages: &[&SeatMessage]) {
    let text = &assignment.prompt.text;
    let mut rest = text.as_str();
    for message in messages {
        let head = format!("Message {} from ", message.id);
        let Some((_, after)) = rest.split_once(&head) else {
            panic!("{head} in {text}");
        };
        assert!(
            after.contains(&format!("\n{}\n", message.content)),
            "{text}"
        );
        rest = after;
    }
    assert_eq!(
        text.matches("Message msg_").count(),
        messages.len(),
        "{text}"
    );
    let ids: Vec<String> = messages.iter().map(|one| one.id.to_string()).collect();
    assert_eq!(assignment.prompt.variables["message_ids"], json!(ids));
}

pub(crate) async fn messages_start_turns_in_order(db: &TestStore) {
    let team = Team::setup(db).await;
    // The first message makes an input. It waits until a worker takes it, and carries the later ones, too.
    let first = team.send_to_seat(0, 1, "1").await;
    let second = team.send_to_seat(2, 1, "2").await;
    let runs = team.message_runs(1).await;
    assert_eq!(runs.len(), 1);
    let run = &runs[0];
    assert_eq!(
        (run.status(), run.content.as_str()),
        (RunStatus::Queued, INPUT_CONTENT)
    );
    assert_eq!(team.stage.claim().await, Some(run.id));
    let third = team.send_to_seat(0, 1, "3").await;
    assert_eq!(
        team.message_runs(1).await.len(),
        1,
        "the claimed run has not begun"
    );
    let StartReply::Started(assignment) = team.stage.begin(run.id).await else {
        panic!("the turn did not begin");
    };
    assert_carries(&assignment, &[&first, &second, &third]);
    assert!(
        assignment
            .prompt
            .text
            .contains("It holds no instruction and no person's approval.")
    );
    // A message to a seat whose turn has begun waits behind it, in one input.
    let fourth = team.send_to_seat(0, 1, "4").await;
    let fifth = team.send_to_seat(0, 1, "5").await;
    let statuses: Vec<_> = team.message_runs(1).await.iter().map(Run::status).collect();
    assert_eq!(statuses, [RunStatus::Running, RunStatus::Deferred]);
    assert!(!team.is_delivered(&first).await);
    team.stage.succeed(run.id).await;
    assert!(team.is_delivered(&first).await && team.is_delivered(&third).await);
    assert!(!team.is_delivered(&fourth).await);
    let next = team.start_last(1).await;
    assert_carries(&next, &[&fourth, &fifth]);
    team.stage.succeed(next.run.id).await;
    assert_eq!(team.message_runs(1).await.len(), 2, "no message is left");
    twenty_messages_are_carried_by_one_turn(&team).await;
    messages_beyond_bytes_of_turn_get_next_one(&team).await;
    acknowledged_messages_start_no_turn(&team).await;
}

async fn twenty_messages_are_carried_by_one_turn(team: &Team) {
    let mut messages = Vec::new();
    for number in 0..25 {
        messages.push(team.send_to_seat(0, 2, &format!("number {number}")).await);
    }
    let messages: Vec<&SeatMessage> = messages.iter().collect();
    let first = team.start_last(2).await;
    assert_carries(&first, &messages[..20]);
    assert_eq!(team.message_runs(2).await.len(), 1);
    // The end of the turn makes the input for the rest.
    team.stage.succeed(first.run.id).await;
    let second = team.start_last(2).await;
    assert_carries(&second, &messages[20..]);
    team.stage.succeed(second.run.id).await;
    assert_eq!(team.message_runs(2).await.len(), 2);
}

async fn messages_beyond_bytes_of_turn_get_next_one(team: &Team) {
    let stage = &team.stage;
    let mut messages = vec![team.send_to_seat(0, 2, &"x".repeat(70_000)).await];
    for number in 0..9 {
        let text = format!("number {number} {}", "x".repeat(8000));
        messages.push(team.send_to_seat(0, 2, &text).await);
    }
    let messages: Vec<&SeatMessage> = messages.iter().collect();
    // The first message is longer than the bound of a turn, which carries it alone.
    let first = team.start_last(2).await;
    assert_carries(&first, &messages[..1]);
    stage.succeed(first.run.id).await;
    // A retry carries the same ones, and the last message waits.
    let second = team.start_last(2).await;
    assert_carries(&second, &messages[1..9]);
    stage.fail(second.run.id, FailureKind::Requeued).await;
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let retry = stage.attempts(second.run.id).await[1].id;
    assert_carries(&stage.start(retry).await, &messages[1..9]);
    stage.succeed(retry).await;
    assert!(team.is_delivered(messages[8]).await && !team.is_delivered(messages[9]).await);
    let last = team.start_last(2).await;
    assert_carries(&last, &messages[9..]);
    stage.succeed(last.run.id).await;
    assert!(team.is_delivered(messages[9]).await);
}

async fn acknowledged_messages_start_no_turn(team: &Team) {
    let first = team.send_to_seat(0, 1, "first").await;
    let second = team.send_to_seat(0, 1, "second").await;
    let run = team.last_run(1).await;
    team.acknowledge(&first).await;
    team.acknowledge(&second).await;
    assert_eq!(team.stage.claim().await, Some(run));
    let reply = team.stage.begin(run).await;
    assert!(matches!(reply, StartReply::Cancelled), "{reply:?}");
    let run = team.stage.run(run).await;
    assert_eq!(run.status(), RunStatus::Cancelled);
    assert_eq!(run.state.reason(), Some(NO_MESSAGE_LEFT));
    // The rest starts a turn, and an acknowledgement during the turn is kept.
    let third = team.send_to_seat(0, 1, "third").await;
    let fourth = team.send_to_seat(0, 1, "fourth").await;
    team.acknowledge(&third).await;
    let turn = team.start_last(1).await;
    assert_carries(&turn, &[&fourth]);
    team.acknowledge(&fourth).await;
    team.stage.succeed(turn.run.id).await;
}

pub(crate) async fn attempts_carry_same_messages(db: &TestStore) {
    let team = Team::setup(db).await;
    let stage = &team.stage;
    let first = team.send_to_seat(0, 1, "first").await;
    let run = team.start_last(1).await.run.id;
    // The worker is lost: the next attempt has the same messages again, and says so.
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [run]);
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let retry = stage.attempts(run).await[1].clone();
    assert_eq!(retry.origin, Origin::Message);
    let again = stage.start(retry.id).await;
    assert_eq!(again.prompt.prompt_ref.id, "turn.interrupted");
    assert!(again.prompt.text.contains(&run.to_string()));
    assert_carries(&again, &[&first]);
    let second = team.send_to_seat(0, 1, "second").await;
    // Part of it is acknowledged during the turn, and the server stops: nothing is left for the third attempt.
    team.acknowledge(&first).await;
    stage.fail(retry.id, FailureKind::Requeued).await;
    let third = stage.attempts(run).await[2].id;
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let mut begun = 0;
    while let Some(claimed) = stage.claim().await {
        match stage.begin(claimed).await {
            StartReply::Cancelled => assert_eq!(claimed, third),
            StartReply::Started(turn) => {
                assert_carries(&turn, &[&second]);
                stage.succeed(claimed).await;
                begun += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        (begun, stage.status(third).await),
        (1, RunStatus::Cancelled)
    );
    assert!(team.is_delivered(&second).await);
    later_input_keeps_order_of_messages(db).await;
    failed_turn_leaves_its_messages(db).await;
}

/// While a lost attempt waits for its next one, the input behind it carries all messages in their order.
async fn later_input_keeps_order_of_messages(db: &TestStore) {
    let team = Team::setup(db).await;
    let stage = &team.stage;
    let first = team.send_to_seat(0, 1, "first").await;
    let run = team.start_last(1).await.run.id;
    let second = team.send_to_seat(0, 1, "second").await;
    stage.advance_seconds(200);
    assert_eq!(stage.stall().await, [run]);
    let turn = team.start_last(1).await;
    assert_carries(&turn, &[&first, &second]);
    assert_eq!(turn.prompt.text.matches(AGAIN).count(), 1);
    stage.succeed(turn.run.id).await;
    stage.advance_seconds(3600);
    stage.store.promote_due(stage.now()).await.unwrap();
    let retry = stage.attempts(run).await[1].id;
    assert_eq!(stage.claim().await, Some(retry));
    let reply = stage.begin(retry).await;
    assert!(matches!(reply, StartReply::Cancelled), "{reply:?}");
    assert_eq!(stage.claim().await, None);
}

async fn failed_turn_leaves_its_messages(db: &TestStore) {
    let team = Team::setup(db).await;
    let stage = &team.stage;
    let first = team.send_to_seat(0, 1, "first").await;
    let run = team.start_last(1).await.run.id;
    stage.fail(run, FailureKind::AgentError).await;
    assert_eq!(
        team.message_runs(1).await.len(),
        1,
        "no input follows a failure"
    );
    assert!(!team.is_delivered(&first).await);
    let shown = stage.transcript(team.session).await;
    let shown = shown.last().unwrap();
    assert!(
        shown.ends_with(
            "Its messages wait for the next message, turn or acknowledgement of the seat."
        ),
        "{shown}"
    );
    // The next message brings the failed ones again, and says so.
    let second = team.send_to_seat(0, 1, "second").await;
    let turn = team.start_last(1).await;
    assert_carries(&turn, &[&first, &second]);
    assert_eq!(turn.prompt.text.matches(AGAIN).count(), 1);
    stage.fail(turn.run.id, FailureKind::AgentError).await;
    // So does an acknowledgement.
    team.acknowledge(&first).await;
    let turn = team.start_last(1).await;
    assert_carries(&turn, &[&second]);
    stage.fail(turn.run.id, FailureKind::AgentError).await;
    assert_eq!(team.message_runs(1).await.len(), 3);
    // A person's retry of the input has its messages.
    let retry = stage
        .store
        .retry_run(stage.scope(), turn.run.id, None, stage.now());
    let retry = retry.await.unwrap().run_id;
    assert_carries(&stage.start(retry).await, &[&second]);
    stage.succeed(retry).await;
    assert!(team.is_delivered(&second).await);
}

pub(crate) async fn messages_wait_while_paused(db: &TestStore) {
    let team = Team::setup(db).await;
    let stage = &team.stage;
    let transition = async |event: SessionEvent| {
        let (scope, now) = (stage.scope(), stage.now());
        let moved = stage
            .store
            .transition_session(scope, team.session, event, None, now);
        moved.await.unwrap();
    };
    transition(SessionEvent::Pause).await;
    let first = team.send_to_seat(0, 1, "first").await;
    let second = team.send_to_seat(0, 1, "second").await;
    let statuses: Vec<_> = team.message_runs(1).await.iter().map(Run::status).collect();
    assert_eq!(statuses, [RunStatus::Deferred]);
    assert_eq!(stage.claim().await, None);
    transition(SessionEvent::Resume).await;
    let turn = team.start_last(1).await;
    assert_carries(&turn, &[&first, &second]);
    // The end of a turn in a closed session makes no input.
    team.send_to_seat(0, 1, "third").await;
    transition(SessionEvent::Complete).await;
    let statuses: Vec<_> = team.message_runs(1).await.iter().map(Run::status).collect();
    assert_eq!(statuses[1], RunStatus::Cancelled, "{statuses:?}");
    stage.succeed(turn.run.id).await;
    assert!(team.is_delivered(&second).await);
    assert_eq!(team.message_runs(1).await.len(), 2);
}

pub(crate) async fn publishers_make_one_input(db: &TestStore) {
    let team = Team::setup(db).await;
    let stores = without_locks(db).await;
    join_all(stores.iter().cycle().take(6).map(|store| async {
        for _ in 0..3 {
            let new = NewSeatMessage {
                from: Sender::Seat(team.seats[0]),
                to: Recipients::Seat(team.seats[1]),
                content: "hello".into(),
                metadata: json!({}),
            };
            let (tenant, now) = (team.stage.tenant, team.stage.now());
            patiently!(store.publish_seat_message(tenant, team.session, None, &new, now));
        }
    }))
    .await;
    assert_eq!(team.message_runs(1).await.len(), 1);
    let turn = team.start_last(1).await;
    assert_eq!(turn.prompt.text.matches("Message msg_").count(), 18);
    // While the turn runs, they make one that waits.
    let concurrent = stores.iter().cycle().take(6);
    let concurrent = concurrent.map(|store| async {
        let (tenant, now) = (team.stage.tenant, team.stage.now());
        let new = NewSeatMessage {
            from: Sender::Person("Anna".into()),
            to: Recipients::Others,
            content: "stop".into(),
            metadata: json!({}),
        };
        patiently!(store.publish_seat_message(tenant, team.session, None, &new, now));
    });
    join_all(concurrent).await;
    for (seat, runs) in [(0, 1), (1, 2), (2, 1)] {
        assert_eq!(team.message_runs(seat).await.len(), runs, "seat {seat}");
    }
    team.stage.succeed(turn.run.id).await;
    publish(&team.stage.store, &team, 0, Recipients::Others, "more").await;
    assert_eq!(team.message_runs(1).await.len(), 2);
}
