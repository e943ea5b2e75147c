//! The removal of agents: refused while anything uses them, and lasting.

use model::{SessionId, agent::AgentConfig, policy::SessionMode, session::SessionEvent};
use store::{AgentRemoval, Error};

use crate::{
    fixtures::TestStore,
    stage::{Stage, store_over},
};

/// Returns the names of the automations and the number of sessions that prevent the removal of the agent of these
/// tests. Returns `None` if the agent was removed.
async fn remove(stage: &Stage) -> Option<(Vec<String>, usize, bool)> {
    let removal = stage
        .store
        .remove_agent(stage.tenant, stage.agent, stage.now());
    match removal.await.unwrap() {
        AgentRemoval::Removed(_) => None,
        AgentRemoval::UsedBy {
            automations,
            sessions,
            more,
            ..
        } => {
            let names = automations.into_iter().map(|user| user.name);
            Some((names.collect(), sessions.len(), more))
        }
    }
}

async fn create_session(stage: &Stage) -> Result<SessionId, Error> {
    let new = stage.new_session(None);
    let created = stage.store.create_session(stage.tenant, &new, stage.now());
    Ok(created.await?.0)
}

async fn names(stage: &Stage) -> Vec<String> {
    let agents = stage.store.agents(stage.scope()).await.unwrap();
    agents.into_iter().map(|agent| agent.name).collect()
}

pub(crate) async fn agent_in_use_is_not_removed(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let session = stage.session().await;
    let automation = stage.automation("report", SessionMode::Fresh).await;
    assert_eq!(
        remove(&stage).await,
        Some((vec!["report".into()], 1, false))
    );
    stage
        .store
        .delete_automation(stage.scope(), automation, stage.now())
        .await
        .unwrap();
    assert_eq!(remove(&stage).await, Some((vec![], 1, false)));
    stage
        .store
        .transition_session(
            stage.scope(),
            session,
            SessionEvent::Pause,
            None,
            stage.now(),
        )
        .await
        .unwrap();
    assert_eq!(remove(&stage).await, Some((vec![], 1, false)));
    stage
        .store
        .transition_session(
            stage.scope(),
            session,
            SessionEvent::Resume,
            None,
            stage.now(),
        )
        .await
        .unwrap();
    stage
        .store
        .transition_session(
            stage.scope(),
            session,
            SessionEvent::Complete,
            None,
            stage.now(),
        )
        .await
        .unwrap();
    let before = names(&stage).await;
    assert_eq!(remove(&stage).await, None);
    assert_eq!(names(&stage).await.len(), before.len() - 1);
    // The closed session still names its agent.
    stage.store.agent(stage.scope(), stage.agent).await.unwrap();
}

pub(crate) async fn refused_agent_removal_names_limited_number_of_users(db: &TestStore) {
    let stage = Stage::setup(db).await;
    for _ in 0..21 {
        stage.session().await;
    }
    assert_eq!(remove(&stage).await, Some((vec![], 20, true)));
}

pub(crate) async fn removed_agent_is_unusable_until_put_again(db: &TestStore) {
    let stage = Stage::setup(db).await;
    let agent = stage.store.agent(stage.scope(), stage.agent).await.unwrap();
    assert_eq!(remove(&stage).await, None);
    let (tenant, now, config) = (stage.tenant, stage.now(), &agent.config);
    let not_found = |error: Error| assert!(matches!(error, Error::NotFound { .. }), "{error:?}");
    not_found(
        stage
            .store
            .remove_agent(tenant, agent.id, now)
            .await
            .unwrap_err(),
    );
    let edited = stage
        .store
        .edit_agent(tenant, agent.id, config, config, now);
    not_found(edited.await.unwrap_err());
    let offers = model::agent::OfferedCapabilities::default();
    let stored = stage
        .store
        .store_agent_offers(tenant, agent.id, config, &offers, now);
    not_found(stored.await.unwrap_err());
    not_found(create_session(&stage).await.unwrap_err());
    let new = stage.new_automation("report", SessionMode::Fresh);
    let created = stage.store.create_automation(tenant, None, &new, now);
    not_found(created.await.unwrap_err());
    // The agents of the catalogue are added at each start, and a removed one stays removed.
    let added = stage.store.add_agent(tenant, &agent.name, config, now);
    assert!(!added.await.unwrap());
    assert!(!names(&stage).await.contains(&agent.name));
    // A person adds it again.
    let again = AgentConfig::new(vec!["other".into()]);
    let put = stage
        .store
        .put_agent(tenant, &agent.name, &again, None, now);
    assert_eq!(put.await.unwrap().id, agent.id);
    assert!(names(&stage).await.contains(&agent.name));
    create_session(&stage).await.unwrap();
}

pub(crate) async fn removal_and_use_of_agent_have_one_winner(db: &TestStore) {
    for round in 0..8 {
        let tenant = format!("round-{round}");
        let stage = Stage::setup_tenant(&tenant, store_over(&db.database)).await;
        let (removed, created) = tokio::join!(remove(&stage), create_session(&stage));
        match (removed, created) {
            (None, Err(Error::NotFound { .. })) | (Some((_, 1, _)), Ok(_)) => {}
            both => panic!("{both:?}"),
        }
    }
}
