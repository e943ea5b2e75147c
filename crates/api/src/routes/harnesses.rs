//! Harnesses: the command lines that start agents.

use std::collections::BTreeMap;

use api_types::{CheckRequest, Checked, Harness, HarnessConfigRequest, HarnessView, Page};
use axum::Json as Answer;
use model::{
    access::Permission,
    harness::{self, HarnessConfig},
};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    Api,
    caller::Caller,
    etag::{self, ETag, IfMatch},
    extract::{Json, OptionalJson, Path},
    problem::Failure,
};

/// The description of the path parameter that names a harness.
const NAMED: &str = "Its name or its id";
/// The text in place of the values of environment variables, for callers that may not change harnesses.
const HIDDEN: &str = "(hidden)";

pub(super) fn routes() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(list_harnesses))
        .routes(routes!(show_harness, put_harness))
        .routes(routes!(check_harness))
}

/// List harnesses
///
/// Returns all harnesses on one page, in the order of their names. For each, `presence` shows whether its agent is
/// installed and signed in on the machine of the server. Callers without the permission `harnesses:write` do not see
/// the values of environment variables.
#[utoipa::path(
    get,
    path = "/harnesses",
    tag = "harnesses",
    responses((status = OK, description = "All harnesses on one page", body = Page<HarnessView>)),
    security(("token" = ["harnesses:read"]), ("browser" = []))
)]
async fn list_harnesses(caller: Caller) -> Result<Answer<Page<HarnessView>>, Failure> {
    let service = caller.may(Permission::HarnessesRead)?;
    let environment = &caller.api.shared.environment;
    let views = service.harnesses().await?.into_iter().map(|harness| {
        let presence = service::presence(&harness.config, environment);
        HarnessView {
            harness: shown(&caller, harness),
            presence,
        }
    });
    Ok(Answer(Page::whole(views.collect())))
}

/// Show a harness
///
/// Returns one harness with its configuration and with the capabilities that its agent reported when it was last
/// started. Callers without the permission `harnesses:write` do not see the values of environment variables.
#[utoipa::path(
    get,
    path = "/harnesses/{harness}",
    tag = "harnesses",
    params(("harness" = String, Path, description = NAMED)),
    responses((
        status = OK,
        description = "The harness",
        body = Harness,
        headers(("ETag" = String, description = "What of it can be edited"))
    )),
    security(("token" = ["harnesses:read"]), ("browser" = []))
)]
async fn show_harness(
    caller: Caller,
    Path([harness]): Path<1>,
) -> Result<(ETag, Answer<Harness>), Failure> {
    let service = caller.may(Permission::HarnessesRead)?;
    let found = service.harness(&harness).await?;
    Ok((
        etag::header(&editable(&found)),
        Answer(shown(&caller, found)),
    ))
}

/// Create or replace a harness
///
/// Stores the configuration of a harness: a command line that starts an agent and speaks the Agent Client Protocol.
/// The server forgets the capabilities of the previous agent and does not know those of the new one until it starts
/// that agent. Returns 412 if `If-Match` is set and the harness has changed or does not exist.
#[utoipa::path(
    put,
    path = "/harnesses/{harness}",
    tag = "harnesses",
    params(
        ("harness" = String, Path, description = "Its name"),
        ("If-Match" = Option<String>, Header, description = "The ETag of what was seen")
    ),
    request_body = HarnessConfigRequest,
    responses((
        status = OK,
        description = "The harness",
        body = Harness,
        headers(("ETag" = String, description = "What of it can be edited"))
    )),
    security(("token" = ["harnesses:write"]), ("browser" = []))
)]
async fn put_harness(
    caller: Caller,
    Path([name]): Path<1>,
    seen: IfMatch,
    request: Json<HarnessConfigRequest>,
) -> Result<(ETag, Answer<Harness>), Failure> {
    let service = caller.may(Permission::HarnessesWrite)?;
    let config = HarnessConfig::from(request.value);
    let put = match service.harness(&name).await {
        // The store compares the row with the configuration that was checked, so that an edit between this check and
        // the write is not lost.
        Ok(before) if seen.is_given() => {
            seen.check("the harness", &editable(&before))?;
            service.edit_harness(&before, &config).await?
        }
        Ok(_) => service.add_harness(&name, &config).await?,
        Err(error) if error.kind() == service::Kind::NotFound => {
            seen.check_absent("the harness")?;
            service.add_harness(&name, &config).await?
        }
        Err(error) => return Err(error.into()),
    };
    Ok((etag::header(&editable(&put)), Answer(put.into())))
}

/// Check a harness
///
/// Starts the agent, stores and returns its capabilities, and stops it. The request takes as long as the agent, at
/// most ten minutes. Returns 502 if the agent does not start.
#[utoipa::path(
    post,
    path = "/harnesses/{harness}/check",
    tag = "harnesses",
    params(("harness" = String, Path, description = NAMED)),
    request_body(content = Option<CheckRequest>, description = "How far the look goes"),
    responses((status = OK, description = "What was found", body = Checked)),
    security(("token" = ["harnesses:write"]), ("browser" = []))
)]
async fn check_harness(
    caller: Caller,
    Path([harness]): Path<1>,
    OptionalJson(request): OptionalJson<CheckRequest>,
) -> Result<Answer<Checked>, Failure> {
    let service = caller.may(Permission::HarnessesWrite)?;
    Ok(Answer(
        service.check_harness(&harness, request.depth).await?,
    ))
}

/// Returns the part of a harness that a request can change.
fn editable(harness: &harness::Harness) -> HarnessConfigRequest {
    harness.config.clone().into()
}

/// Returns a harness as the caller may see it. The values of environment variables may be secrets, so that they are
/// replaced unless the caller may change harnesses.
fn shown(caller: &Caller, harness: harness::Harness) -> Harness {
    let mut harness = Harness::from(harness);
    if caller.may(Permission::HarnessesWrite).is_err() {
        let names = std::mem::take(&mut harness.config.env).into_keys();
        let hidden = names.map(|name| (name, HIDDEN.to_owned()));
        harness.config.env = hidden.collect::<BTreeMap<_, _>>();
    }
    harness
}
