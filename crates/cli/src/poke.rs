//! The socket in a data folder at which whoever serves the folder is poked after a change.
//!
//! A poke carries nothing: the one who is poked looks into the database. A folder that nobody serves
//! has no socket, or one at which nobody listens.

use std::{
    fs::{self, File},
    io,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    task::JoinHandle,
    time::timeout,
};

/// The socket's name in the data folder.
const SOCKET: &str = "matins.sock";
/// What is said to wake whoever serves.
const WAKE: &str = "wake";
/// What is answered.
const OK: &str = "ok";
/// The longest line that is read, in bytes.
const LINE_BYTES: u64 = 64;
/// How long either side waits for the other.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest path that the address of a socket surely holds, in bytes (108 on Linux).
const ADDRESS_BYTES: usize = 100;

/// What became of a poke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Poked {
    /// Somebody serves the folder and looks now.
    Woken,
    /// Nobody serves the folder.
    NobodyServes,
}

/// The address of a folder's socket. A path that is too long for one leads through the folder's file
/// descriptor, which must stay open meanwhile.
struct Address {
    path: PathBuf,
    _folder: Option<File>,
}

impl Address {
    fn of(folder: &Path) -> io::Result<Self> {
        let path = folder.join(SOCKET);
        if path.as_os_str().len() <= ADDRESS_BYTES {
            return Ok(Self {
                path,
                _folder: None,
            });
        }
        let folder = File::open(folder)?;
        let path = format!("/proc/self/fd/{}/{SOCKET}", folder.as_raw_fd());
        Ok(Self {
            path: path.into(),
            _folder: Some(folder),
        })
    }
}

/// What was answered to a poke.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Whoever serves the folder looks now.
    Ok,
    /// Somebody listens and gives no answer, or a wrong one.
    Silence,
    /// Nobody listens.
    Nobody,
}

/// Tells whoever serves `folder` to look.
pub(crate) async fn poke(folder: &Path) -> Poked {
    match ask(folder).await {
        Answer::Nobody => return Poked::NobodyServes,
        Answer::Ok => {}
        // Somebody listens; it finds the change by itself within a tick.
        Answer::Silence => tracing::warn!("whoever serves the folder gave no answer"),
    }
    Poked::Woken
}

/// Pokes whoever serves `folder`, and gives the answer.
pub(crate) async fn ask(folder: &Path) -> Answer {
    let connected = async {
        let address = Address::of(folder)?;
        UnixStream::connect(&address.path).await
    };
    let Ok(mut stream) = connected.await else {
        return Answer::Nobody;
    };
    let asked = timeout(PATIENCE, async {
        stream.write_all(format!("{WAKE}\n").as_bytes()).await?;
        let mut answer = String::new();
        stream.take(LINE_BYTES).read_to_string(&mut answer).await?;
        io::Result::Ok(answer)
    });
    match asked.await {
        Ok(Ok(answer)) if answer.trim_end() == OK => Answer::Ok,
        answer => {
            tracing::debug!(?answer, "a poke was not answered as it should be");
            Answer::Silence
        }
    }
}

/// Listens for pokes until it is dropped.
#[derive(Debug)]
pub(crate) struct PokeServer {
    socket: PathBuf,
    task: JoinHandle<()>,
}

impl PokeServer {
    /// Listens in `folder`, whose lock the caller holds: a socket that is there belongs to nobody.
    pub(crate) fn start(
        folder: &Path,
        wake: impl Fn() + Send + Sync + 'static,
    ) -> io::Result<Self> {
        let socket = folder.join(SOCKET);
        match fs::remove_file(&socket) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let address = Address::of(folder)?;
        let listener = UnixListener::bind(&address.path)?;
        let wake = Arc::new(wake);
        let task = tokio::spawn(async move {
            loop {
                match listener.accept().await {
                    Ok((stream, _)) => {
                        let wake = Arc::clone(&wake);
                        tokio::spawn(async move {
                            if let Err(error) = serve_one(stream, &*wake).await {
                                tracing::debug!(%error, "failed to read a poke");
                            }
                        });
                    }
                    Err(error) => {
                        tracing::warn!(%error, "failed to accept a poke");
                        tokio::time::sleep(PATIENCE).await;
                    }
                }
            }
        });
        Ok(Self { socket, task })
    }
}

impl Drop for PokeServer {
    fn drop(&mut self) {
        self.task.abort();
        fs::remove_file(&self.socket).ok();
    }
}

async fn serve_one(stream: UnixStream, wake: &impl Fn()) -> io::Result<()> {
    let answered = timeout(PATIENCE, async {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        (&mut stream).take(LINE_BYTES).read_line(&mut line).await?;
        let answer = if line.trim_end() == WAKE {
            wake();
            OK
        } else {
            "unknown"
        };
        stream.write_all(format!("{answer}\n").as_bytes()).await?;
        stream.shutdown().await
    });
    answered
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn counting() -> (Arc<AtomicUsize>, impl Fn() + Send + Sync + 'static) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        (count, move || {
            counted.fetch_add(1, Ordering::SeqCst);
        })
    }

    #[tokio::test]
    async fn a_poke_wakes_whoever_serves_and_says_when_nobody_does() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(poke(folder.path()).await, Poked::NobodyServes);
        let (count, wake) = counting();
        let server = PokeServer::start(folder.path(), wake).unwrap();
        assert_eq!(poke(folder.path()).await, Poked::Woken);
        assert_eq!(count.load(Ordering::SeqCst), 1);
        drop(server);
        assert_eq!(poke(folder.path()).await, Poked::NobodyServes);
    }

    #[tokio::test]
    async fn a_socket_that_a_killed_server_left_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        drop(std::os::unix::net::UnixListener::bind(folder.path().join(SOCKET)).unwrap());
        assert_eq!(poke(folder.path()).await, Poked::NobodyServes);
        let (_, wake) = counting();
        let _server = PokeServer::start(folder.path(), wake).unwrap();
        assert_eq!(poke(folder.path()).await, Poked::Woken);
    }

    #[tokio::test]
    async fn a_folder_deeper_than_an_address_is_long_is_served_too() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("d".repeat(150));
        fs::create_dir(&deep).unwrap();
        let (count, wake) = counting();
        let _server = PokeServer::start(&deep, wake).unwrap();
        assert_eq!(poke(&deep).await, Poked::Woken);
        assert_eq!(count.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn what_is_no_poke_wakes_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let (count, wake) = counting();
        let _server = PokeServer::start(folder.path(), wake).unwrap();
        let mut stream = UnixStream::connect(folder.path().join(SOCKET))
            .await
            .unwrap();
        stream.write_all(&[b'x'; 1000]).await.ok();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.ok();
        assert_eq!(poke(folder.path()).await, Poked::Woken);
        assert_eq!(count.load(Ordering::SeqCst), 1, "only the poke counts");
    }
}
