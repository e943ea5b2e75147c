//! Tenants: made once, and seen by nobody else.

use model::TenantId;
use store::{Error, Scope};
use testkit::clock::SeededEntropy;

use crate::{
    fixtures::TestStore,
    stage::{Stage, unique},
};

fn new_id(stage: &Stage) -> TenantId {
    TenantId::generate(stage.now(), &SeededEntropy::new(unique()))
}

pub(crate) async fn a_tenants_name_and_its_id_are_used_once(db: &TestStore) {
    let stage = Stage::set(db).await;
    let (one, other) = (new_id(&stage), new_id(&stage));
    let create = |id, name| stage.store.create_tenant(id, name, stage.now());
    create(one, "one").await.unwrap();
    assert!(matches!(
        create(other, "one").await,
        Err(Error::Exists { .. })
    ));
    assert!(matches!(create(one, "one").await, Err(Error::Made { .. })));
    assert!(matches!(create(one, "two").await, Err(Error::Made { .. })));
    assert_eq!(
        stage.store.ensure_tenant("one", stage.now()).await.unwrap(),
        one
    );
    create(other, "two").await.unwrap();
    assert_eq!(db.count(Scope::System, "tenants").await, 3);
}

pub(crate) async fn a_tenant_is_read_by_itself_and_by_the_system(db: &TestStore) {
    let stage = Stage::set(db).await;
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
