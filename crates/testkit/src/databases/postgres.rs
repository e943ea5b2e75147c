//! Databases on the shared test server: one for each test, copied from a template.

use std::{
    fs::File,
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::OnceLock,
};

use anyhow::{Context as _, anyhow};

use super::{
    pooler::{PoolMode, Pooler},
    postgres_server::{ROLE, SUPERUSER, Server},
    template::build_fingerprint,
};

/// Returns the server, which this process keeps in use until it ends.
fn server() -> anyhow::Result<&'static Server> {
    static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();
    SERVER
        .get_or_init(|| Server::join().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}

/// A database. Drop leaves it to the next test of any process, which drops it.
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
            migrate(&server.url(ROLE, &template)).await?;
            server.mark_done(&template)?;
        }
        drop(lock);
        Self::copy_of(&template)
    }

    fn copy_of(template: &str) -> anyhow::Result<Self> {
        let server = server()?;
        server.drop_unused_databases()?;
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
        self.server.url(ROLE, &self.name)
    }

    pub(super) fn superuser_url(&self) -> String {
        self.server.url(SUPERUSER, &self.name)
    }
}

impl Drop for DatabaseLease {
    fn drop(&mut self) {
        // Ignore an error: the database stays until the server stops, and a panic here would hide the test's result.
        let _ = self.server.leave_database(&self.name);
    }
}
