//! Names of hosts, resolved to addresses that may be reached.

use std::{io, net::SocketAddr, pin::Pin, sync::Arc};

use model::allowance::Allowance;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::address::not_public;

/// Finds the addresses of hosts.
pub trait Lookup: Send + Sync {
    /// The addresses of a host, their ports of no meaning.
    fn lookup(
        &self,
        host: &str,
    ) -> Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;
}

/// Asks the system.
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

/// Why a host is not reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreachable {
    #[error("it has no address that may be reached")]
    NotAllowed,
    #[error("its name cannot be resolved")]
    NotResolved(#[source] io::Error),
}

/// Gives only addresses that may be reached. What it gives is what the connection is made to.
pub(crate) struct Guard {
    pub(crate) lookup: Arc<dyn Lookup>,
    pub(crate) allowance: Arc<Allowance>,
    /// Whether the public internet is left out.
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
