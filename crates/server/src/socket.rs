//! Private Unix sockets in a data folder. A process that runs agents serves the API at such a socket to the owner of
//! the folder.
//!
//! The server of the folder listens at `matins.sock`. A process that takes a turn without a server listens at
//! `matins-<pid>.sock` until the turn ends. A killed process leaves a socket file behind to which no client can
//! connect.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use crate::boxed;

use api::{Listener, ServerHandle};
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
/// The prefix and the suffix of the other sockets' names. The process ID stands between them.
const PROCESS_SOCKET_NAME_PARTS: (&str, &str) = ("matins-", ".sock");
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
        remove_stale_sockets(folder);
        Self::listen(folder.join(SERVER_SOCKET_NAME), routes, stop)
    }

    /// Listens at `matins-<pid>.sock`, for a process that takes a turn without a server.
    pub(crate) fn of_process(
        folder: &Path,
        routes: Router,
        stop: CancellationToken,
    ) -> io::Result<Self> {
        remove_stale_sockets(folder);
        let (before, behind) = PROCESS_SOCKET_NAME_PARTS;
        let name = format!("{before}{}{behind}", std::process::id());
        Self::listen(folder.join(name), routes, stop)
    }

    fn listen(path: PathBuf, routes: Router, stop: CancellationToken) -> io::Result<Self> {
        // Bind a draft name and restrict its mode before the rename, so that no other user can connect in between.
        // The rename also replaces the socket file of a killed process.
        let draft = path.with_extension(format!("{}.draft", std::process::id()));
        remove_if_exists(&draft)?;
        let listener = UnixListener::bind(SocketAddress::for_path(&draft)?.path())?;
        fs::set_permissions(&draft, Permissions::from_mode(0o600))?;
        fs::rename(&draft, &path)?;
        let handle = api::serve(Listener::Private(listener, is_of_run), routes, stop);
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

/// Removes the sockets of single-turn processes that have died.
fn remove_stale_sockets(folder: &Path) {
    let (before, behind) = PROCESS_SOCKET_NAME_PARTS;
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let pid = name
            .strip_prefix(before)
            .and_then(|it| it.strip_suffix(behind));
        if pid.is_none_or(|pid| pid.parse::<u32>().is_err()) {
            continue;
        }
        // Only a refused connection proves that no process listens. After any other error the file stays.
        let listened_at = SocketAddress::for_path(&entry.path())
            .and_then(|address| std::os::unix::net::UnixStream::connect(address.path()));
        if listened_at.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// Returns `true` if a process belongs to a run. A process that cannot be read any more counts as one.
fn is_of_run(process: u32) -> bool {
    agent::guard::run_of_process(process).map_or(true, |run| run.is_some())
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

    #[tokio::test]
    async fn only_sockets_of_dead_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        drop(std::os::unix::net::UnixListener::bind(at("matins-1.sock")).unwrap());
        let _lives = UnixListener::bind(at("matins-2.sock")).unwrap();
        fs::write(at("matins-notes.sock"), "mine").unwrap();
        let stop = CancellationToken::new();
        let own = PrivateSocket::of_process(folder.path(), routes(), stop).unwrap();
        let own_name = format!("matins-{}.sock", std::process::id());
        let mut there = file_names(folder.path());
        there.sort();
        let mut expected = vec![
            "matins-2.sock".to_owned(),
            own_name,
            "matins-notes.sock".to_owned(),
        ];
        expected.sort();
        assert_eq!(there, expected);
        drop(own);
        assert_eq!(file_names(folder.path()).len(), 2);
    }
}
