//! The names by which a server is reached.

use std::sync::Arc;

/// The host names that always reach a server on this machine.
const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// The host names by which clients may reach the server.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    names: Arc<[String]>,
}

impl Default for Hosts {
    fn default() -> Self {
        Self::with_loopback(&[])
    }
}

impl Hosts {
    /// Returns the names of loopback and the given names, all without ports.
    pub(crate) fn with_loopback(names: &[String]) -> Self {
        let given = names.iter().map(|name| name.to_ascii_lowercase());
        let loopback = LOOPBACK_HOSTS.iter().map(|name| (*name).to_owned());
        Self {
            names: loopback.chain(given).collect(),
        }
    }

    /// `true` if a `Host` header has one of the names, with any port or none. Comparing whole names keeps
    /// `localhost.evil.example` out.
    pub(crate) fn allows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let port = |rest: &str| match rest.strip_prefix(':') {
            Some(port) => port.parse::<u16>().is_ok(),
            None => rest.is_empty(),
        };
        let mut names = self.names.iter();
        names.any(|name| host.strip_prefix(name.as_str()).is_some_and(port))
    }
}
