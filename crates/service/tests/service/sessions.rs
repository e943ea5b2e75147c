//! Sessions of people, and the runs in them.

use std::time::Duration;

use model::{
    run::{Origin, RunStatus},
    session::{SessionEvent, SessionState, SessionType},
};
use service::{Error, Kind, SessionQuery, SessionRequest, SessionTarget, Waiting};
use store::{Deletion, Scope};

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
    let view = world.service.session(&id).await.unwrap();
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
    match world.service.delete_session(&id, false).await.unwrap() {
        Deletion::BlockedBy(bound) => assert_eq!(bound[0].name, "news"),
        Deletion::Done => panic!("it was deleted with an automation bound to it"),
    }
    let deleted = world.service.delete_session(&id, true).await.unwrap();
    assert_eq!(deleted, Deletion::Done);
    assert!(world.service.automations().await.unwrap().is_empty());
    assert!(world.service.session(&id).await.is_err());
}
