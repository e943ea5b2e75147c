//! A DNS resolver that returns permitted addresses only.

use std::{io, net::SocketAddr, pin::Pin, sync::Arc};

use model::allowlist::Allowlist;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::non_public_kind;

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
pub(crate) enum ResolveError {
    #[error("the host has no permitted address")]
    NotAllowed,
    #[error("the host name cannot be resolved")]
    NotResolved(#[source] io::Error),
}

/// A resolver that returns permitted addresses only. The HTTP client connects to the returned addresses without
/// resolving the name again, so a name that changes between check and connection (DNS rebinding) gains nothing.
pub(crate) struct AddressFilter {
    pub(crate) lookup: Arc<dyn Lookup>,
    pub(crate) allowance: Arc<Allowlist>,
    /// `true` to exclude the public internet.
    pub(crate) excludes_public: bool,
}

impl AddressFilter {
    fn is_allowed(
        allowance: &Allowlist,
        excludes_public: bool,
        host: &str,
        at: SocketAddr,
    ) -> bool {
        allowance.allows_host(host)
            || allowance.allows_address(at.ip())
            || (!excludes_public && non_public_kind(at.ip()).is_none())
    }
}

impl Resolve for AddressFilter {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.lookup.lookup(name.as_str());
        let allowance = Arc::clone(&self.allowance);
        let excludes_public = self.excludes_public;
        Box::pin(async move {
            let found = found.await.map_err(ResolveError::NotResolved)?;
            // A host with both kinds of addresses is reached by its permitted ones.
            let permitted: Vec<SocketAddr> = found
                .into_iter()
                .filter(|at| Self::is_allowed(&allowance, excludes_public, name.as_str(), *at))
                .collect();
            if permitted.is_empty() {
                return Err(ResolveError::NotAllowed.into());
            }
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}
