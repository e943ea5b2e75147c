//! The runtime as the server of its instance, and the claim of runs.

use std::time::Duration;

use axum::Json;
use http::StatusCode;
use model::limits;
use runtime_api::{
    PROTOCOL,
    presence::{
        ClaimReply, GiveUpReply, GiveUpRequest, PresenceReply, PresenceRequest, PresenceStatus,
        RegisterReply, RegisterRequest, Registration,
    },
};
use service::{RuntimeClaim, RuntimeRegistration};
use tokio::time::Instant;

use super::approvals::bounded_wait;
use crate::{
    problem::ApiError,
    runtime_caller::{Body, PathRun, RuntimeCaller, parse_worker},
};

/// Registers the runtime as the server of its instance.
pub(super) async fn register(
    caller: RuntimeCaller,
    Body(request): Body<RegisterRequest>,
) -> Result<Json<RegisterReply>, ApiError> {
    let dead: Vec<_> = dead_workers(&request.dead_workers);
    let registered = caller.runtime.register(&request.version, &dead).await?;
    let timing = caller.timing();
    Ok(Json(match registered {
        RuntimeRegistration::Registered(instance_name) => RegisterReply::Registered(Registration {
            instance_name,
            protocol: PROTOCOL,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            now: caller.now(),
            heartbeat_millis: millis(timing.heartbeat),
            lease_millis: millis(timing.lease),
        }),
        RuntimeRegistration::InUse(other) => RegisterReply::InUse {
            worker: other.worker.to_string(),
            offline_at: other.last_heartbeat_at + limits::SERVER_OFFLINE_AFTER,
        },
    }))
}

/// Renews the presence of the runtime, and waits until one of its turns should send a heartbeat.
pub(super) async fn renew(
    caller: RuntimeCaller,
    Body(request): Body<PresenceRequest>,
) -> Result<Json<PresenceReply>, ApiError> {
    let (wait, began) = (bounded_wait(request.wait_millis), Instant::now());
    let presence = caller.runtime.presence(&request.runs, wait).await?;
    Ok(Json(PresenceReply {
        status: if presence.is_replaced {
            PresenceStatus::Replaced
        } else {
            PresenceStatus::Continue
        },
        waited_millis: millis(began.elapsed()),
        now: caller.now(),
        disturbed: presence.disturbed,
    }))
}

/// Records that the runtime has shut down.
pub(super) async fn stop(caller: RuntimeCaller) -> Result<StatusCode, ApiError> {
    caller.runtime.stop().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Gives up the runs of workers that no longer run.
pub(super) async fn give_up(
    caller: RuntimeCaller,
    Body(request): Body<GiveUpRequest>,
) -> Result<Json<GiveUpReply>, ApiError> {
    let runs = caller
        .runtime
        .give_up(&dead_workers(&request.workers))
        .await?;
    if !runs.is_empty() {
        caller.wake_loops();
    }
    Ok(Json(GiveUpReply { runs }))
}

/// Claims a run.
pub(super) async fn claim(
    caller: RuntimeCaller,
    PathRun(run): PathRun,
) -> Result<Json<ClaimReply>, ApiError> {
    caller.require_known_time()?;
    Ok(Json(match caller.runtime.claim(run).await? {
        RuntimeClaim::Claimed(claimed) => ClaimReply::Claimed {
            directory: claimed.directory,
            attempt: claimed.attempt,
            now: caller.now(),
        },
        RuntimeClaim::Over => ClaimReply::Over,
        RuntimeClaim::NotOfInstance => ClaimReply::NotOfInstance,
        RuntimeClaim::NotNow => ClaimReply::NotNow,
    }))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Returns the workers with these names. A name that no worker can have has no runs.
fn dead_workers(names: &[String]) -> Vec<model::WorkerId> {
    names.iter().filter_map(|name| parse_worker(name)).collect()
}
