//! The faults of PostgreSQL, and of the connections to it.

use std::sync::Arc;

use tokio::time::sleep;

use super::{
    blocking::blocking,
    idle_connections,
    postgres::{MAX_CONNECTIONS, Postgres},
    proxy::{Mode, Proxy},
    rng::Rng,
};

/// The downtime of the database, in milliseconds.
const DOWNTIME_MILLIS: std::ops::Range<u64> = 500..4000;
/// The time for which connections of the database are used up or transactions are open, in milliseconds.
const OCCUPIED_MILLIS: std::ops::Range<u64> = 2000..5000;
/// The time for which the proxy's connections are frozen or cut, in milliseconds.
const NETWORK_FAULT_MILLIS: std::ops::Range<u64> = 1500..8000;
/// The number of requested connections that [`occupy_connections`] leaves to the servers.
const SPARE_CONNECTIONS: usize = 2;
/// The requested number of open transactions. [`occupy_connections`] opens [`SPARE_CONNECTIONS`] fewer.
const OPEN_TRANSACTIONS: usize = 5;

/// A kind of fault of PostgreSQL or of the connections to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PostgresFault {
    Crash,
    TerminateBackends,
    ExhaustConnections,
    OpenTransactions,
    FreezeConnections,
    CutConnections,
}

/// All faults of PostgreSQL. One injector injects them, so that they also coincide with faults of processes.
pub(crate) const POSTGRES_FAULTS: [PostgresFault; 6] = [
    PostgresFault::Crash,
    PostgresFault::TerminateBackends,
    PostgresFault::ExhaustConnections,
    PostgresFault::FreezeConnections,
    PostgresFault::CutConnections,
    PostgresFault::OpenTransactions,
];

impl PostgresFault {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Crash => "database crashed",
            Self::TerminateBackends => "backends terminated",
            Self::ExhaustConnections => "connections of the database used up",
            Self::OpenTransactions => "transactions left open",
            Self::FreezeConnections => "connections of a server frozen",
            Self::CutConnections => "connections of a server cut",
        }
    }
}

/// Injects a fault and repairs it. Returns `false` if the fault had no target. `proxy` is between one server and the
/// database.
///
/// # Errors
///
/// Returns a message if the database does not start again.
pub(crate) async fn inject(
    fault: PostgresFault,
    postgres: &Arc<Postgres>,
    proxy: &Proxy,
    rng: &mut Rng,
) -> Result<bool, String> {
    Ok(match fault {
        PostgresFault::Crash => return crash(postgres, rng).await,
        PostgresFault::TerminateBackends => terminate_backends(postgres, rng).await,
        PostgresFault::ExhaustConnections => {
            occupy_connections(postgres, MAX_CONNECTIONS, false, rng).await
        }
        PostgresFault::OpenTransactions => {
            occupy_connections(postgres, OPEN_TRANSACTIONS, true, rng).await
        }
        PostgresFault::FreezeConnections => disturb_proxy(proxy, Mode::Frozen, rng).await,
        PostgresFault::CutConnections => disturb_proxy(proxy, Mode::Cut, rng).await,
    })
}

/// Stops the database like a crash, waits, and starts it again.
async fn crash(postgres: &Arc<Postgres>, rng: &mut Rng) -> Result<bool, String> {
    let server = Arc::clone(postgres);
    let away = rng.millis(DOWNTIME_MILLIS);
    let stopped = blocking(move || server.stop()).await;
    sleep(away).await;
    let server = Arc::clone(postgres);
    match blocking(move || server.start()).await {
        Ok(()) => Ok(stopped.is_ok()),
        Err(error) => Err(format!("the database did not start: {error:#}")),
    }
}

/// Terminates a random 20 to 99 percent of the servers' database connections.
async fn terminate_backends(postgres: &Arc<Postgres>, rng: &mut Rng) -> bool {
    let share = 20 + rng.below(80);
    let server = Arc::clone(postgres);
    let statement = format!(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity \
         where usename = 'matins' and abs(hashint4(pid)) % 100 < {share}"
    );
    let ended = blocking(move || server.sql(&statement)).await;
    ended.is_ok_and(|count| count.trim() != "0")
}

/// Holds up to `places` minus [`SPARE_CONNECTIONS`] connections of the database for a while, each with an open
/// transaction if `transactions` is set. Returns `false` if it got none.
async fn occupy_connections(
    postgres: &Postgres,
    places: usize,
    transactions: bool,
    rng: &mut Rng,
) -> bool {
    let mut held = Vec::new();
    while held.len() + SPARE_CONNECTIONS < places {
        // A refused connection is the expected end when the servers hold connections too: then all are used up.
        let Ok(mut stream) = idle_connections::open_idle(postgres).await else {
            break;
        };
        if transactions
            && idle_connections::begin_transaction(&mut stream)
                .await
                .is_err()
        {
            break;
        }
        held.push(stream);
    }
    sleep(rng.millis(OCCUPIED_MILLIS)).await;
    !held.is_empty()
}

/// Freezes or cuts the connections of one server for a while. Returns `false` if the server had none.
async fn disturb_proxy(proxy: &Proxy, mode: Mode, rng: &mut Rng) -> bool {
    let met = proxy.has_connections();
    proxy.set_mode(mode);
    sleep(rng.millis(NETWORK_FAULT_MILLIS)).await;
    proxy.set_mode(Mode::Open);
    met
}
