//! Asking people, and waiting for what they decide, here or on another replica.

use std::time::Duration;

use futures::future::BoxFuture;
use model::{ApprovalId, RunId, SessionId, approval::Question, permission::Verdict, turn::Settled};
use store::{Changes, Error, Scope};
use tokio::time::{Instant, sleep, sleep_until};

use crate::Host;

/// The pause while the database is away. The turn's own limits end it.
const PAUSE: Duration = Duration::from_secs(1);

/// Asks for a permission on behalf of a turn, and waits for the answer as long as `patience` at the most;
/// then it is denied.
pub(crate) async fn ask(
    host: &Host,
    run: RunId,
    session: Option<SessionId>,
    question: &Question,
    patience: Duration,
) -> Result<Verdict, Error> {
    let Host { store, worker, .. } = host;
    let until = Instant::now() + patience;
    let now = host.now();
    let (id, deadline) = (ApprovalId::generate(now, &*host.entropy), now + patience);
    // It listens before it asks, so that no answer is missed.
    let mut changes = store.changes();
    let asked = again(|| Box::pin(store.ask(run, worker, id, question, deadline, now))).await?;
    if asked == Settled::Lost {
        return Ok(Verdict::Deny);
    }
    tracing::info!(%run, approval = %id, "{run} waits for a person: {id}");
    loop {
        let approval = again(|| Box::pin(store.approval(Scope::System, id))).await?;
        if let Some(verdict) = approval.status().verdict() {
            return Ok(verdict);
        }
        tokio::select! {
            () = changed(&mut changes, session) => {}
            () = sleep_until(until) => break,
        }
    }
    // A decision that came at the last moment stands.
    let state = again(|| Box::pin(store.expire(id, host.now()))).await?;
    Ok(state.verdict().unwrap_or(Verdict::Deny))
}

/// Waits until the log of a session may have grown.
async fn changed(changes: &mut Changes, session: Option<SessionId>) {
    loop {
        let changed = changes.next().await;
        let grown = session.is_none_or(|session| changed.logs.contains(&session.uuid()));
        if changed.everything || grown {
            return;
        }
    }
}

/// Does something again for as long as the database is only away.
async fn again<'a, T>(doing: impl Fn() -> BoxFuture<'a, Result<T, Error>>) -> Result<T, Error> {
    loop {
        match doing().await {
            Err(error) if error.is_transient() => {
                tracing::warn!(%error, "failed to ask a person, will try again");
                sleep(PAUSE).await;
            }
            done => return done,
        }
    }
}
