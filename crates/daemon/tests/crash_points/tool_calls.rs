//! Calls of tools with the secret of a run whose process was aborted. Each tool that writes makes, changes or deletes
//! something before the abort. After it, the same tools must change nothing.

use std::{collections::BTreeSet, time::Duration};

use model::{
    AgentId, RunId, SessionId, Timestamp, WorkerId,
    artifact::ArtifactContent,
    entity::SeatSettings,
    memory::MemoryOwner,
    permission::PermissionRules,
    policy::{Overlap, Policies, SessionMode},
    question::QuestionBody,
    schedule::Spec,
};
use serde_json::json;
use store::{
    Error, MemoryPage, NewAgentAutomation, NewArtifact, NewAutomation, NewMemoryEntry, NewQuestion,
    Page, QuestionFilter, Scope, Store, ToolCaller, database::Statement, params,
};

use crate::checks::snapshot;

/// The SHA-256 of the secret of a run that a test begins.
pub(crate) const SECRET_HASH: [u8; 32] = [7; 32];

/// Longer than any test, so that only the end of a run refuses a call, and never a stale heartbeat.
const NEVER_STALE: Duration = Duration::from_hours(10_000);

/// Longer than any test, so that nothing that an agent makes is due or expires.
const DISTANT: Duration = Duration::from_hours(20_000);

/// Returns the agent of a run as a caller of tools.
pub(crate) fn caller(run: RunId, worker: WorkerId, secret: [u8; 32]) -> ToolCaller {
    ToolCaller {
        run,
        secret,
        worker,
        stale_after: NEVER_STALE,
    }
}

/// Returns the caller whose secret the row of a run holds, as its worker has begun it. Returns `None` if the run has not
/// begun.
pub(crate) async fn caller_of_row(
    store: &Store,
    run: RunId,
    worker: WorkerId,
) -> Option<ToolCaller> {
    static SECRET: Statement = Statement::new(
        "the secret of a run",
        "select secret_hash from agent_runs where id = $1",
        "select secret_hash from agent_runs where id = $1",
    );
    let mut tx = store.database().begin_read(Scope::System).await.unwrap();
    let row = tx.fetch_one(&SECRET, params![run]).await.unwrap();
    let hash: Vec<u8> = row.optional("secret_hash").unwrap()?;
    Some(caller(run, worker, hash.try_into().unwrap()))
}

/// The results of one call of each tool that writes.
struct Calls([(&'static str, Result<(), Error>); 6]);

/// Calls each tool that writes: makes objects of the name `made`, and deletes those of the name `deleted`.
async fn call_each_tool(
    store: &Store,
    caller: &ToolCaller,
    session: SessionId,
    (made, deleted): (&str, &str),
    now: Timestamp,
) -> Calls {
    let seats = store.seats(Scope::System, session).await.unwrap();
    let name = format!("{made} of {}", caller.run);
    let automation = NewAgentAutomation {
        name: made.into(),
        new: automation(name, seats[0].agent_id, now),
        expires_at: now + DISTANT,
        is_proposal: false,
    };
    let entry = NewMemoryEntry {
        key: made.into(),
        value: "green".into(),
        confidence: 1.0,
        expires_at: None,
    };
    let question = NewQuestion {
        text: format!("{made}?"),
        body: QuestionBody {
            options: Vec::new(),
            default: Some(json!("no")),
            schema: None,
        },
        deadline: now + DISTANT,
    };
    let artifact = NewArtifact {
        name: made.into(),
        media_type: "text/uri-list".into(),
        content: ArtifactContent::Uri(format!("https://example.com/{made}")),
    };
    let removed = store.delete_agent_automation(caller, deleted, now).await;
    let added = store
        .create_agent_automation(caller, &automation, now)
        .await;
    let forgotten = store.forget(caller, deleted, now).await;
    let remembered = store.remember(caller, &entry, now).await;
    let asked = store.ask_person(caller, &question, now).await;
    let saved = store.save_artifact(caller, &artifact, now).await;
    Calls([
        ("cron remove", removed.map(drop)),
        ("cron add", added.map(drop)),
        ("forget", forgotten.map(drop)),
        ("remember", remembered.map(drop)),
        ("ask_person", asked.map(drop)),
        ("save_artifact", saved.map(drop)),
    ])
}

fn automation(name: String, agent: AgentId, now: Timestamp) -> NewAutomation {
    NewAutomation {
        name,
        prompt: "Check it.".into(),
        agent,
        cwd: None,
        placed_on: None,
        session_mode: SessionMode::Bound,
        bound_session_key: None,
        policies: Policies {
            overlap: Some(Overlap::Queue),
            ..Policies::default()
        },
        settings: SeatSettings::default(),
        permissions: PermissionRules::default(),
        triggers: vec![Spec::At {
            at: now + DISTANT,
            zone: "UTC".into(),
        }],
    }
}

/// Lets the agent of a running run make something with each tool that writes, which a later call could delete.
pub(crate) async fn write_with_each_tool(
    store: &Store,
    caller: &ToolCaller,
    session: SessionId,
    now: Timestamp,
) {
    let Calls(calls) = call_each_tool(store, caller, session, ("kept", "nothing"), now).await;
    for (tool, result) in calls {
        result.unwrap_or_else(|error| panic!("{tool}: {error:?}"));
    }
}

/// Checks that a call of each tool that writes is refused because the run is over, and changes no row.
pub(crate) async fn check_calls_are_refused(
    store: &Store,
    caller: &ToolCaller,
    session: SessionId,
    now: Timestamp,
) {
    let before = rows(store, caller.run, session, now).await;
    let Calls(calls) = call_each_tool(store, caller, session, ("late", "kept"), now).await;
    for (tool, result) in calls {
        assert!(
            matches!(result, Err(Error::RunOver { run }) if run == caller.run),
            "I4: {tool}: {result:?}"
        );
    }
    let after = rows(store, caller.run, session, now).await;
    assert_eq!(after, before, "I4: {:?}", caller.run);
}

/// Returns everything that is stored, with the objects that tools make in a session, to compare before and after.
async fn rows(store: &Store, run: RunId, session: SessionId, now: Timestamp) -> BTreeSet<String> {
    let mut rows = snapshot(store).await;
    let run = store.run(Scope::System, run).await.unwrap();
    let owners = [
        Some(MemoryOwner::Session(session)),
        run.automation_id.map(MemoryOwner::Automation),
    ];
    for owner in owners.into_iter().flatten() {
        let page = MemoryPage {
            limit: 1000,
            ..MemoryPage::default()
        };
        let entries = store.memory_entries(Scope::System, owner, &page, now).await;
        rows.insert(format!("{:?}", entries.unwrap()));
    }
    let filter = QuestionFilter {
        session: Some(session),
        ..QuestionFilter::default()
    };
    let questions = store.question_page(run.tenant_id, filter, Page::first(1000));
    rows.insert(format!("{:?}", questions.await.unwrap()));
    let artifacts = store.artifact_page(run.tenant_id, session, "", Page::first(1000));
    rows.insert(format!("{:?}", artifacts.await.unwrap()));
    rows
}
