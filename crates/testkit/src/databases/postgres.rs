//! Databases on the shared test server: one for each test, copied from a template.

use std::{
    fs::{self, File},
    hash::{BuildHasher as _, DefaultHasher, Hash as _, Hasher as _, RandomState},
    sync::OnceLock,
    time::UNIX_EPOCH,
};

use anyhow::{Context as _, anyhow};

use super::{
    pooler::{PoolMode, Pooler},
    postgres_server::{ROLE, SUPERUSER, Server},
};

/// Returns the server, which this process keeps in use until it ends.
fn server() -> anyhow::Result<&'static Server> {
    static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();
    SERVER
        .get_or_init(|| Server::join().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}

/// A database. Drop deletes it.
#[derive(Debug)]
pub(super) struct DatabaseLease {
    server: &'static Server,
    name: String,
}

impl DatabaseLease {
    pub(super) fn empty() -> anyhow::Result<Self> {
        Self::copy_of("template0")
    }

    pub(super) async fn migrated(
        migrate: impl AsyncFnOnce(&str) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let server = server()?;
        let template = format!("template_{:016x}", build_fingerprint()?);
        let lock = File::create(server.folder().join(format!("{template}.lock")))
            .context("cannot create the lock file of a template")?;
        // Hold the lock until the template is complete, so that only one process creates it. The system releases the
        // lock of a process that dies; the next process then starts again, because the template is not marked as done.
        lock.lock().context("cannot lock a template")?;
        if !server.is_marked_done(&template) {
            server.drop_database(&template)?;
            server.create_database(&template, "template0")?;
            migrate(&url(server, ROLE, &template)).await?;
            server.mark_done(&template)?;
        }
        drop(lock);
        Self::copy_of(&template)
    }

    fn copy_of(template: &str) -> anyhow::Result<Self> {
        let server = server()?;
        let name = format!("test_{:016x}", RandomState::new().build_hasher().finish());
        server.create_database(&name, template)?;
        Ok(Self { server, name })
    }

    pub(super) fn pooler(
        &self,
        mode: PoolMode,
        servers: u32,
        more: &str,
    ) -> anyhow::Result<Pooler> {
        Pooler::start(self.server, &self.name, mode, servers, more)
    }

    pub(super) fn url(&self) -> String {
        url(self.server, ROLE, &self.name)
    }

    pub(super) fn superuser_url(&self) -> String {
        url(self.server, SUPERUSER, &self.name)
    }
}

impl Drop for DatabaseLease {
    fn drop(&mut self) {
        // Ignore an error: the database stays until the server stops, and a panic here would hide the test's result.
        let _ = self.server.drop_database(&self.name);
    }
}

fn url(server: &Server, role: &str, database: &str) -> String {
    let socket = server.socket();
    format!(
        "postgres://{role}@localhost/{database}?host={}",
        socket.display()
    )
}

/// Returns a fingerprint of the test binary, so that each build creates its own template.
fn build_fingerprint() -> anyhow::Result<u64> {
    let binary = std::env::current_exe().context("cannot find this test binary")?;
    let facts = fs::metadata(&binary).context("cannot read the metadata of this test binary")?;
    let written = facts
        .modified()
        .context("cannot read the metadata of this test binary")?;
    let mut hasher = DefaultHasher::new();
    binary.hash(&mut hasher);
    facts.len().hash(&mut hasher);
    written
        .duration_since(UNIX_EPOCH)
        .context("cannot read the metadata of this test binary")?
        .hash(&mut hasher);
    Ok(hasher.finish())
}
