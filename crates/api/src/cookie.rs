//! The cookie of a browser that has signed in: the secret of a token of its own.

use http::{HeaderMap, HeaderValue, header};
use model::access::secret::TokenSecret;

/// The cookie's name.
const NAME: &str = "matins";

/// What the browser shows.
pub(crate) fn of(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(header::COOKIE).iter();
    let texts = cookies.filter_map(|value| value.to_str().ok());
    let mut pairs = texts
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(name, _)| *name == NAME)
        .map(|(_, value)| value)
}

/// What makes a browser keep a secret: no script reads it, and no other site's page makes it be sent. On an
/// address that is reached by TLS it is sent by TLS alone.
pub(crate) fn keep(secret: &TokenSecret, seconds: i64, by_tls: bool) -> Option<HeaderValue> {
    set(secret.reveal(), seconds, by_tls)
}

/// What makes a browser forget.
pub(crate) fn forget(by_tls: bool) -> Option<HeaderValue> {
    set("", 0, by_tls)
}

fn set(value: &str, seconds: i64, by_tls: bool) -> Option<HeaderValue> {
    let secure = if by_tls { "; Secure" } else { "" };
    let text =
        format!("{NAME}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let mut header = HeaderValue::from_str(&text).ok()?;
    header.set_sensitive(true);
    Some(header)
}
