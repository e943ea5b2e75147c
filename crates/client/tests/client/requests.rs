//! The requests that the client sends, and the results that it makes of responses, over every transport.

use api_types::{ProblemKind, RunFilterRequest, TokenRequest};
use axum::Json;
use client::{
    AutomationFilter, Client, Error, MessageRange, PageParams, RunFilter, SessionFilter,
    SessionMove, SocketAddress,
};
use http::{StatusCode, header};
use model::session::SessionType;
use serde_json::json;
use tokio::net::{TcpListener, UnixListener};

use crate::servers::{Echo, client_at, entropy, serve_responses};

fn server() -> Echo {
    Echo::responding(|| {
        Json(json!({ "version": "1.2.3", "serves": true, "now": "2026-05-04T09:00:00Z" }))
    })
}

fn problem(status: StatusCode, kind: &'static str) -> Echo {
    Echo::responding(move || {
        let body = json!({
            "type": "/api/v1/docs#problem", "kind": kind, "title": "A title",
            "status": status.as_u16(), "detail": "the request is not permitted", "hint": "ask",
        });
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        (status, kind, body.to_string())
    })
}

#[tokio::test]
async fn all_transports_send_same_request() {
    let echo = server();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("d".repeat(150));
    std::fs::create_dir(&deep).unwrap();
    let socket = SocketAddress::for_path(&deep.join("matins.sock")).unwrap();
    let unix = UnixListener::bind(socket.path()).unwrap();
    let by_tcp = tokio::spawn(axum::serve(tcp, echo.routes()).into_future());
    let by_unix = tokio::spawn(axum::serve(unix, echo.routes()).into_future());
    let clients = [
        client_at(address),
        Client::with_socket(socket, entropy()).unwrap(),
        echo.client(),
    ];
    for client in &clients {
        let server = client.server().await.unwrap();
        assert_eq!(server.version, "1.2.3", "{client:?}");
    }
    let asked = echo.recorded_requests();
    assert!(asked.iter().all(|asked| asked.target == "/api/v1/server"));
    let tokens: Vec<_> = asked
        .iter()
        .map(|asked| asked.header("authorization"))
        .collect();
    assert_eq!(tokens, [Some("Bearer mat_secret"), None, None]);
    by_tcp.abort();
    by_unix.abort();
}

#[tokio::test]
async fn base_path_of_server_address_is_kept() {
    let echo = server();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/below/", tcp.local_addr().unwrap());
    let serving = tokio::spawn(axum::serve(tcp, echo.routes()).into_future());
    let client = Client::with_address(&url, "mat_secret", entropy()).unwrap();
    client.server().await.unwrap();
    assert_eq!(echo.only_request().target, "/below/api/v1/server");
    serving.abort();
}

#[tokio::test]
async fn list_request_sends_only_set_query_params() {
    let echo = Echo::responding(|| Json(json!({ "items": [], "unreadable": [] })));
    let client = echo.client();
    client.sessions(&SessionFilter::default()).await.unwrap();
    let filter = SessionFilter {
        types: vec![SessionType::Regular, SessionType::ScheduleCron],
        text: Some("a & b".into()),
        by_change: true,
        page: PageParams::first(7),
        ..SessionFilter::default()
    };
    client.sessions(&filter).await.unwrap();
    let filter = RunFilter {
        runs: RunFilterRequest {
            session: Some("web:7".into()),
            status: vec![model::run::RunStatus::Failed],
            ..RunFilterRequest::default()
        },
        ..RunFilter::default()
    };
    client.runs(&filter).await.unwrap();
    let filter = AutomationFilter {
        page: PageParams {
            after: Some("ž".into()),
            limit: None,
        },
        ..AutomationFilter::default()
    };
    client.automations(&filter).await.unwrap();
    let last = MessageRange::Last(0);
    client.messages("web:7", last, None).await.unwrap();
    let earlier = MessageRange::Before(9);
    client.messages("web:7", earlier, Some(2)).await.unwrap();
    let targets: Vec<_> = echo
        .recorded_requests()
        .into_iter()
        .map(|asked| asked.target)
        .collect();
    assert_eq!(
        targets,
        [
            "/api/v1/sessions",
            "/api/v1/sessions?type=regular%2Cschedule_cron&text=a%20%26%20b&order=changed&limit=7",
            "/api/v1/runs?session=web%3A7&status=failed",
            "/api/v1/automations?after=%C5%BE",
            "/api/v1/sessions/web%3A7/messages?last=0",
            "/api/v1/sessions/web%3A7/messages?before=9&limit=2",
        ]
    );
}

#[tokio::test]
async fn each_creating_request_has_unique_key() {
    let echo = problem(StatusCode::CONFLICT, "refused");
    let client = echo.client();
    let request = TokenRequest {
        name: "ci".into(),
        role: model::access::Role::Viewer,
        scopes: None,
        expires_at: None,
    };
    client.create_token(&request).await.unwrap_err();
    client.create_token(&request).await.unwrap_err();
    client.fire_automation("a").await.unwrap_err();
    client.send_message("s", "Hello").await.unwrap_err();
    client
        .move_session("s", SessionMove::Pause, Some("lunch"))
        .await
        .unwrap_err();
    let asked = echo.recorded_requests();
    let keys: Vec<_> = asked
        .iter()
        .map(|asked| asked.header("idempotency-key"))
        .collect();
    assert!(keys[..4].iter().all(|key| key.unwrap().len() == 32));
    assert_eq!(keys[4], None, "a move creates nothing");
    let different: std::collections::BTreeSet<_> = keys.iter().collect();
    assert_eq!(different.len(), 5);
    assert_eq!(asked[3].body, json!({ "text": "Hello" }));
    assert_eq!(asked[4].body, json!({ "reason": "lunch" }));
    assert_eq!(asked[4].target, "/api/v1/sessions/s/pause");
}

#[tokio::test]
async fn problem_response_keeps_kind_and_hint() {
    for (status, word, kind) in [
        (401, "unauthenticated", ProblemKind::Unauthenticated),
        (403, "forbidden", ProblemKind::Forbidden),
        (404, "not-found", ProblemKind::NotFound),
        (409, "refused", ProblemKind::Refused),
        (412, "changed", ProblemKind::Changed),
        (503, "unavailable", ProblemKind::Unavailable),
    ] {
        let echo = problem(StatusCode::from_u16(status).unwrap(), word);
        let error = echo.client().whoami().await.unwrap_err();
        assert_eq!(error.kind(), Some(kind));
        assert_eq!(error.hint(), Some("ask"));
        assert_eq!(error.to_string(), "the request is not permitted");
        assert_eq!(
            echo.recorded_requests().len(),
            1,
            "a refusal is not retried"
        );
    }
}

#[tokio::test]
async fn response_of_foreign_server_is_malformed_error() {
    let moved = [(header::LOCATION, "http://127.0.0.1:9/elsewhere")];
    for (echo, status) in [
        (Echo::responding(|| "<html>"), 200),
        (Echo::responding(|| Json(json!({ "version": 1 }))), 200),
        (Echo::responding(|| (StatusCode::NOT_FOUND, "nothing")), 404),
        (Echo::responding(|| (StatusCode::BAD_GATEWAY, "<h1>")), 502),
        (
            Echo::responding(move || (StatusCode::FOUND, moved.clone())),
            302,
        ),
    ] {
        let error = echo.client().server().await.unwrap_err();
        let Error::Malformed { status: given, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(given, status);
    }
}

#[tokio::test]
async fn redirect_is_not_followed() {
    let elsewhere = server();
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let location = format!("http://{}/api/v1/server", tcp.local_addr().unwrap());
    let serving = tokio::spawn(axum::serve(tcp, elsewhere.routes()).into_future());
    let echo = Echo::responding(move || {
        let location = [(header::LOCATION, location.clone())];
        (StatusCode::TEMPORARY_REDIRECT, location)
    });
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = tcp.local_addr().unwrap();
    let redirecting = tokio::spawn(axum::serve(tcp, echo.routes()).into_future());
    client_at(address).server().await.unwrap_err();
    assert_eq!(echo.recorded_requests().len(), 1);
    assert!(elsewhere.recorded_requests().is_empty());
    serving.abort();
    redirecting.abort();
}

#[tokio::test]
async fn blocked_session_deletion_is_result_not_error() {
    let echo = Echo::responding(|| {
        let body = json!({
            "type": "/api/v1/docs#problem-refused", "kind": "refused", "title": "A title",
            "status": 409, "detail": "automations are bound to the session", "automations": [],
        });
        let kind = [(header::CONTENT_TYPE, "application/problem+json")];
        (StatusCode::CONFLICT, kind, body.to_string())
    });
    let answer = echo.client().delete_session("s", false).await.unwrap();
    assert!(!answer.deleted && answer.blocked_by_automations);
    let refused = problem(StatusCode::CONFLICT, "refused");
    let error = refused.client().delete_session("s", true).await;
    assert_eq!(error.unwrap_err().kind(), Some(ProblemKind::Refused));
    let target = "/api/v1/sessions/s?with_automations=true";
    assert_eq!(refused.only_request().target, target);
}

#[tokio::test]
async fn automation_edit_sends_if_match() {
    let echo = problem(StatusCode::PRECONDITION_FAILED, "changed");
    let client = echo.client();
    let patch = api_types::AutomationPatch {
        name: api_types::Change::To("b".into()),
        ..api_types::AutomationPatch::default()
    };
    let tag = Some("\"0a\"");
    let edited = client.edit_automation("a", &patch, true, tag).await;
    assert_eq!(edited.unwrap_err().kind(), Some(ProblemKind::Changed));
    let asked = echo.only_request();
    assert_eq!(asked.method, http::Method::PATCH);
    assert_eq!(asked.target, "/api/v1/automations/a?reset=true");
    assert_eq!(asked.header("if-match"), tag);
    assert_eq!(asked.header("content-type"), Some("application/json"));
    assert_eq!(asked.body, json!({ "name": "b" }));
}

#[tokio::test]
async fn budget_and_trigger_changes_send_if_match() {
    let tag = Some("\"0a\"");
    let hook = api_types::TriggerRequest::Webhook {};
    for number in 0..3 {
        let echo = problem(StatusCode::PRECONDITION_FAILED, "changed");
        let client = echo.client();
        let budget = api_types::BudgetRequest::default();
        let refused = match number {
            0 => client.set_tenant_budget("t", &budget, tag).await.err(),
            1 => client.add_trigger("a", &hook, tag).await.err(),
            _ => client.remove_trigger("a", "trg_1", tag).await.err(),
        };
        assert_eq!(refused.unwrap().kind(), Some(ProblemKind::Changed));
        assert_eq!(echo.only_request().header("if-match"), tag, "{number}");
    }
}

#[tokio::test]
async fn empty_or_relative_name_is_not_found_without_request() {
    let echo = server();
    for name in ["", ".", ".."] {
        let error = echo.client().session(name).await.unwrap_err();
        assert_eq!(error.kind(), Some(ProblemKind::NotFound), "{error}");
    }
    assert!(echo.recorded_requests().is_empty());
}

#[tokio::test]
async fn response_of_another_api_version_names_both_versions() {
    let versions = [("1", "API 1"), ("3", "API 3")];
    for (version, named) in versions {
        let echo = Echo::responding(move || {
            let headers = [(api_types::API_VERSION_HEADER, version)];
            (headers, Json(json!({ "version": "1.2.3" })))
        });
        let error = echo.client().server().await.unwrap_err();
        let expected = format!(" speaks {named}, this program API 2; use the same version of both");
        assert!(error.to_string().ends_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn response_without_api_version_is_of_the_first_one() {
    let response = |status: &str, media: &str| {
        let head = format!("HTTP/1.1 {status}\r\ncontent-type: {media}\r\nconnection: close");
        format!("{head}\r\ncontent-length: 2\r\n\r\n{{}}").into_bytes()
    };
    let of_first = [
        ("200 OK", "application/json"),
        ("404 Not Found", "application/problem+json"),
    ];
    for (status, media) in of_first {
        let (address, task) = serve_responses(vec![response(status, media)]).await;
        let error = client_at(address).server().await.unwrap_err();
        assert!(error.to_string().contains("speaks API 1"), "{error}");
        task.await.unwrap();
    }
    // A proxy that cannot reach the server answers by itself.
    let bad_gateway = response("502 Bad Gateway", "application/json");
    let (address, task) = serve_responses(vec![bad_gateway]).await;
    let error = client_at(address).server().await.unwrap_err();
    assert!(matches!(error, Error::Malformed { .. }), "{error}");
    task.await.unwrap();
}
