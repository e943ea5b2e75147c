//! Repeated requests: one effect, one response.

use std::collections::BTreeSet;

use futures::future::join_all;
use model::{
    AutomationId, DeliveryId, InputId, RunId, TriggerId, outcome::FailureKind, policy::SessionMode,
    schedule::Spec,
};
use serde_json::json;
use store::{Error, KeyClaim, NewAutomation, NewTrigger, RecordedResponse, Scope};
use testkit::clock::SeededEntropy;
use uuid::Uuid;

use crate::{
    fixtures::TestStore,
    notifications::{new_endpoint, test_delivery},
    stage::{Stage, hourly, unique},
    without_locks::{patiently, without_locks},
};

const REQUEST_HASH: [u8; 32] = [1; 32];
const OTHER_REQUEST_HASH: [u8; 32] = [2; 32];

impl Stage {
    fn run_id(&self) -> RunId {
        RunId::generate(self.now(), &SeededEntropy::new(unique()))
    }

    fn input_id(&self) -> InputId {
        InputId::generate(self.now(), &SeededEntropy::new(unique()))
    }

    async fn claim_key(&self, key: &str, request: &[u8; 32]) -> KeyClaim {
        let proposed = self.run_id().uuid();
        let claimed =
            self.store
                .claim_idempotency_key(self.tenant, key, request, proposed, self.now());
        claimed.await.unwrap()
    }
}

fn reserved_id(claim: &KeyClaim) -> Uuid {
    match claim {
        KeyClaim::New(id) => *id,
        other => panic!("{other:?}"),
    }
}

fn assert_already_made<T: std::fmt::Debug>(result: &Result<T, Error>) {
    assert!(
        matches!(result, Err(Error::AlreadyCreated { .. })),
        "{result:?}"
    );
}

pub(crate) async fn idempotency_key_belongs_to_its_first_request(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = reserved_id(&stage.claim_key("k", &REQUEST_HASH).await);
    assert_eq!(
        stage.claim_key("k", &OTHER_REQUEST_HASH).await,
        KeyClaim::OtherRequest
    );
    let again = KeyClaim::Repeated { id, response: None };
    assert_eq!(stage.claim_key("k", &REQUEST_HASH).await, again);
    assert_ne!(reserved_id(&stage.claim_key("l", &REQUEST_HASH).await), id);
    // Another tenant has separate keys.
    let other = stage.store.ensure_tenant("other", stage.now());
    let other = other.await.unwrap();
    let proposed = stage.run_id().uuid();
    let claimed =
        stage
            .store
            .claim_idempotency_key(other, "k", &OTHER_REQUEST_HASH, proposed, stage.now());
    assert_eq!(claimed.await.unwrap(), KeyClaim::New(proposed));
}

pub(crate) async fn released_key_is_free_unless_response_is_recorded(db: &TestStore) {
    let stage = Stage::setup(db).await;
    stage.claim_key("k", &REQUEST_HASH).await;
    stage
        .store
        .release_idempotency_key(stage.tenant, "k")
        .await
        .unwrap();
    let id = reserved_id(&stage.claim_key("k", &OTHER_REQUEST_HASH).await);
    let body = json!({});
    let answered = stage.store.record_response(stage.tenant, "k", 201, &body);
    answered.await.unwrap();
    stage
        .store
        .release_idempotency_key(stage.tenant, "k")
        .await
        .unwrap();
    let answer = Some((201, json!({})));
    let again = KeyClaim::Repeated {
        id,
        response: answer,
    };
    assert_eq!(stage.claim_key("k", &OTHER_REQUEST_HASH).await, again);
}

pub(crate) async fn repeated_request_gets_first_response(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let id = reserved_id(&stage.claim_key("k", &REQUEST_HASH).await);
    let body = json!({ "id": id, "words": ["a\u{e9}", null] });
    let response = Some((201, body.clone()));
    for (status, body, before) in [
        (201, &body, None),
        (500, &json!("too late"), response.clone()),
    ] {
        let answered = stage.store.record_response(stage.tenant, "k", status, body);
        assert_eq!(answered.await.unwrap(), before);
    }
    let of_free_key = stage.store.record_response(stage.tenant, "l", 201, &body);
    assert_eq!(of_free_key.await.unwrap(), None);
    assert_eq!(
        stage.claim_key("k", &REQUEST_HASH).await,
        KeyClaim::Repeated { id, response }
    );
    assert_eq!(
        stage.claim_key("k", &OTHER_REQUEST_HASH).await,
        KeyClaim::OtherRequest
    );
}

pub(crate) async fn trimmed_idempotency_key_is_free_again(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let first = reserved_id(&stage.claim_key("k", &REQUEST_HASH).await);
    stage.advance_seconds(60);
    reserved_id(&stage.claim_key("young", &REQUEST_HASH).await);
    let old = stage.now();
    assert_eq!(stage.store.trim_idempotency_keys(old).await.unwrap(), 1);
    assert_ne!(
        reserved_id(&stage.claim_key("k", &OTHER_REQUEST_HASH).await),
        first
    );
    assert!(matches!(
        stage.claim_key("young", &REQUEST_HASH).await,
        KeyClaim::Repeated { .. }
    ));
}

pub(crate) async fn concurrent_claims_of_one_key_get_one_id(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let stores = without_locks(db).await;
    for round in 0..10 {
        let key = format!("key {round}");
        let claims = stores.iter().cycle().take(6).map(|store| {
            let (stage, key, proposed) = (&stage, &key, stage.run_id().uuid());
            async move {
                patiently!(store.claim_idempotency_key(
                    stage.tenant,
                    key,
                    &REQUEST_HASH,
                    proposed,
                    stage.now()
                ))
            }
        });
        let claims: Vec<KeyClaim> = join_all(claims).await;
        let new: Vec<_> = claims
            .iter()
            .filter(|claim| matches!(claim, KeyClaim::New(_)))
            .collect();
        assert_eq!(new.len(), 1, "{claims:?}");
        let id = reserved_id(new[0]);
        let again = KeyClaim::Repeated { id, response: None };
        assert!(
            claims
                .iter()
                .all(|claim| claim == new[0] || *claim == again)
        );
    }
}

pub(crate) async fn message_with_reserved_id_creates_one_run(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let (one, other) = (stage.input_id(), stage.input_id());
    let say = |session, input, words| {
        stage
            .store
            .send_message(stage.tenant, session, Some(input), words, stage.now())
    };
    let run = say(session, one, "hello").await.unwrap().run_id;
    assert_already_made(&say(session, one, "hello").await);
    assert_eq!(stage.run(run).await.input_id, one);
    // In a batch, a request that was sent before fails alone, and so does one that is in the batch twice.
    let unknown = model::SessionId::from_uuid(Uuid::from_u128(7));
    let (again, first, twice, plain, missing) = futures::join!(
        say(session, one, "again"),
        say(session, other, "other"),
        say(session, other, "other"),
        stage
            .store
            .send_message(stage.tenant, session, None, "plain", stage.now()),
        say(unknown, stage.input_id(), "nowhere"),
    );
    assert_already_made(&again);
    assert_already_made(&twice);
    assert!(first.is_ok() && plain.is_ok());
    assert!(matches!(missing, Err(Error::NotFound { .. })));
    let attempts = stage.store.attempts(stage.scope(), one).await.unwrap();
    assert_eq!(attempts.len(), 1);
    assert_eq!(
        (attempts[0].id, attempts[0].content.as_str()),
        (run, "hello")
    );
    assert_eq!(db.count(Scope::System, "agent_runs").await, 3);
}

pub(crate) async fn fire_with_reserved_id_creates_one_occurrence(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let skipping = stage.bound_automation("standup", "web:nobody").await;
    for automation in [automation, skipping] {
        let input = stage.input_id();
        let fire = || {
            stage
                .store
                .fire_automation(stage.tenant, automation, Some(input), stage.now())
        };
        let run = fire().await.unwrap().run_id;
        assert_already_made(&fire().await);
        assert_eq!(stage.run(run).await.input_id, input);
        assert_eq!(stage.runs_of(automation).await.len(), 1);
    }
}

pub(crate) async fn retry_with_reserved_id_creates_one_attempt(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let run = stage.send_message(session, "hello").await.run_id;
    stage.start(run).await;
    stage.fail(run, FailureKind::AgentError).await;
    let id = stage.run_id();
    let again = || {
        stage
            .store
            .retry_run(stage.scope(), run, Some(id), stage.now())
    };
    assert_eq!(again().await.unwrap().run_id, id);
    assert_already_made(&again().await);
    let attempts = stage.attempts(run).await;
    assert_eq!((attempts.len(), attempts[1].id), (2, id));
    // Another run is refused for its own reason.
    let other = stage
        .store
        .retry_run(stage.scope(), run, Some(stage.run_id()), stage.now());
    assert!(matches!(other.await, Err(Error::Refused(_))));
}

pub(crate) async fn used_reserved_id_and_taken_name_are_different_errors(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let new = stage.new_automation("report", SessionMode::Fresh);
    let id = AutomationId::from_uuid(stage.run_id().uuid());
    let create = |id| {
        stage
            .store
            .create_automation(stage.tenant, Some(id), &new, stage.now())
    };
    create(id).await.unwrap();
    assert_already_made(&create(id).await);
    let other = AutomationId::from_uuid(stage.run_id().uuid());
    assert!(matches!(create(other).await, Err(Error::NameTaken { .. })));
    let removed = stage
        .store
        .delete_automation(stage.scope(), id, stage.now());
    removed.await.unwrap();
    assert_already_made(&create(id).await);

    let session = stage.new_session(Some("web:1"));
    let create = |new| stage.store.create_session(stage.tenant, new, stage.now());
    create(&session).await.unwrap();
    assert_already_made(&create(&session).await);
    let other = stage.new_session(Some("web:1"));
    assert!(matches!(create(&other).await, Err(Error::NameTaken { .. })));
}

pub(crate) async fn concurrent_requests_with_one_reserved_id_have_one_effect(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let stores = without_locks(db).await;
    for round in 0..6 {
        let failed = stage.send_message(session, "hello").await.run_id;
        stage.start(failed).await;
        stage.fail(failed, FailureKind::AgentError).await;
        let (sent_input, fired_input, run) = (stage.input_id(), stage.input_id(), stage.run_id());
        let automation_id = AutomationId::from_uuid(stage.run_id().uuid());
        let new = stage.new_automation(&format!("job {round}"), SessionMode::Fresh);
        let new_session = stage.new_session(Some(&format!("web:{round}")));
        let (tenant, now) = (stage.tenant, stage.now());
        let racers = stores.iter().cycle().take(4).map(|store| {
            let (new, new_session) = (&new, &new_session);
            async move {
                let sessions = count_if_made(async || {
                    let created = store.create_session(tenant, new_session, now).await;
                    created.map(|_| ())
                });
                let says = count_if_made(async || {
                    let sent = store
                        .send_message(tenant, session, Some(sent_input), "x", now)
                        .await;
                    sent.map(|_| ())
                });
                let fires = count_if_made(async || {
                    let fired = store
                        .fire_automation(tenant, automation, Some(fired_input), now)
                        .await;
                    fired.map(|_| ())
                });
                let retries = count_if_made(async || {
                    let again = store.retry_run(Scope::System, failed, Some(run), now).await;
                    again.map(|_| ())
                });
                let creates = count_if_made(async || {
                    store
                        .create_automation(tenant, Some(automation_id), new, now)
                        .await
                        .map(|_| ())
                });
                [
                    sessions.await,
                    says.await,
                    fires.await,
                    retries.await,
                    creates.await,
                ]
            }
        });
        let all: Vec<[usize; 5]> = join_all(racers).await;
        for kind in 0..5 {
            let won: usize = all.iter().map(|counts| counts[kind]).sum();
            assert_eq!(won, 1, "kind {kind}: {all:?}");
        }
        for input in [sent_input, fired_input] {
            let attempts = stage.store.attempts(stage.scope(), input).await.unwrap();
            assert_eq!(attempts.len(), 1);
        }
        // Cancel the waiting runs, so that the seat is free for the next round.
        let cancelled =
            stage
                .store
                .cancel_session_runs(stage.scope(), session, "room", stage.now());
        cancelled.await.unwrap();
    }
}

/// Retries an operation while the database is busy. Returns 1 if it took effect, and 0 if it had taken effect before.
async fn count_if_made(doing: impl AsyncFn() -> Result<(), Error>) -> usize {
    loop {
        match doing().await {
            Ok(()) => return 1,
            Err(Error::AlreadyCreated { .. }) => return 0,
            Err(error) if error.is_transient() => tokio::task::yield_now().await,
            Err(Error::Database(error)) if error.conflict().is_some() => {
                tokio::task::yield_now().await;
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

pub(crate) async fn secret_rotation_with_idempotency_key_happens_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (store, scope, now) = (&stage.store, stage.scope(), stage.now());
    let endpoint = stage.endpoint_id();
    let new = new_endpoint("hook", &[]);
    let created = store.create_endpoint(stage.tenant, endpoint, &new, now);
    created.await.unwrap();
    let mut new = stage.new_automation("deploy", SessionMode::Fresh);
    new.triggers = vec![Spec::Webhook {}];
    let automation = stage.create(&new).await;
    let triggers = store.triggers(scope, automation).await.unwrap();
    let trigger = triggers[1].id;
    let response = json!({ "secret": null });
    let answered = |key| {
        Some(RecordedResponse {
            key,
            status: 200,
            response: &response,
        })
    };
    let of_endpoint = async || {
        let found = store.endpoint_secrets(scope, endpoint).await;
        found.unwrap().1
    };
    let of_trigger = async || {
        let found = store.webhook_trigger(scope, trigger).await;
        found.unwrap().unwrap().secrets
    };
    stage.claim_key("e", &REQUEST_HASH).await;
    stage.claim_key("t", &REQUEST_HASH).await;
    let rotate = || store.rotate_endpoint_secret(scope, endpoint, now, answered("e"), now);
    // Of several concurrent requests, one takes effect.
    let rotated = join_all((0..4).map(|_| rotate())).await;
    let (done, before): (Vec<_>, Vec<_>) = rotated.iter().partition(|result| result.is_ok());
    assert_eq!((done.len(), before.len()), (1, 3), "{rotated:?}");
    before.into_iter().for_each(assert_already_made);
    assert_eq!(of_endpoint().await.current, *done[0].as_ref().unwrap());
    let rotate = || store.rotate_webhook_secret(scope, trigger, now, answered("t"), now);
    let secret = rotate().await.unwrap();
    assert_already_made(&rotate().await);
    assert_eq!(of_trigger().await.current, secret);
    for key in ["e", "t"] {
        let KeyClaim::Repeated {
            response: answer, ..
        } = stage.claim_key(key, &REQUEST_HASH).await
        else {
            panic!("the key was claimed");
        };
        assert_eq!(answer, Some((200, response.clone())));
    }
    // A refused request records no response.
    stage.claim_key("gone", &REQUEST_HASH).await;
    let missing_endpoint = stage.endpoint_id();
    let refused = store.rotate_endpoint_secret(scope, missing_endpoint, now, answered("gone"), now);
    assert!(matches!(refused.await, Err(Error::NotFound { .. })));
    let KeyClaim::Repeated {
        response: answer, ..
    } = stage.claim_key("gone", &REQUEST_HASH).await
    else {
        panic!("the key was claimed");
    };
    assert_eq!(answer, None);
}

pub(crate) async fn test_delivery_with_reserved_id_is_created_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (store, now) = (&stage.store, stage.now());
    let endpoint = stage.endpoint_id();
    let new = new_endpoint("hook", &[]);
    let created = store.create_endpoint(stage.tenant, endpoint, &new, now);
    created.await.unwrap();
    let id = DeliveryId::from_uuid(stage.run_id().uuid());
    let new = test_delivery("1");
    let send = || store.test_endpoint(stage.tenant, endpoint, id, &new, now);
    let sent = join_all((0..4).map(|_| send())).await;
    let (done, before): (Vec<_>, Vec<_>) = sent.iter().partition(|result| result.is_ok());
    assert_eq!((done.len(), before.len()), (1, 3), "{sent:?}");
    before.into_iter().for_each(assert_already_made);
    assert_eq!(db.count(Scope::System, "webhook_deliveries").await, 1);
}

pub(crate) async fn trigger_with_equal_spec_or_id_is_added_once(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (store, scope, now) = (&stage.store, stage.scope(), stage.now());
    let automation = stage.automation("report", SessionMode::Fresh).await;
    let trigger_id = || TriggerId::from_uuid(stage.run_id().uuid());
    let add = |id, spec, seen| {
        let new = NewTrigger {
            reserved: Some(id),
            spec,
            expected: seen,
        };
        store.add_trigger(scope, automation, new, now)
    };
    let read = async || {
        let triggers = store.triggers(scope, automation).await.unwrap();
        let automation = store.automation(scope, automation).await.unwrap();
        NewAutomation::of(&automation, &triggers)
    };
    let bare = read().await;
    let (timed, hook) = (hourly(), Spec::Webhook {});
    let added = join_all((0..4).map(|_| add(trigger_id(), &timed, None))).await;
    let added: BTreeSet<_> = added.into_iter().map(Result::unwrap).collect();
    assert_eq!(added.len(), 1, "{added:?}");
    assert_eq!(read().await.triggers, std::slice::from_ref(&timed));
    // Each webhook trigger is a separate one, unless its ID is used, even by a removed trigger.
    let (one, other) = (trigger_id(), trigger_id());
    for id in [one, other] {
        assert_eq!(add(id, &hook, None).await.unwrap(), id);
        assert_already_made(&add(id, &hook, None).await);
    }
    store.remove_trigger(scope, one, None, now).await.unwrap();
    assert_already_made(&add(one, &hook, None).await);
    assert!(store.had_trigger(scope, automation, one).await.unwrap());
    let never = store.had_trigger(scope, automation, trigger_id()).await;
    assert!(!never.unwrap());
    // An edit that is based on an outdated version changes nothing.
    let seen = read().await;
    let stale = add(trigger_id(), &hook, Some(&bare)).await;
    assert!(
        matches!(stale, Err(Error::StaleVersion { .. })),
        "{stale:?}"
    );
    let stale = store.remove_trigger(scope, other, Some(&bare), now).await;
    assert!(
        matches!(stale, Err(Error::StaleVersion { .. })),
        "{stale:?}"
    );
    assert_eq!(read().await, seen);
    let removed = store.remove_trigger(scope, other, Some(&seen), now);
    removed.await.unwrap();
    let seen = read().await;
    let last = trigger_id();
    assert_eq!(add(last, &hook, Some(&seen)).await.unwrap(), last);
}
