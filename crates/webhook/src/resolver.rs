//! A DNS resolver that returns permitted addresses only.

use std::{io, net::SocketAddr, pin::Pin, sync::Arc};

use model::allowance::Allowance;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::not_public;

/// A source of the addresses of hosts.
pub trait Lookup: Send + Sync {
    /// Resolves a host to its addresses. The ports are ignored.
    fn lookup(
        &self,
        host: &str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;
}

/// The resolver of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn lookup(
        &self,
        host: &str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>> {
        let host = host.to_owned();
        Box::pin(async move { Ok(tokio::net::lookup_host((host, 0)).await?.collect()) })
    }
}

/// The reason why a host cannot be reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreachable {
    #[error("it has no address that may be reached")]
    NotAllowed,
    #[error("its name cannot be resolved")]
    NotResolved(#[source] io::Error),
}

/// A resolver that returns permitted addresses only. The HTTP client connects to the returned addresses without
/// resolving the name again, so a name that changes between check and connection (DNS rebinding) gains nothing.
pub(crate) struct Guard {
    pub(crate) lookup: Arc<dyn Lookup>,
    pub(crate) allowance: Arc<Allowance>,
    /// `true` to exclude the public internet.
    pub(crate) allowed_only: bool,
}

impl Guard {
    fn lets_pass(allowance: &Allowance, allowed_only: bool, host: &str, at: SocketAddr) -> bool {
        allowance.has_host(host)
            || allowance.has_address(at.ip())
            || (!allowed_only && not_public(at.ip()).is_none())
    }
}

impl Resolve for Guard {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.lookup.lookup(name.as_str());
        let allowance = Arc::clone(&self.allowance);
        let allowed_only = self.allowed_only;
        Box::pin(async move {
            let found = found.await.map_err(Unreachable::NotResolved)?;
            // A host with both kinds of addresses is reached by its permitted ones.
            let pass: Vec<SocketAddr> = found
                .into_iter()
                .filter(|at| Self::lets_pass(&allowance, allowed_only, name.as_str(), *at))
                .collect();
            if pass.is_empty() {
                return Err(Unreachable::NotAllowed.into());
            }
            Ok(Box::new(pass.into_iter()) as Addrs)
        })
    }
}
