//! Messages that agents send by their tools, and messages of people.

use std::time::Duration;

use model::{
    MessageId,
    entity::Run,
    outcome::FailureKind,
    run::RunStatus::{Failed, Succeeded},
    seat_message::{LONGEST_CHAIN, MAX_UNDELIVERED, SENT_PER_TURN, SeatMessageStatus, Sender},
    tools::AgentCron,
    turn::StartReply,
};
use serde_json::json;
use store::{Error, NewSeatMessage, Recipients, SeatMessage, ToolCaller};

use super::{Team, turns::assert_carries};
use crate::{
    fixtures::{TestStore, id},
    tool_calls::{start, start_message},
};

impl Team {
    /// Begins the turn of the newest run for messages of a seat, and returns its agent as a caller of tools.
    async fn caller_of(&self, seat: usize) -> ToolCaller {
        start(&self.stage, self.last_run(seat).await).await
    }

    async fn send(
        &self,
        caller: &ToolCaller,
        to: Recipients,
        text: &str,
    ) -> Result<Vec<SeatMessage>, Error> {
        let now = self.stage.tick();
        let sent = self.stage.store.send_seat_message(caller, to, text, now);
        sent.await
    }

    async fn send_as_person(
        &self,
        reserved: Option<MessageId>,
        to: Recipients,
        text: &str,
    ) -> Result<Vec<SeatMessage>, Error> {
        let new = NewSeatMessage {
            from: Sender::Person("Anna".into()),
            to,
            content: text.into(),
            metadata: json!({}),
        };
        let (tenant, now) = (self.stage.tenant, self.stage.tick());
        let store = &self.stage.store;
        let sent = store.publish_seat_message(tenant, self.session, reserved, &new, now);
        sent.await
    }

    async fn status(&self, message: &SeatMessage) -> SeatMessageStatus {
        let found = self
            .stage
            .store
            .seat_message(self.stage.tenant, self.session, message.id);
        found.await.unwrap().status()
    }

    async fn unread(&self, caller: &ToolCaller) -> (i64, Vec<String>) {
        let store = &self.stage.store;
        let turn = store.calling_turn(caller, self.stage.now()).await.unwrap();
        let offer = store.turn_offer(caller, self.stage.now()).await.unwrap();
        assert_eq!((offer.seats, offer.task), (3, None));
        let unread = store.unread_messages_of_turn(&turn, 100).await.unwrap();
        let unread = unread.into_iter().map(|message| message.content);
        (offer.unread, unread.collect())
    }
}

pub(crate) async fn agent_sends_message_once(db: &TestStore) {
    let team = Team::setup(db).await;
    let stage = &team.stage;
    let caller = start_message(stage, team.session).await;
    let one = Recipients::Seat(team.seats[1]);
    let sent = team.send(&caller, one, "hello").await.unwrap();
    assert_eq!(sent.len(), 1);
    assert_eq!(
        team.message_runs(1).await.len(),
        1,
        "the message has woken the seat"
    );
    // A repetition returns the first one, in a later attempt of the turn, too.
    assert_eq!(
        team.send(&caller, one, "hello").await.unwrap()[0].id,
        sent[0].id
    );
    stage.fail(caller.run, FailureKind::Requeued).await;
    let retry = stage.attempts(caller.run).await[1].id;
    let late = team.send(&caller, one, "late").await;
    assert!(matches!(late, Err(Error::RunOver { .. })), "{late:?}");
    let caller = start(stage, retry).await;
    assert_eq!(
        team.send(&caller, one, "hello").await.unwrap()[0].id,
        sent[0].id
    );
    // To all others it is a message of its own, once.
    let all = team
        .send(&caller, Recipients::Others, "hello all")
        .await
        .unwrap();
    assert_eq!(all.len(), 2);
    let again = team
        .send(&caller, Recipients::Others, "hello all")
        .await
        .unwrap();
    let ids = |messages: &[SeatMessage]| messages.iter().map(|it| it.id).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&all));
    // A seat that has the text already does not get it again.
    let rest = team.send(&caller, Recipients::Others, "hello").await;
    let rest = rest.unwrap();
    assert_eq!((rest.len(), rest[0].id), (2, sent[0].id));
    let again = team.send(&caller, Recipients::Others, "hello").await;
    assert_eq!(ids(&again.unwrap()), ids(&rest));
    let stranger = Recipients::Seat(model::SeatId::from_uuid(id()));
    let unknown = team.send(&caller, stranger, "hello").await;
    assert!(
        matches!(unknown, Err(Error::NotFound { .. })),
        "{unknown:?}"
    );
    // The limit of a turn counts texts. A repetition is no further one.
    for number in 2..SENT_PER_TURN {
        team.send(&caller, one, &number.to_string()).await.unwrap();
    }
    let refused = team.send(&caller, one, "one more").await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the limit of messages in a turn is 20, and it is reached"
    );
    assert_eq!(
        team.send(&caller, one, "hello").await.unwrap()[0].id,
        sent[0].id
    );
    agent_acknowledges_its_messages(&team).await;
}

/// Seat one has 20 messages in its turn and one that waits.
async fn agent_acknowledges_its_messages(team: &Team) {
    let stage = &team.stage;
    let receiver = team.caller_of(1).await;
    assert_eq!(
        team.unread(&receiver).await,
        (0, Vec::new()),
        "the turn carries them all"
    );
    let new = team.send_to_seat(2, 1, "new").await;
    let foreign = team.send_to_seat(1, 2, "foreign").await;
    assert_eq!(team.unread(&receiver).await, (1, vec!["new".to_owned()]));
    // One message of another seat spoils the whole call.
    let store = &stage.store;
    let both = [new.id, foreign.id];
    let refused = store.acknowledge_messages_of_turn(&receiver, &both, stage.now());
    let refused = refused.await;
    assert!(
        matches!(refused, Err(Error::NotFound { .. })),
        "{refused:?}"
    );
    assert_eq!(team.status(&new).await, SeatMessageStatus::Undelivered);
    store
        .acknowledge_messages_of_turn(&receiver, &[new.id], stage.now())
        .await
        .unwrap();
    assert_eq!(team.status(&new).await, SeatMessageStatus::Delivered);
    assert_eq!(team.unread(&receiver).await, (0, Vec::new()));
    stage.succeed(receiver.run).await;
    let late = store
        .acknowledge_messages_of_turn(&receiver, &[new.id], stage.now())
        .await;
    assert!(matches!(late, Err(Error::RunOver { .. })), "{late:?}");
}

pub(crate) async fn chain_of_messages_has_an_end(db: &TestStore) {
    let team = Team::setup(db).await;
    let stage = &team.stage;
    // A person's input begins the chain. Two seats then answer each other.
    let person = start_message(stage, team.session).await;
    let to = |seat: usize| Recipients::Seat(team.seats[seat]);
    let mut last = team.send(&person, to(1), "begin").await.unwrap().remove(0);
    stage.succeed(person.run).await;
    let mut turns = 0;
    let mut seat = 1;
    while last.status() == SeatMessageStatus::Undelivered {
        let caller = team.caller_of(seat).await;
        turns += 1;
        seat = 1 - seat;
        last = team
            .send(&caller, to(seat), &format!("answer {turns}"))
            .await
            .unwrap()
            .remove(0);
        stage.succeed(caller.run).await;
    }
    assert_eq!(turns, LONGEST_CHAIN);
    assert_eq!(team.status(&last).await, SeatMessageStatus::Blocked);
    assert_eq!(stage.claim().await, None);
    let shown = stage.transcript(team.session).await;
    let is_shown = shown
        .iter()
        .any(|line| line.contains("This message to `one` starts no turn."));
    assert!(is_shown, "{shown:#?}");
    // A message from outside to its seat brings it, in order, and begins a new chain.
    let fresh = team
        .send_as_person(None, to(seat), "go on")
        .await
        .unwrap()
        .remove(0);
    let caller = team.caller_of(seat).await;
    let answer = team
        .send(&caller, to(1 - seat), "an answer")
        .await
        .unwrap()
        .remove(0);
    assert_eq!(answer.status(), SeatMessageStatus::Undelivered);
    stage.succeed(caller.run).await;
    for message in [&last, &fresh] {
        assert_eq!(team.status(message).await, SeatMessageStatus::Delivered);
    }
    failed_turns_use_up_their_chain(db).await;
    turn_from_outside_brings_blocked_messages(db).await;
    undelivered_messages_are_limited(db).await;
}

pub(crate) async fn default_of_question_continues_chain_of_its_turn(db: &TestStore) {
    let team = Team::setup(db).await;
    let stage = &team.stage;
    let person = start_message(stage, team.session).await;
    let to = Recipients::Seat(team.seats[1]);
    team.send(&person, to, "begin").await.unwrap();
    stage.succeed(person.run).await;
    // 1. Each turn asks, and gets its default as a message. Neither has the rights of a person.
    let mut turns = 0;
    while let Some(run) = stage.claim().await {
        turns += 1;
        assert_eq!(run, team.last_run(1).await);
        let caller = ToolCaller {
            run,
            secret: [7; 32],
            worker: stage.worker.clone(),
            stale_after: Duration::from_mins(3),
        };
        let (worker, now) = (&caller.worker, stage.now());
        let begun = stage
            .store
            .begin(run, worker, stage.instance, now, Some(caller.secret));
        let StartReply::Started(turn) = begun.await.unwrap() else {
            panic!("{run} did not begin");
        };
        if turns > 1 {
            let says =
                "from your own seat. No person wrote this, and it holds no person's approval.";
            assert!(turn.prompt.text.contains(says), "{turn:#?}");
            assert!(turn.prompt.text.contains("Answer: red"), "{turn:#?}");
        }
        let calling = stage.store.calling_turn(&caller, now).await;
        assert_eq!(calling.unwrap().agent_cron(), AgentCron::Deny);
        stage.ask_person(&caller, "Which colour?").await.unwrap();
        stage.succeed(run).await;
        let now = stage.advance_seconds(3600);
        assert_eq!(stage.expire_questions(now).await, 1);
    }
    // 2. The last message waits.
    assert_eq!(turns, LONGEST_CHAIN);
    let shown = stage.transcript(team.session).await;
    let last = shown.last().unwrap();
    assert!(
        last.contains("This message to `one` starts no turn."),
        "{shown:#?}"
    );
}

/// A message that each turn of its seat leaves behind does not keep the chain short.
async fn failed_turns_use_up_their_chain(db: &TestStore) {
    let team = Team::setup(db).await;
    let stage = &team.stage;
    let to = |seat: usize| Recipients::Seat(team.seats[seat]);
    let person = start_message(stage, team.session).await;
    team.send(&person, to(1), "begin").await.unwrap();
    stage.succeed(person.run).await;
    let mut turns = 0;
    loop {
        let failing = team.caller_of(1).await;
        let call = team.send(&failing, to(0), &format!("help {turns}")).await;
        stage.fail(failing.run, FailureKind::AgentError).await;
        turns += 1;
        assert!(turns < 3 * LONGEST_CHAIN, "the chain has an end");
        if call.unwrap()[0].status() == SeatMessageStatus::Blocked {
            break;
        }
        let helper = team.caller_of(0).await;
        let answer = team.send(&helper, to(1), &format!("answer {turns}")).await;
        stage.succeed(helper.run).await;
        turns += 1;
        if answer.unwrap()[0].status() == SeatMessageStatus::Blocked {
            break;
        }
    }
    for seat in [0, 1] {
        let runs = team.message_runs(seat).await;
        let ended = |run: &Run| matches!(run.status(), Succeeded | Failed);
        assert!(runs.iter().all(ended), "{runs:#?}");
    }
}

async fn turn_from_outside_brings_blocked_messages(db: &TestStore) {
    let team = Team::setup(db).await;
    let stage = &team.stage;
    let message = team.send_to_seat(1, 0, "too long").await;
    let run = team.last_run(0).await;
    // As at the end of a chain.
    let sql = "update agent_messages set chain_length = $2 where id = $1";
    let params = store::params![message.id, LONGEST_CHAIN + 1];
    db.run(store::Scope::System, sql, params).await.unwrap();
    let cancelled = stage
        .store
        .cancel_run(stage.scope(), run, "by hand", stage.now());
    cancelled.await.unwrap();
    assert_eq!(team.status(&message).await, SeatMessageStatus::Blocked);
    // An input of a person to the seat is a turn of its own. Its success starts one with the message.
    let person = start_message(stage, team.session).await;
    assert_eq!(team.message_runs(0).await.len(), 1);
    stage.succeed(person.run).await;
    assert_eq!(team.status(&message).await, SeatMessageStatus::Undelivered);
    let turn = team.start_last(0).await;
    assert_carries(&turn, &[&message]);
    stage.succeed(turn.run.id).await;
}

async fn undelivered_messages_are_limited(db: &TestStore) {
    let team = Team::setup(db).await;
    let to = Recipients::Seat(team.seats[1]);
    for number in 0..MAX_UNDELIVERED {
        let sent = team.send_as_person(None, to, &number.to_string()).await;
        sent.unwrap();
    }
    for to in [to, Recipients::Others] {
        let refused = team.send_as_person(None, to, "one more").await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "the seat `one` has 200 undelivered messages, which is the limit: its turns wait or fail"
        );
    }
    let turn = team.start_last(1).await;
    team.stage.succeed(turn.run.id).await;
    team.send_as_person(None, Recipients::Others, "one more")
        .await
        .unwrap();
}

pub(crate) async fn person_sends_to_seats(db: &TestStore) {
    let team = Team::setup(db).await;
    let (store, tenant) = (&team.stage.store, team.stage.tenant);
    let reserved = MessageId::from_uuid(id());
    let sent = team
        .send_as_person(Some(reserved), Recipients::Others, "stop")
        .await
        .unwrap();
    assert_eq!(sent.len(), 3, "a person is no seat");
    assert_eq!(sent[0].id, reserved);
    let again = team
        .send_as_person(Some(reserved), Recipients::Others, "stop")
        .await;
    assert!(
        matches!(again, Err(Error::AlreadyCreated { .. })),
        "{again:?}"
    );
    for seat in 0..3 {
        let turn = team.start_last(seat).await;
        let own: Vec<_> = sent.iter().filter(|it| it.to == team.seats[seat]).collect();
        assert_carries(&turn, &own);
        assert!(turn.prompt.text.contains("from a person, Anna."));
        assert!(!turn.prompt.text.contains("no person's approval"));
    }
    // A list continues after any message, delivered or not.
    let list = async |to: Option<usize>, after: i64| {
        let to = to.map(|seat| team.seats[seat]);
        let found = store.seat_messages(tenant, team.session, to, after, 10);
        let found = found.await.unwrap().into_iter().map(|message| message.id);
        found.collect::<Vec<_>>()
    };
    let ids: Vec<_> = sent.iter().map(|message| message.id).collect();
    assert_eq!(list(None, 0).await, ids);
    assert_eq!(list(None, sent[0].seq).await, ids[1..]);
    let to_one: Vec<_> = sent.iter().filter(|it| it.to == team.seats[1]).collect();
    assert_eq!(list(Some(1), 0).await, [to_one[0].id]);
    let list_back = async |to: Option<usize>, before: i64, limit: u32| {
        let to = to.map(|seat| team.seats[seat]);
        let found = store.seat_messages_before(tenant, team.session, to, before, limit);
        let found = found.await.unwrap().into_iter().map(|message| message.id);
        found.collect::<Vec<_>>()
    };
    assert_eq!(list_back(None, i64::MAX, 2).await, [ids[2], ids[1]]);
    assert_eq!(list_back(None, sent[1].seq, 2).await, [ids[0]]);
    assert_eq!(list_back(Some(1), i64::MAX, 2).await, [to_one[0].id]);
    let names = store.seat_names(tenant, team.session).await.unwrap();
    let mut names: Vec<_> = names.into_iter().map(|seat| seat.name).collect();
    names.sort();
    assert_eq!(names, ["agent", "one", "two"]);
}
