//! Endpoints: creation, changes, removal, and isolation between tenants.

use std::time::Duration;

use model::{
    notification::{DeliveryStatus, NotificationKind as Kind},
    policy::SessionMode,
};
use store::{Error, NewEndpoint, Scope};

use crate::{fixtures::TestStore, notifications::new_endpoint, stage::Stage};

pub(crate) async fn endpoint_lifecycle_is_limited_to_its_tenant(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let scope = stage.scope();
    let new = new_endpoint("hook", &[Kind::RunFailed]);
    let id = stage.endpoint_id();
    let make = async |id| {
        let created = stage
            .store
            .create_endpoint(stage.tenant, id, &new, stage.now());
        created.await
    };
    let secret = make(id).await.unwrap();
    let again = make(id).await;
    assert!(
        matches!(again, Err(Error::AlreadyCreated { .. })),
        "{again:?}"
    );
    let again = make(stage.endpoint_id()).await;
    assert!(matches!(again, Err(Error::NameTaken { .. })), "{again:?}");
    let of_nobody = NewEndpoint {
        automation: Some(model::AutomationId::from_uuid(crate::fixtures::id())),
        ..new_endpoint("other", &[])
    };
    let refused = stage
        .store
        .create_endpoint(stage.tenant, stage.endpoint_id(), &of_nobody, stage.now())
        .await;
    assert!(
        matches!(refused, Err(Error::NotFound { .. })),
        "{refused:?}"
    );

    let until = stage.now() + Duration::from_mins(1);
    let rotated = stage
        .store
        .rotate_endpoint_secret(scope, id, until, None, stage.now());
    let rotated = rotated.await.unwrap();
    let (found, secrets) = stage.store.endpoint_secrets(scope, id).await.unwrap();
    assert_eq!(secrets.valid_at(stage.now()), [&rotated, &secret]);
    assert_eq!(secrets.valid_at(until), [&rotated]);
    assert_eq!(found.previous_secret_until, Some(until));

    let to = new_endpoint("renamed", &[Kind::RunFailed, Kind::RunMissed]);
    let edit = async |seen| {
        stage
            .store
            .edit_endpoint(scope, id, seen, &to, stage.now())
            .await
    };
    edit(found.updated_at).await.unwrap();
    let stale = edit(found.updated_at).await;
    assert!(
        matches!(stale, Err(Error::StaleVersion { .. })),
        "{stale:?}"
    );
    let listed = stage.store.endpoints(scope).await.unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(
        (listed[0].name.as_str(), &listed[0].events),
        ("renamed", &to.events)
    );

    let theirs = stage
        .store
        .ensure_tenant("theirs", stage.now())
        .await
        .unwrap();
    let them = Scope::Tenant(theirs);
    let delivery = stage.test_endpoint(stage.tenant, id).await.unwrap();
    assert!(stage.store.endpoints(them).await.unwrap().is_empty());
    let refusals = [
        stage.store.endpoint(them, id).await.err(),
        stage.store.delete_endpoint(them, id).await.err(),
        stage
            .store
            .rotate_endpoint_secret(them, id, until, None, until)
            .await
            .err(),
        stage
            .store
            .disable_endpoint(them, id, "x", until)
            .await
            .err(),
        stage.store.enable_endpoint(theirs, id, until).await.err(),
        stage
            .store
            .edit_endpoint(them, id, until, &to, until)
            .await
            .err(),
        stage.test_endpoint(theirs, id).await.err(),
        stage.store.deliveries(them, id, None, 9).await.err(),
        stage.store.delivery(them, delivery).await.err(),
        stage.store.redeliver(them, delivery, until).await.err(),
    ];
    for refusal in refusals {
        assert!(
            matches!(refusal, Some(Error::NotFound { .. })),
            "{refusal:?}"
        );
    }
    stage.store.delete_endpoint(scope, id).await.unwrap();
    assert_eq!(db.count(Scope::System, "webhook_deliveries").await, 0);
}

pub(crate) async fn endpoint_of_deleted_automation_is_disabled_with_reason(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let deleted = stage.automation("gone", SessionMode::Fresh).await;
    let stays = stage.automation("stays", SessionMode::Fresh).await;
    let mut endpoints = Vec::new();
    for (name, automation) in [
        ("of it", Some(deleted)),
        ("of another", Some(stays)),
        ("all", None),
    ] {
        let id = stage.endpoint_id();
        let new = NewEndpoint {
            automation,
            ..new_endpoint(name, &[Kind::RunFailed])
        };
        let endpoint = stage
            .store
            .create_endpoint(stage.tenant, id, &new, stage.now());
        endpoint.await.unwrap();
        endpoints.push(id);
    }
    let on_its_way = stage
        .test_endpoint(stage.tenant, endpoints[0])
        .await
        .unwrap();
    stage.advance_seconds(1);
    let deleted = stage
        .store
        .delete_automation(stage.scope(), deleted, stage.now());
    deleted.await.unwrap();
    let mut disabled = Vec::new();
    for id in endpoints {
        let endpoint = stage.store.endpoint(stage.scope(), id).await.unwrap();
        disabled.push((endpoint.disabled_at, endpoint.disabled_reason));
    }
    let why = "its automation was deleted".to_owned();
    assert_eq!(
        disabled,
        [(Some(stage.now()), Some(why)), (None, None), (None, None)]
    );
    // A delivery in progress continues.
    let delivery = stage.store.delivery(stage.scope(), on_its_way).await;
    assert_eq!(delivery.unwrap().0.state.status(), DeliveryStatus::Pending);
}
