//! Sessions of people, and the runs in them.

use std::time::Duration;

use model::{
    run::{Origin, RunStatus},
    session::{SessionEvent, SessionState, SessionType},
};
use serde_json::json;
use service::{Error, Kind, SessionQuery, SessionRequest, SessionTarget, Waiting};
use store::Scope;

use crate::world::{NOW, World, request, told};

fn listed(all: bool) -> SessionQuery {
    SessionQuery {
        all,
        automation: None,
        limit: 100,
    }
}

#[tokio::test]
async fn a_conversation_is_refused_before_anything_is_made() {
    let world = World::new().await;
    let asked = |harness: &str| SessionRequest {
        harness: harness.into(),
        ..SessionRequest::default()
    };
    for (request, words, kind, says) in [
        (asked("good"), "", Kind::Invalid, "it is empty"),
        (
            asked("godo"),
            "hello",
            Kind::NotFound,
            "did you mean \"good\"?",
        ),
        (asked("amnesiac"), "hello", Kind::Refused, "neither"),
        (asked("absent"), "hello", Kind::Agent, "no such program"),
        (
            SessionRequest {
                title: Some("two\nlines".into()),
                ..asked("good")
            },
            "hello",
            Kind::Invalid,
            "title",
        ),
    ] {
        let error = world.service.say_new(&request, words).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(told(&error).contains(says), "{error}");
    }
    let sessions = world.service.sessions(&listed(true)).await.unwrap();
    assert!(sessions.is_empty());
}

#[tokio::test]
async fn words_go_to_a_session_by_key_by_id_and_by_the_beginning_of_its_id() {
    let world = World::new().await;
    let session = world.conversation().await;
    let id = session.id.to_string();
    for given in [session.session_key.as_deref().unwrap(), &id, &id[..24]] {
        let run = world.service.say(given, "hello").await.unwrap();
        assert_eq!(run.session_id, Some(session.id), "{given}");
        assert_eq!(run.origin, Origin::Person);
    }
    let error = world.service.say("ses_ffff", "hello").await.unwrap_err();
    assert_eq!(error.kind(), Kind::NotFound);
}

#[tokio::test]
async fn a_second_input_says_which_run_it_waits_for() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let first = world.service.say(&id, "one").await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    let second = world.service.say(&id, "two").await.unwrap();
    let waits = |run| world.service.waits_for(run);
    assert_eq!(waits(&first).await.unwrap(), Some(Waiting::Worker));
    assert_eq!(second.status, RunStatus::Deferred);
    let expected = Waiting::Run {
        run: first.id,
        status: RunStatus::Queued,
        origin: Origin::Person,
    };
    assert_eq!(waits(&second).await.unwrap(), Some(expected));

    let shown = world.service.run(&second.id.to_string()).await.unwrap();
    assert_eq!(shown.attempts.len(), 1);
    assert_eq!(shown.record, None);
    let view = world.service.session(&id, None).await.unwrap();
    let open: Vec<_> = view.open_runs.iter().map(|run| run.id).collect();
    assert_eq!(open, [first.id, second.id]);

    let (_, cancelled) = world.service.cancel_session(&id).await.unwrap();
    assert_eq!(cancelled, 2);
    let second = world.service.run_by_id(second.id).await.unwrap();
    assert_eq!(second.status, RunStatus::Cancelled);
    assert_eq!(waits(&second).await.unwrap(), None);
}

#[tokio::test]
async fn words_to_a_held_session_wait_and_to_a_closed_one_are_refused() {
    let world = World::new().await;
    let session = world.conversation().await;
    let id = session.id.to_string();
    let (scope, now) = (Scope::Tenant(world.tenant), NOW.parse().unwrap());
    let step = |event| {
        world
            .store
            .move_session(scope, session.id, event, None, now)
    };
    step(SessionEvent::Pause).await.unwrap();
    let run = world.service.say(&id, "hello").await.unwrap();
    let held = Waiting::Session {
        state: SessionState::Paused,
    };
    assert_eq!(world.service.waits_for(&run).await.unwrap(), Some(held));
    step(SessionEvent::Resume).await.unwrap();
    step(SessionEvent::Complete).await.unwrap();
    let error = world.service.say(&id, "hello").await.unwrap_err();
    assert!(matches!(error, Error::SessionClosed { .. }), "{error}");
    assert!(error.to_string().contains("done"), "{error}");
}

#[tokio::test]
async fn lists_show_what_people_began_unless_asked_otherwise() {
    let world = World::new().await;
    let conversation = world.conversation().await;
    world.service.create_automation(&request()).await.unwrap();
    let scheduled = world.service.fire("news").await.unwrap().session_id;
    let world = &world;
    let listed_ids = |query| async move {
        let sessions = world.service.sessions(&query).await.unwrap();
        let shown = sessions
            .iter()
            .map(|session| (session.id, session.session_type));
        shown.collect::<Vec<_>>()
    };
    let regular = vec![(conversation.id, SessionType::Regular)];
    assert_eq!(listed_ids(listed(false)).await, regular);
    assert_eq!(listed_ids(listed(true)).await.len(), 2);
    let of_automation = SessionQuery {
        automation: Some("news".into()),
        ..listed(false)
    };
    let found = listed_ids(of_automation).await;
    assert_eq!(found, [(scheduled.unwrap(), SessionType::ScheduleCron)]);
}

#[tokio::test]
async fn deleting_a_session_takes_two_steps_where_automations_are_bound_to_it() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let mut asked = request();
    asked.session = SessionTarget::Bound(id.clone());
    world.service.create_automation(&asked).await.unwrap();
    let blocked = world.service.delete_session(&id, false).await.unwrap();
    let bound = &blocked.automations[0];
    assert_eq!(
        serde_json::to_value(&blocked).unwrap(),
        json!({
            "deleted": false,
            "blocked_by_automations": true,
            "automations": [{ "id": bound.id.to_string(), "name": "news", "enabled": true }],
        })
    );
    assert!(world.service.session(&id, None).await.is_ok());
    let deleted = world.service.delete_session(&id, true).await.unwrap();
    assert!(deleted.deleted && !deleted.blocked_by_automations);
    assert_eq!(deleted.automations, blocked.automations);
    let left = world.service.automations().await.unwrap();
    assert!(left.automations.is_empty());
    assert!(world.service.session(&id, None).await.is_err());
}

#[tokio::test]
async fn a_session_is_shown_with_the_end_of_its_transcript() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    world.service.say(&id, "one").await.unwrap();
    // A run that is called off before it began leaves a notice.
    world.service.cancel_session(&id).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    world.service.say(&id, "two").await.unwrap();
    world.service.cancel_session(&id).await.unwrap();
    let end = world.service.session(&id, Some(1)).await.unwrap();
    assert_eq!((end.messages.len(), end.messages_before), (1, 1));
    let whole = world.service.session(&id, None).await.unwrap();
    assert_eq!((whole.messages.len(), whole.messages_before), (2, 0));
    assert_eq!(whole.messages[1], end.messages[0]);
    assert_eq!(whole.oldest_event, 1);
}

#[tokio::test]
async fn one_run_is_called_off_and_tried_again_by_the_beginning_of_its_id() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let run = world.service.say(&id, "hello").await.unwrap();
    let given = run.id.to_string();
    let refused = world.service.retry_run(&given).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Refused);
    let cancelled = world.service.cancel_named_run(&given[..24]).await.unwrap();
    assert_eq!(cancelled.status, RunStatus::Cancelled);
    let refused = world.service.cancel_named_run(&given).await.unwrap_err();
    assert_eq!(refused.kind(), Kind::Refused);
    let again = world.service.retry_run(&given[..24]).await.unwrap();
    assert_eq!((again.attempt, again.status), (2, RunStatus::Queued));
    assert_eq!(again.content, "hello");
}

#[tokio::test]
async fn a_record_that_retention_removed_is_told_from_one_that_never_was() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let run = world
        .service
        .say(&id, "hello")
        .await
        .unwrap()
        .id
        .to_string();
    let view = world.service.run(&run).await.unwrap();
    assert!(view.record.is_none() && !view.record_trimmed);
    world.service.cancel_named_run(&run).await.unwrap();
    let view = world.service.run(&run).await.unwrap();
    assert!(view.record.is_some() && !view.record_trimmed);
    let later = world.clock.advance(Duration::from_hours(24));
    assert_eq!(world.store.trim_records(later).await.unwrap(), 1);
    let view = world.service.run(&run).await.unwrap();
    assert!(view.record.is_none() && view.record_trimmed);
}
