//! Sessions of people, and the runs in them.

use std::time::Duration;

use api_types::{BlockedOn, MessageRole, SessionRequest, SessionTarget};
use model::{
    run::{Origin, RunStatus},
    session::{SessionEvent, SessionStatus, SessionType},
};
use serde_json::json;
use service::{Error, ErrorKind, SessionQuery};
use store::Scope;
use store::SessionOrder;

use crate::world::{NOW, World, error_chain, request};

fn session_query(all: bool) -> SessionQuery {
    SessionQuery {
        types: all.then(|| SessionType::ALL.to_vec()),
        limit: 100,
        ..SessionQuery::default()
    }
}

#[tokio::test]
async fn invalid_session_request_creates_nothing() {
    let world = World::new().await;
    let asked = |agent: &str| SessionRequest {
        agent: Some(agent.into()),
        ..SessionRequest::default()
    };
    for (request, kind, says) in [
        (asked("godo"), ErrorKind::NotFound, "did you mean `good`?"),
        (asked("amnesiac"), ErrorKind::Refused, "neither"),
        (asked("absent"), ErrorKind::Agent, "no such program"),
        (
            SessionRequest {
                title: Some("two\nlines".into()),
                ..asked("good")
            },
            ErrorKind::Invalid,
            "title",
        ),
    ] {
        let error = world
            .service
            .create_session(&request, None)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error_chain(&error).contains(says), "{error}");
    }
    let sessions = world.service.sessions(&session_query(true)).await.unwrap();
    assert!(sessions.items.is_empty());
}

#[tokio::test]
async fn session_uses_given_working_directory() {
    let world = World::new().await;
    let given = world.directory().join("project");
    std::fs::create_dir(&given).unwrap();
    let given = given.to_str().unwrap();
    let request = SessionRequest {
        agent: Some("good".into()),
        cwd: Some(given.into()),
        ..SessionRequest::default()
    };
    let made = world.service.create_session(&request, None).await.unwrap();
    assert_eq!(made.cwd.as_deref(), Some(given));
    // That is where its agent is started.
    let run = world.send_message(&made.id.to_string(), "hello").await;
    assert_eq!(world.begin_with_assignment(run).await.cwd, given);
    let own = world.conversation().await;
    assert_eq!(own.cwd, None);
    let run = world.send_message(&own.id.to_string(), "hello").await;
    let path = world.begin_with_assignment(run).await.cwd;
    assert!(path.ends_with(&format!("/{}", own.id)), "{path}");
    // Its path is shown once this server has it.
    let shown = async || world.service.session(&own.id.to_string()).await.unwrap();
    assert_eq!(shown().await.own_folder, None);
    std::fs::create_dir_all(&path).unwrap();
    assert_eq!(shown().await.own_folder, Some(path));
    for refused in ["project", "./project"] {
        let request = SessionRequest {
            cwd: Some(refused.into()),
            ..request.clone()
        };
        let error = world.service.create_session(&request, None).await;
        assert_eq!(error.unwrap_err().kind(), ErrorKind::Invalid, "{refused}");
    }
}

#[tokio::test]
async fn empty_or_oversized_message_creates_no_run() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let long = "x".repeat(model::limits::CONTENT_BYTES + 1);
    for (words, says) in [
        ("", "it is empty"),
        (" \n", "it is empty"),
        (&long, "up to"),
    ] {
        let error = world
            .service
            .send_message(&id, words, None)
            .await
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error_chain(&error).contains(says), "{error}");
    }
    let view = world.service.session(&id).await.unwrap();
    assert!(view.open_runs.is_empty());
}

#[tokio::test]
async fn message_is_sent_by_session_key_id_and_id_prefix() {
    let world = World::new().await;
    let session = world.conversation().await;
    let id = session.id.to_string();
    for given in [session.session_key.as_deref().unwrap(), &id, &id[..24]] {
        let run = world
            .service
            .send_message(given, "hello", None)
            .await
            .unwrap();
        assert_eq!(run.session_id, Some(session.id), "{given}");
        assert_eq!(run.origin, Origin::Person);
    }
    let error = world
        .service
        .send_message("ses_ffff", "hello", None)
        .await
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn second_input_is_blocked_on_first_run() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let first = world.service.send_message(&id, "one", None).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    let second = world.service.send_message(&id, "two", None).await.unwrap();
    let waits = |run| world.service.blocked_on(run);
    assert_eq!(waits(&first).await.unwrap(), Some(BlockedOn::Worker));
    assert_eq!(second.status(), RunStatus::Deferred);
    let expected = BlockedOn::Run {
        run: first.id,
        status: RunStatus::Queued,
        origin: Origin::Person,
    };
    assert_eq!(waits(&second).await.unwrap().as_ref(), Some(&expected));

    let shown = world.service.run(&second.id.to_string()).await.unwrap();
    assert_eq!(shown.attempts.len(), 1);
    assert_eq!(shown.blocked_on, Some(expected));
    let record = world.service.run_record(&second.id.to_string()).await;
    assert_eq!(record.unwrap(), None);
    let view = world.service.session(&id).await.unwrap();
    let open: Vec<_> = view.open_runs.iter().map(|open| open.run.id).collect();
    assert_eq!(open, [first.id, second.id]);

    let failure_as_cancellation = world.service.cancel_session(&id).await.unwrap();
    assert_eq!(
        (
            failure_as_cancellation.session_id,
            failure_as_cancellation.cancelled
        ),
        (view.session.id, 2)
    );
    let second = world.service.run_by_id(second.id).await.unwrap();
    assert_eq!(second.status(), RunStatus::Cancelled);
    assert_eq!(waits(&second).await.unwrap(), None);
}

#[tokio::test]
async fn message_to_paused_session_waits_and_to_closed_is_refused() {
    let world = World::new().await;
    let session = world.conversation().await;
    let id = session.id.to_string();
    let (scope, now) = (Scope::Tenant(world.tenant), NOW.parse().unwrap());
    let step = |event| {
        world
            .store
            .transition_session(scope, session.id, event, None, now)
    };
    step(SessionEvent::Pause).await.unwrap();
    let run = world
        .service
        .send_message(&id, "hello", None)
        .await
        .unwrap();
    let held = BlockedOn::Session {
        state: SessionStatus::Paused,
    };
    assert_eq!(world.service.blocked_on(&run).await.unwrap(), Some(held));
    step(SessionEvent::Resume).await.unwrap();
    step(SessionEvent::Complete).await.unwrap();
    let error = world
        .service
        .send_message(&id, "hello", None)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::SessionClosed { .. }), "{error}");
    assert!(error.to_string().contains("done"), "{error}");
}

#[tokio::test]
async fn session_list_defaults_to_sessions_of_people() {
    let world = World::new().await;
    let conversation = world.conversation().await;
    world
        .service
        .create_automation(&request(), None)
        .await
        .unwrap();
    let scheduled = world.service.fire("news", None).await.unwrap().session_id;
    let world = &world;
    let listed_ids = |query| async move {
        let sessions = world.service.sessions(&query).await.unwrap();
        let shown = sessions
            .items
            .iter()
            .map(|item| (item.session.id, item.session.session_type));
        shown.collect::<Vec<_>>()
    };
    let regular = vec![(conversation.id, SessionType::Regular)];
    assert_eq!(listed_ids(session_query(false)).await, regular);
    assert_eq!(listed_ids(session_query(true)).await.len(), 2);
    let automation_change = SessionQuery {
        automation: Some("news".into()),
        ..session_query(false)
    };
    let found = listed_ids(automation_change).await;
    assert_eq!(found, [(scheduled.unwrap(), SessionType::ScheduleCron)]);
}

#[tokio::test]
async fn bound_session_is_deleted_only_with_its_automations() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let mut asked = request();
    asked.session = SessionTarget::Bound(id.clone());
    world.service.create_automation(&asked, None).await.unwrap();
    let blocked = world.service.delete_session(&id, false).await.unwrap();
    let bound = &blocked.automations[0];
    assert_eq!(
        serde_json::to_value(&blocked).unwrap(),
        json!({
            "deleted": false,
            "blocked_by_automations": true,
            "automations": [{ "id": bound.id.to_string(), "name": "news", "enabled": true }],
            "turns": 0,
        })
    );
    assert!(world.service.session(&id).await.is_ok());
    let deleted = world.service.delete_session(&id, true).await.unwrap();
    assert!(deleted.deleted && !deleted.blocked_by_automations);
    assert_eq!(deleted.automations, blocked.automations);
    let left = world.automations().await;
    assert!(left.items.is_empty());
    assert!(world.service.session(&id).await.is_err());
}

#[tokio::test]
async fn transcript_is_read_from_end_and_from_start() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    world.service.send_message(&id, "one", None).await.unwrap();
    // A run that is cancelled before its start leaves a notice.
    world.service.cancel_session(&id).await.unwrap();
    world.clock.advance(Duration::from_millis(1));
    world.service.send_message(&id, "two", None).await.unwrap();
    world.service.cancel_session(&id).await.unwrap();
    let end = world.service.last_messages(&id, 1).await.unwrap();
    assert_eq!((end.items.len(), end.before), (1, Some(1)));
    let none = world.service.last_messages(&id, 0).await.unwrap();
    assert_eq!((none.items.len(), none.before), (0, Some(2)));
    let first = world.service.messages_before(&id, end.previous.unwrap(), 9);
    let first = first.await.unwrap();
    assert_eq!((first.items.len(), first.previous), (1, None));
    // A conversation that opens at a run reads its earlier rows backward, without a repeat.
    let run = end.items[0].run_id.unwrap();
    let opened = world.service.messages_from_run(&id, run, 9).await.unwrap();
    assert_eq!(opened.items, end.items);
    let earlier = world
        .service
        .messages_before(&id, opened.previous.unwrap(), 9);
    assert_eq!(earlier.await.unwrap(), first);
    let run = first.items[0].run_id.unwrap();
    let opened = world.service.messages_from_run(&id, run, 1).await.unwrap();
    assert_eq!((&opened.items, opened.previous), (&first.items, None));
    assert!(opened.next.is_some());
    let whole = world.service.messages(&id, 0, 2).await.unwrap();
    assert_eq!((whole.items.len(), whole.next), (2, None));
    assert_eq!(whole.items[1], end.items[0]);
    let first = world.service.messages(&id, 0, 1).await.unwrap();
    assert_eq!(first.items, whole.items[..1]);
    let rest = world
        .service
        .messages(&id, first.next.unwrap(), 1)
        .await
        .unwrap();
    assert_eq!((&*rest.items, rest.next), (&whole.items[1..], None));
    let view = world.service.session(&id).await.unwrap();
    assert_eq!(view.oldest_event, 1);
}

#[tokio::test]
async fn run_is_cancelled_and_retried_by_id_prefix() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let run = world
        .service
        .send_message(&id, "hello", None)
        .await
        .unwrap();
    let given = run.id.to_string();
    let refused = world.service.retry_run(&given, None).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    let cancelled = world.service.cancel_run(&given[..24]).await.unwrap();
    assert_eq!(
        (cancelled.run_id, cancelled.status),
        (run.id, RunStatus::Cancelled)
    );
    let refused = world.service.cancel_run(&given).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Refused);
    let again = world.service.retry_run(&given[..24], None).await.unwrap();
    assert_eq!((again.attempt, again.status()), (2, RunStatus::Queued));
    assert_eq!(again.content, "hello");
}

#[tokio::test]
async fn trimmed_record_differs_from_absent_record() {
    let world = World::new().await;
    let id = world.conversation().await.id.to_string();
    let run = world
        .service
        .send_message(&id, "hello", None)
        .await
        .unwrap()
        .id
        .to_string();
    let record = || async { world.service.run_record(&run).await.unwrap() };
    let view = world.service.run(&run).await.unwrap();
    assert!(record().await.is_none() && !view.record_trimmed);
    world.service.cancel_run(&run).await.unwrap();
    let view = world.service.run(&run).await.unwrap();
    assert!(record().await.is_some() && !view.record_trimmed);
    let later = world.clock.advance(Duration::from_hours(24));
    assert_eq!(world.store.trim_records(later).await.unwrap(), 1);
    let view = world.service.run(&run).await.unwrap();
    assert!(record().await.is_none() && view.record_trimmed);
}

#[tokio::test]
async fn open_runs_are_listed_beyond_one_page() {
    let world = World::new().await;
    let draft = SessionRequest {
        agent: Some("good".into()),
        draft: true,
        ..SessionRequest::default()
    };
    let draft = world.service.create_session(&draft, None).await.unwrap();
    let session = draft.id.to_string();
    let say = async || {
        let said = world.service.send_message(&session, "hello", None).await;
        said.unwrap().id
    };
    // More than are read at once, most of them over.
    let first = say().await;
    for _ in 0..205 {
        let run = say().await.to_string();
        world.service.cancel_run(&run).await.unwrap();
    }
    let last = say().await;
    let shown = world.service.session(&session).await.unwrap();
    let shown: Vec<_> = shown.open_runs.iter().map(|open| open.run.id).collect();
    assert_eq!(shown, [first, last]);
}

#[tokio::test]
async fn session_list_has_last_message_and_last_run() {
    let world = World::new().await;
    let asked = world.conversation().await.id.to_string();
    let quiet = world.conversation().await.id;
    let run = world.send_message(&asked, "Look\n\nat  this").await;
    let listed = async || {
        let query = SessionQuery {
            order: SessionOrder::Changed { after: None },
            ..session_query(false)
        };
        world.service.sessions(&query).await.unwrap().items
    };
    let items = listed().await;
    assert_eq!(items[0].session.id.to_string(), asked);
    assert_eq!(
        (items[0].last_run.as_ref(), items[1].session.id),
        (None, quiet)
    );

    world.begin_turn(run).await;
    let item = &listed().await[0];
    let message = item.last_message.as_ref().unwrap();
    assert_eq!(
        (message.role, message.text.as_str()),
        (MessageRole::User, "Look at this")
    );
    let last_run = item.last_run.as_ref().unwrap();
    assert_eq!(
        (last_run.run_id, last_run.status),
        (run, RunStatus::Running)
    );

    world.record_tool_calls(run, &["cargo test"]).await;
    let long = "It works. ".repeat(100);
    world.finish_with_answer(run, &long).await;
    world.send_message(&asked, "And now?").await;
    let item = &listed().await[0];
    let message = item.last_message.as_ref().unwrap();
    assert_eq!(message.role, MessageRole::Assistant);
    assert_eq!(message.text.chars().count(), 200);
    assert!(
        message.text.starts_with("It works. It works."),
        "{message:?}"
    );
    let last_run = item.last_run.as_ref().unwrap();
    assert_eq!(
        (last_run.run_id, last_run.status),
        (run, RunStatus::Succeeded)
    );
    assert!(last_run.ended_at.is_some());
}

#[tokio::test]
async fn session_list_by_change_continues_after_its_cursor() {
    let world = World::new().await;
    let mut sessions = Vec::new();
    for _ in 0..5 {
        let id = world.conversation().await.id;
        world.send_message(&id.to_string(), "Hello").await;
        sessions.insert(0, id);
    }
    let changed = sessions.remove(3);
    world.send_message(&changed.to_string(), "Again").await;
    sessions.insert(0, changed);

    let (mut after, mut listed) = (None, Vec::new());
    loop {
        let query = SessionQuery {
            order: SessionOrder::Changed { after },
            limit: 2,
            ..session_query(false)
        };
        let page = world.service.sessions(&query).await.unwrap();
        listed.extend(page.items.iter().map(|item| item.session.id));
        let Some(next) = page.next else { break };
        after = Some(next.parse().unwrap());
    }
    assert_eq!(listed, sessions);
}
