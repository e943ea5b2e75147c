//! Tenants: created once, and isolated from each other.

use futures::future::join_all;
use model::{TenantId, budget::Budget};
use store::{Error, Scope};
use testkit::clock::SeededEntropy;

pub(crate) use crate::sessions::seats::seat_of_other_tenant_or_session_is_not_found;
use crate::{
    fixtures::TestStore,
    stage::{Stage, unique},
};

fn new_id(stage: &Stage) -> TenantId {
    TenantId::generate(stage.now(), &SeededEntropy::new(unique()))
}

pub(crate) async fn tenant_name_and_id_are_unique(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let (one, other) = (new_id(&stage), new_id(&stage));
    let create = |id, name| stage.store.create_tenant(id, name, stage.now());
    create(one, "one").await.unwrap();
    assert!(matches!(
        create(other, "one").await,
        Err(Error::NameTaken { .. })
    ));
    assert!(matches!(
        create(one, "one").await,
        Err(Error::AlreadyCreated { .. })
    ));
    assert!(matches!(
        create(one, "two").await,
        Err(Error::AlreadyCreated { .. })
    ));
    assert_eq!(
        stage.store.ensure_tenant("one", stage.now()).await.unwrap(),
        one
    );
    create(other, "two").await.unwrap();
    assert_eq!(db.count(Scope::System, "tenants").await, 3);
}

pub(crate) async fn tenant_is_readable_by_itself_and_system_only(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let one = new_id(&stage);
    let created = stage.store.create_tenant(one, "one", stage.now());
    created.await.unwrap();
    for scope in [Scope::System, Scope::Tenant(one)] {
        let found = stage.store.tenant(scope, one).await.unwrap();
        assert_eq!((found.id, found.name.as_str()), (one, "one"));
        assert_eq!(found.created_at, stage.now());
    }
    let other = stage.store.tenant(stage.scope(), one).await;
    assert!(matches!(other, Err(Error::NotFound { .. })));
}

pub(crate) async fn concurrent_budget_edits_have_one_winner(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let budget = |limit: &str| {
        let mut budget = Budget::default();
        budget.set(limit.parse().unwrap()).unwrap();
        budget
    };
    let set = async |seen: Option<&Budget>, to: &Budget| {
        let set = stage
            .store
            .set_tenant_budget(stage.tenant, seen, to, stage.now());
        set.await
    };
    let there = async || {
        let found = stage.store.tenant(stage.scope(), stage.tenant).await;
        found.unwrap().budget
    };
    let (none, one, other) = (Budget::default(), budget("1 turn/day"), budget("2 USD/day"));
    set(Some(&none), &one).await.unwrap();
    for stale in [&none, &other] {
        let refused = set(Some(stale), &other).await;
        assert!(
            matches!(refused, Err(Error::StaleVersion { .. })),
            "{refused:?}"
        );
    }
    assert_eq!(there().await, one);
    // A caller without a version overwrites the budget.
    set(None, &other).await.unwrap();
    set(Some(&other), &none).await.unwrap();
    // Of the callers with the same version, one wins.
    for round in 3..8 {
        let seen = there().await;
        let racers = (0..4).map(|racer| {
            let to = budget(&format!("{} turns/day", 10 * round + racer));
            let (set, seen) = (&set, &seen);
            async move { set(Some(seen), &to).await }
        });
        let results = join_all(racers).await;
        let won = results.iter().filter(|set| set.is_ok()).count();
        assert_eq!(won, 1, "{results:?}");
        assert!(
            results
                .iter()
                .all(|it| matches!(it, Ok(()) | Err(Error::StaleVersion { .. })))
        );
    }
}
