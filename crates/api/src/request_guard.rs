//! Checks that every request passes before any route: the host name by which the client reached the server, and the
//! page that made a browser send the request.
//!
//! A browser lets any page send requests to a server on the same machine. A page cannot choose three headers that the
//! browser sets: `Host` (a foreign name shows DNS rebinding), `Origin`, and `Sec-Fetch-Site` (Fetch Metadata).
//! **Invariant:** unless these headers are acceptable, the server answers 403 or 400 without running a route, so that
//! a foreign page learns nothing, not even from the error of a route.

use axum::{
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use service::quoted;

use crate::{Api, Peer, hosts::Hosts, problem::ApiError};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");

/// Headers of every response. They tell a browser to load nothing from elsewhere, to show the page in no frame, to
/// guess no content type, and to send no `Referer`, which would contain the path of a link.
const SECURITY_HEADERS: [(HeaderName, &str); 5] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
];

/// Runs a request if it passes the checks, and adds the security headers to the response.
pub(crate) async fn guard_request(
    State(api): State<Api>,
    request: Request,
    next: Next,
) -> Response {
    let checked = match request.extensions().get::<Peer>() {
        // Browsers cannot open a Unix socket, so that only programs of its owner send these requests.
        Some(Peer::Private) => Ok(()),
        Some(Peer::Agent) => Err(ApiError::forbidden(
            "a process of a turn cannot use the private socket of the data folder",
        )),
        Some(Peer::Network(_)) | None => check_headers(&request, &api.shared.hosts),
    };
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    // Refusals carry the headers as well. A header that a route has set stays.
    for (name, value) in SECURITY_HEADERS {
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    headers
        .entry(header::CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    response
}

/// Checks the headers of a request that came over the network.
///
/// # Errors
///
/// Returns 403 if the host is unknown or if a page of another origin sent the request, and 400 if a header is
/// malformed.
fn check_headers(request: &Request, hosts: &Hosts) -> Result<(), ApiError> {
    let headers = request.headers();
    let host = single_header(headers, &header::HOST)?.unwrap_or_default();
    // 1. The host. A page of `evil.example` whose name now resolves to this machine still sends its own name.
    if !hosts.allows(host) {
        return Err(ApiError::forbidden(format!(
            "unknown host {}: accepted are the host names of this server",
            quoted(&shortened(host))
        ))
        .field("Host")
        .hint("add the host name to the setting `server.hosts`"));
    }
    // 2. The origin. It includes the port, because another port of this machine may be another program. Either scheme
    // is accepted, because a proxy may end TLS.
    if let Some(origin) = single_header(headers, &header::ORIGIN)? {
        let same = ["http://", "https://"].iter().any(|scheme| {
            origin
                .strip_prefix(scheme)
                .is_some_and(|rest| rest.eq_ignore_ascii_case(host))
        });
        if !same {
            return Err(ApiError::forbidden(format!(
                "the origin {} is not accepted: only pages of this server may send requests",
                quoted(&shortened(origin))
            ))
            .field("Origin"));
        }
    }
    // 3. The site. A request without `Origin`, such as an image or a form sent by GET, still has `Sec-Fetch-Site`.
    // `same-site` is refused too: it covers other ports and subdomains.
    let site = single_header(headers, &SEC_FETCH_SITE)?;
    let foreign = matches!(site, Some("cross-site" | "same-site"));
    // A followed link is accepted: the cookie is `SameSite=Strict`, so that it does not come along, and the other
    // page cannot read the response.
    let navigates = request.method() == Method::GET
        && single_header(headers, &SEC_FETCH_MODE)? == Some("navigate");
    if foreign && !navigates {
        return Err(
            ApiError::forbidden("a page of another site sent the request").field("Sec-Fetch-Site"),
        );
    }
    Ok(())
}

/// Requires that a page of this server sent a request. The caller uses it for a request that changes something and is
/// authenticated by a cookie alone: a foreign page could make a browser send it.
///
/// # Errors
///
/// Returns 403 unless `Origin` or `Sec-Fetch-Site` shows a page of this server.
pub(crate) fn require_same_origin(headers: &HeaderMap) -> Result<(), ApiError> {
    let origin = headers.contains_key(header::ORIGIN);
    let site = headers.get(SEC_FETCH_SITE);
    let same_origin = site.is_some_and(|site| site == "same-origin");
    // `check_headers` has compared the origin with the host before, so that its presence is enough here.
    if origin || same_origin {
        return Ok(());
    }
    Err(ApiError::forbidden(
        "with a cookie, `Origin` or `Sec-Fetch-Site` must show that a page of this server sent the request",
    )
    .field("Origin")
    .hint("send a token from a program: `Authorization: Bearer mat_...`"))
}

/// Returns the value of a header that may occur once. A second value is refused, because the check and a proxy could
/// each look at another one.
///
/// # Errors
///
/// Returns 400 if the header occurs twice or is not ASCII.
fn single_header<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, ApiError> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    let malformed = || {
        let name = name.as_str();
        ApiError::malformed(format!(
            "invalid header `{name}`: accepted is one value, in ASCII"
        ))
        .field(name)
    };
    if second.is_some() {
        return Err(malformed());
    }
    let text = first.map(|value| value.to_str().map_err(|_| malformed()));
    text.transpose()
}

fn shortened(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn check_with_headers(headers: &[(&str, &str)]) -> Result<(), ApiError> {
        let mut request = http::Request::builder().method("POST").uri("/api/v1/runs");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let hosts = Hosts::with_loopback(&["matins.example".to_owned()]);
        check_headers(&request.body(Body::empty()).unwrap(), &hosts)
    }

    #[test]
    fn request_with_unknown_host_is_refused() {
        for host in [
            "localhost",
            "LOCALHOST:7347",
            "127.0.0.1:7347",
            "[::1]:7347",
            "matins.example",
        ] {
            check_with_headers(&[("host", host)]).unwrap();
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "evil@localhost",
            "localhost:port",
            "::1",
            "0.0.0.0",
        ] {
            check_with_headers(&[("host", host)]).unwrap_err();
        }
        check_with_headers(&[("host", "localhost"), ("host", "localhost")]).unwrap_err();
        check_with_headers(&[]).unwrap_err();
    }

    #[test]
    fn request_from_foreign_page_is_refused() {
        let host = ("host", "localhost:7347");
        check_with_headers(&[host, ("origin", "http://localhost:7347")]).unwrap();
        for origin in [
            "null",
            "http://localhost",
            "http://localhost:8080",
            "http://127.0.0.1:7347",
            "https://evil.example",
            "",
        ] {
            check_with_headers(&[host, ("origin", origin)]).unwrap_err();
        }
        check_with_headers(&[host, ("sec-fetch-site", "same-origin")]).unwrap();
        check_with_headers(&[host, ("sec-fetch-site", "none")]).unwrap();
        for site in ["cross-site", "same-site"] {
            check_with_headers(&[host, ("sec-fetch-site", site)]).unwrap_err();
            let navigates = ("sec-fetch-mode", "navigate");
            // A form that another page sends is no link that is followed.
            check_with_headers(&[host, ("sec-fetch-site", site), navigates]).unwrap_err();
        }
    }
}
