//! The cookie of a signed-in browser. Its value is the secret of a token that belongs to this browser alone.

use http::{HeaderMap, HeaderValue, header};
use model::access::secret::TokenSecret;

/// The name of the cookie.
const COOKIE_NAME: &str = "matins";

/// Returns the value of the cookie that a request shows.
pub(crate) fn value(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let texts = cookies.filter_map(|value| value.to_str().ok());
    let mut pairs = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(name, _)| *name == COOKIE_NAME)
        .map(|(_, value)| value)
}

/// Returns the header that makes a browser keep a secret for some seconds. Scripts cannot read the cookie
/// (`HttpOnly`), and pages of other sites cannot make the browser send it (`SameSite=Strict`). With `by_tls`, the
/// browser sends it by TLS only (`Secure`).
pub(crate) fn set_header(secret: &TokenSecret, seconds: i64, by_tls: bool) -> Option<HeaderValue> {
    build_header(secret.reveal(), seconds, by_tls)
}

/// Returns the header that makes a browser delete the cookie.
pub(crate) fn delete_header(by_tls: bool) -> Option<HeaderValue> {
    build_header("", 0, by_tls)
}

fn build_header(value: &str, seconds: i64, by_tls: bool) -> Option<HeaderValue> {
    let secure = if by_tls { "; Secure" } else { "" };
    let text = format!(
        "{COOKIE_NAME}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    );
    let mut header = HeaderValue::from_str(&text).ok()?;
    // Keeps the secret out of debug output.
    header.set_sensitive(true);
    Some(header)
}
