//! The URLs of endpoints, and the checks that need no name resolution.

use std::{fmt, net::IpAddr};

use model::{allowlist::Allowlist, limits};
use url::{Host, Url};

use crate::address::non_public_kind;

/// A URL that may receive requests, as far as is known before its host is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    url: Url,
}

/// The reason why a URL is refused. The error never repeats the URL, because the URL may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidUrl {
    /// The text is not a URL.
    #[error("the address is not a URL such as https://example.org/hook: {0}")]
    Unreadable(String),
    /// The text is too long.
    #[error("the URL is longer than {} bytes", limits::URL_BYTES)]
    TooLong,
    /// The URL has another scheme than `http` or `https`.
    #[error("the URL begins with `{0}:`: expected `https:`")]
    Scheme(String),
    /// The URL is not encrypted, and its host is not allowed explicitly.
    #[error("the URL begins with `http:`, which is accepted only for allowed hosts and networks")]
    NotEncrypted,
    /// The URL has a user name or a password, which lists and logs would show.
    #[error("the URL has a user name or a password: signatures authenticate the sender instead")]
    UserInfo,
    /// The address is not part of the public internet, and is not allowed explicitly.
    #[error("the address {address} is {what}, and is not in the allowlist")]
    NotPublic {
        /// The address.
        address: IpAddr,
        /// The kind of the address.
        what: &'static str,
    },
}

impl Target {
    /// Parses a URL. The parser normalizes a host in any numeric notation to an IP address, so that such a notation
    /// cannot bypass the checks.
    ///
    /// # Errors
    ///
    /// Returns an error if the URL is malformed, or if requests to it are not permitted.
    pub fn parse(text: &str, allowance: &Allowlist) -> Result<Self, InvalidUrl> {
        if text.len() > limits::URL_BYTES {
            return Err(InvalidUrl::TooLong);
        }
        let mut url =
            Url::parse(text).map_err(|error| InvalidUrl::Unreadable(error.to_string()))?;
        let open = match url.scheme() {
            "https" => false,
            "http" => true,
            other => return Err(InvalidUrl::Scheme(other.chars().take(20).collect())),
        };
        // `Url` drops an empty user name, so the text is checked as well.
        if !url.username().is_empty() || url.password().is_some() || has_userinfo(text) {
            return Err(InvalidUrl::UserInfo);
        }
        url.set_fragment(None);
        let address = match url.host() {
            None => return Err(InvalidUrl::Unreadable("the host is missing".into())),
            Some(Host::Ipv4(address)) => IpAddr::from(address),
            Some(Host::Ipv6(address)) => IpAddr::from(address),
            Some(Host::Domain(host)) => {
                // The host may resolve to an allowed network. `AddressFilter` checks this when the connection is made.
                if open && !allowance.allows_host(host) && !allowance.has_networks() {
                    return Err(InvalidUrl::NotEncrypted);
                }
                return Ok(Self { url });
            }
        };
        if !allowance.allows_address(address) {
            if let Some(what) = non_public_kind(address) {
                return Err(InvalidUrl::NotPublic { address, what });
            }
            if open {
                return Err(InvalidUrl::NotEncrypted);
            }
        }
        Ok(Self { url })
    }

    /// Returns the URL.
    pub fn as_str(&self) -> &str {
        self.url.as_str()
    }

    /// Returns `true` if the URL uses plain HTTP.
    pub(crate) fn is_plain_http(&self) -> bool {
        self.url.scheme() == "http"
    }

    pub(crate) fn url(&self) -> Url {
        self.url.clone()
    }
}

/// Returns the scheme and the host of a URL for messages. Omits all other parts, because they may contain a password or
/// a token. Returns `***` if the text is too long, is not a URL or has no host.
pub fn redact_url(text: &str) -> String {
    let url = Some(text).filter(|text| text.len() <= limits::URL_BYTES);
    let url = url.and_then(|text| Url::parse(text).ok());
    let shown = url.and_then(|url| Some(format!("{}://{}", url.scheme(), url.host_str()?)));
    shown.unwrap_or_else(|| "***".to_owned())
}

/// Returns `true` if the URL has a user part, even an empty one as in `https://@host`.
fn has_userinfo(text: &str) -> bool {
    let after = text.split_once(':').map_or("", |(_, rest)| rest);
    let authority = after.trim_start_matches(['/', '\\']);
    let end = authority
        .find(['/', '\\', '?', '#'])
        .unwrap_or(authority.len());
    authority[..end].contains('@')
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_target(text: &str, allowed: &str) -> Result<Target, InvalidUrl> {
        Target::parse(text, &allowed.parse().unwrap())
    }

    #[test]
    fn redacted_url_has_scheme_and_host_only() {
        for (text, shown) in [
            ("http://10.0.0.1/hook", "http://10.0.0.1"),
            (
                "https://me:s3cret@example.org:8443/t0ken?key=1",
                "https://example.org",
            ),
            ("me:s3cret@example.org", "***"),
            ("example.org/hook", "***"),
        ] {
            assert_eq!(redact_url(text), shown, "{text}");
        }
    }

    #[test]
    fn every_notation_of_private_address_is_refused() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.1",
            "0177.0.0.1",
            "017700000001",
            "127.0.0.1.",
            "127。0。0。1",
            "①②⑦.0.0.1",
            "%31%32%37.0.0.1",
            "0",
            "0x0",
            "10.1.2.3",
            "169.254.169.254",
            "2852039166",
            "0xA9FEA9FE",
            "[::1]",
            "[::]",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[::ffff:a9fe:a9fe]",
            "[64:ff9b::7f00:1]",
            "[2002:7f00:1::]",
            "[fd00:ec2::254]",
            "[fe80::1]",
        ] {
            let refused = parse_target(&format!("https://{host}:8443/hook"), "");
            assert!(
                matches!(refused, Err(InvalidUrl::NotPublic { .. })),
                "{host}: {refused:?}"
            );
        }
    }

    #[test]
    fn url_with_user_or_password_is_refused() {
        for text in [
            "https://me:s3cret@example.org/",
            "https://me@example.org/",
            "https://:s3cret@example.org/",
            "https://@example.org/",
            "https:\\\\@example.org/",
            "https://example.org@127.0.0.1/",
        ] {
            assert_eq!(
                parse_target(text, "127.0.0.0/8"),
                Err(InvalidUrl::UserInfo),
                "{text}"
            );
        }
        // A backslash ends the host: the request would go to 127.0.0.1, so the check must see that host.
        let refused = parse_target("https://127.0.0.1\\@example.org/", "");
        assert!(matches!(refused, Err(InvalidUrl::NotPublic { .. })));
        assert!(parse_target("https://example.org/a@b?c@d#e@f", "").is_ok());
    }

    #[test]
    fn url_must_be_https_unless_host_is_allowed() {
        for text in [
            "ftp://example.org",
            "file:///etc/passwd",
            "unix:/run/x",
            "gopher://x",
        ] {
            assert!(
                matches!(parse_target(text, ""), Err(InvalidUrl::Scheme(_))),
                "{text}"
            );
        }
        for text in [
            "",
            "example.org",
            "//example.org",
            "https://",
            "https://exa mple.org",
        ] {
            let refused = parse_target(text, "");
            assert!(matches!(refused, Err(InvalidUrl::Unreadable(_))), "{text}");
        }
        assert_eq!(
            parse_target("http://example.org", ""),
            Err(InvalidUrl::NotEncrypted)
        );
        assert_eq!(
            parse_target("http://1.1.1.1", ""),
            Err(InvalidUrl::NotEncrypted)
        );
        assert_eq!(
            parse_target("http://1.1.1.1", "10.0.0.0/8"),
            Err(InvalidUrl::NotEncrypted)
        );
        let long = format!("https://example.org/{}", "x".repeat(limits::URL_BYTES));
        assert_eq!(parse_target(&long, ""), Err(InvalidUrl::TooLong));
    }

    #[test]
    fn allowed_host_is_accepted_with_http_and_https() {
        for (text, allowed) in [
            ("http://127.0.0.1:9/x", "127.0.0.0/8"),
            ("http://2130706433/", "127.0.0.1"),
            ("http://[::1]/", "::1"),
            ("https://10.1.2.3/", "10.0.0.0/8"),
            ("http://hooks.internal/", "hooks.internal"),
            ("http://hooks.internal./", "hooks.internal"),
        ] {
            assert!(parse_target(text, allowed).is_ok(), "{text}");
        }
        let target = parse_target("https://EXAMPLE.org/x#part", "").unwrap();
        assert_eq!(target.to_string(), "https://example.org/x");
    }
}
