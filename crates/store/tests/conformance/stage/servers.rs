//! Several tenants and several servers of one database.

use model::{InstanceId, WorkerId};
use store::{InstanceServer, ServerHeartbeatReply, SessionFilter, SessionOrder};

use super::{Stage, instance, store_over};
use crate::fixtures::TestStore;

/// Returns two tenants of one database.
pub(crate) async fn two_tenants(db: &TestStore) -> [Stage; 2] {
    let one = Stage::setup(db).await;
    let other = Stage::setup_tenant("other", store_over(&db.database)).await;
    [one, other]
}

impl Stage {
    /// Registers another host and returns its instance.
    pub(crate) async fn second_instance(&self) -> InstanceId {
        let other = instance(2);
        let registered = self
            .store
            .register_instance(self.tenant, other, "pod", self.now());
        registered.await.unwrap();
        other
    }

    /// Removes an instance.
    pub(crate) async fn remove_instance(&self, instance: InstanceId) {
        let removed = self
            .store
            .remove_instance(self.tenant, instance, self.now());
        removed.await.unwrap();
    }

    /// Returns the name of the removed instance of each session, in order.
    pub(crate) async fn marks_of_sessions(&self) -> Vec<Option<String>> {
        let (filter, order) = (
            SessionFilter::default(),
            SessionOrder::Created { after: None },
        );
        let items = self.store.session_items(self.tenant, &filter, order, 9, 0);
        let items = items.await.unwrap().into_iter();
        let mut marks: Vec<_> = items.map(|item| item.removed_instance).collect();
        marks.sort();
        marks
    }
}

/// Queues `runs` runs of a tenant, each in a new session.
pub(crate) async fn queue(stage: &Stage, runs: usize) {
    for _ in 0..runs {
        let session = stage.session().await;
        stage.send_message(session, "hello").await;
    }
}

/// Claims `limit` runs and returns the number of each tenant's.
pub(crate) async fn claim(stages: &[Stage; 2], limit: u32) -> [usize; 2] {
    let stage = &stages[0];
    let claimed = stage
        .store
        .claim(&stage.worker, stage.instance, limit, None, stage.now());
    let claimed = claimed.await.unwrap();
    let count = |stage: &Stage| {
        claimed
            .iter()
            .filter(|run| run.tenant == stage.tenant)
            .count()
    };
    [count(&stages[0]), count(&stages[1])]
}

/// Registers a server with a name for the stage's data folder.
pub(crate) async fn serve_after(
    stage: &Stage,
    worker: &WorkerId,
    before: Option<&WorkerId>,
) -> bool {
    let registered =
        stage
            .store
            .claim_instance(stage.instance, worker, before, "1.2.3", stage.now());
    registered.await.unwrap()
}

/// Registers a server for the stage's data folder, after the present one, and returns its worker.
pub(crate) async fn serve(stage: &Stage, name: &str) -> WorkerId {
    let worker = WorkerId::from_stored(name.into());
    let before = stage.store.instance_server(stage.instance).await.unwrap();
    let before = before.map(|before| before.worker);
    assert!(serve_after(stage, &worker, before.as_ref()).await);
    worker
}

/// Returns the server that serves the stage's data folder, or the last one that did.
pub(crate) async fn last_server(stage: &Stage) -> InstanceServer {
    let server = stage.store.instance_server(stage.instance).await;
    server.unwrap().unwrap()
}

/// Renews the heartbeat of a server.
pub(crate) async fn presence(stage: &Stage, worker: &WorkerId) -> ServerHeartbeatReply {
    let reply = stage
        .store
        .renew_server_heartbeat(stage.instance, worker, stage.now());
    reply.await.unwrap()
}

/// Returns whether the stage's instance is listed as online, and the name of its last server.
pub(crate) async fn online_server(stage: &Stage) -> (bool, String) {
    let all = stage.store.instances(stage.scope()).await.unwrap();
    let found = all.iter().find(|other| other.id == stage.instance).unwrap();
    let server = found.server.as_ref().unwrap();
    assert_eq!(server.version, "1.2.3");
    assert_eq!(found.last_seen_at, Some(server.last_heartbeat_at));
    let read = stage.store.served_instance(stage.tenant, stage.instance);
    assert_eq!(read.await.unwrap().unwrap().server.as_ref(), Some(server));
    let mut servers = all.iter().filter_map(|other| other.server.as_ref());
    let any = servers.any(|any| any.is_online(stage.now()));
    let read = stage.store.has_online_server(stage.tenant, stage.now());
    assert_eq!(read.await.unwrap(), any);
    (server.is_online(stage.now()), server.worker.to_string())
}
