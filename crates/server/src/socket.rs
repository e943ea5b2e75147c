//! The private Unix socket of a data folder. The server of the folder serves the API there, at `matins.sock`, to the owner
//! of the folder and not to the processes of turns, which have the same user. A killed server leaves a socket file behind
//! to which no client can connect.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::boxed;

use agent::guard::KnownProcess;
use api::{Listener, PeerCheck, ServerHandle};
use axum::Router;
use client::{Client, SocketAddress};
use model::Entropy;
use tokio::{
    net::{UnixListener, UnixStream},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// The name of the server's socket.
const SERVER_SOCKET_NAME: &str = "matins.sock";
/// The maximum time for the listener to answer a status request.
const STATUS_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of contacting the server of a data folder.
pub enum ServerContact {
    /// A server answered. The client is connected to it.
    Connected(Client),
    /// A process listens but gives no valid answer in time.
    Unresponsive,
    /// No process listens.
    Absent,
}

/// Contacts the server of a data folder and requests its status.
#[boxed]
pub async fn contact_server(folder: &Path, entropy: Arc<dyn Entropy>) -> ServerContact {
    let Ok(address) = SocketAddress::for_path(&folder.join(SERVER_SOCKET_NAME)) else {
        return ServerContact::Absent;
    };
    if UnixStream::connect(address.path()).await.is_err() {
        return ServerContact::Absent;
    }
    let Ok(client) = Client::with_socket(address, entropy) else {
        return ServerContact::Unresponsive;
    };
    let answer = timeout(STATUS_TIMEOUT, client.server()).await;
    match answer {
        Ok(Ok(_)) => ServerContact::Connected(client),
        Ok(Err(error)) => {
            tracing::debug!(%error, "the server of the data folder gave no valid answer");
            ServerContact::Unresponsive
        }
        Err(_) => ServerContact::Unresponsive,
    }
}

/// A socket that serves the API until it is stopped or dropped.
#[derive(Debug)]
pub(crate) struct PrivateSocket {
    path: PathBuf,
    handle: Option<ServerHandle>,
}

impl PrivateSocket {
    /// Listens at `matins.sock`. The caller must hold the lock of the folder: then no other process listens there,
    /// and an existing file is a leftover.
    pub(crate) fn of_server(
        folder: &Path,
        routes: Router,
        stop: CancellationToken,
    ) -> io::Result<Self> {
        Self::listen(folder.join(SERVER_SOCKET_NAME), routes, stop)
    }

    fn listen(path: PathBuf, routes: Router, stop: CancellationToken) -> io::Result<Self> {
        // Bind a draft name and restrict its mode before the rename, so that no other user can connect in between.
        // The rename also replaces the socket file of a killed process.
        let draft = path.with_extension(format!("{}.draft", std::process::id()));
        remove_if_exists(&draft)?;
        let listener = UnixListener::bind(SocketAddress::for_path(&draft)?.path())?;
        fs::set_permissions(&draft, Permissions::from_mode(0o600))?;
        fs::rename(&draft, &path)?;
        let handle = api::serve(Listener::Private(listener, peer_check), routes, stop);
        Ok(Self {
            path,
            handle: Some(handle),
        })
    }

    /// Stops listening: removes the socket file, then closes open connections or cuts them off.
    pub(crate) async fn stop(mut self) {
        fs::remove_file(&self.path).ok();
        if let Some(handle) = self.handle.take() {
            handle.stop().await;
        }
    }
}

impl Drop for PrivateSocket {
    fn drop(&mut self) {
        // `stop` has already removed the file, and another process may have created a socket of the same name since.
        if self.handle.is_some() {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Returns the check whether a process that has connected belongs to a run. A process that cannot be read, or that has
/// ended since, counts as one.
fn peer_check(process: u32) -> PeerCheck {
    let known = KnownProcess::with_id(process);
    let is_of_run = move || {
        let run = known.as_ref().map(|process| process.run());
        !matches!(run, Ok(Ok(None)))
    };
    Box::new(is_of_run)
}

fn remove_if_exists(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use axum::{Json, routing::get};
    use serde_json::json;

    use super::*;
    use crate::system::OsEntropy;

    fn routes() -> Router {
        let server = json!({ "version": "1", "serves": true, "now": "2026-05-04T09:00:00Z" });
        let version = (api_types::API_VERSION_HEADER, "2");
        let server = move || async move { ([version], Json(server)) };
        Router::new().route("/api/v1/server", get(server))
    }

    async fn is_server_found(folder: &Path) -> bool {
        matches!(
            contact_server(folder, Arc::new(OsEntropy)).await,
            ServerContact::Connected(_)
        )
    }

    fn file_names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[tokio::test]
    async fn private_socket_connects_until_server_stops() {
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_server_found(folder.path()).await);
        let stop = CancellationToken::new();
        let socket = PrivateSocket::of_server(folder.path(), routes(), stop).unwrap();
        assert!(is_server_found(folder.path()).await);
        let mode = fs::metadata(folder.path().join(SERVER_SOCKET_NAME))
            .unwrap()
            .permissions();
        assert_eq!(mode.mode() & 0o777, 0o600);
        socket.stop().await;
        assert!(!is_server_found(folder.path()).await);
        assert!(file_names(folder.path()).is_empty());
    }

    #[tokio::test]
    async fn stale_socket_of_killed_server_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        drop(
            std::os::unix::net::UnixListener::bind(folder.path().join(SERVER_SOCKET_NAME)).unwrap(),
        );
        assert!(!is_server_found(folder.path()).await);
        let stop = CancellationToken::new();
        let _socket = PrivateSocket::of_server(folder.path(), routes(), stop).unwrap();
        assert!(is_server_found(folder.path()).await);
    }

    #[tokio::test]
    async fn folder_path_longer_than_socket_address_is_served() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(150));
        fs::create_dir(&deep).unwrap();
        let stop = CancellationToken::new();
        let _socket = PrivateSocket::of_server(&deep, routes(), stop).unwrap();
        assert!(is_server_found(&deep).await);
    }

    #[tokio::test]
    async fn listener_without_valid_answer_is_unresponsive() {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SERVER_SOCKET_NAME)).unwrap();
        let closing = tokio::spawn(async move {
            loop {
                drop(listener.accept().await.unwrap());
            }
        });
        let asked = contact_server(folder.path(), Arc::new(OsEntropy)).await;
        assert!(matches!(asked, ServerContact::Unresponsive));
        closing.abort();
    }
}
