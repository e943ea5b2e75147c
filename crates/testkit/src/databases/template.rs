//! The template of a migrated database: each build of a test binary makes its own once, and each test copies it.

use std::{
    fs::{self, File},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::{Path, PathBuf},
    time::{Duration, UNIX_EPOCH},
};

use anyhow::Context as _;

/// The age at which the template of an earlier build is removed.
const MAX_TEMPLATE_AGE: Duration = Duration::from_hours(24);

/// Returns the path of a SQLite file with the schema that `migrate` creates. Creates the file if it does not exist.
///
/// `migrate` receives the address of a new file and must close the file before it returns.
pub(super) async fn sqlite_file(
    folder: &Path,
    migrate: impl AsyncFnOnce(&str) -> anyhow::Result<()>,
) -> anyhow::Result<PathBuf> {
    let name = format!("template_{:016x}", build_fingerprint()?);
    let template = folder.join(format!("{name}.db"));
    if template.exists() {
        return Ok(template);
    }
    let lock =
        File::create(folder.join(format!("{name}.lock"))).context("cannot create a lock file")?;
    lock.lock().context("cannot lock a template")?;
    if !template.exists() {
        remove_old_templates(folder);
        let unfinished = tempfile::tempdir_in(folder).context("cannot create a folder")?;
        let file = unfinished.path().join("matins.db");
        migrate(&format!("sqlite://{}", file.display())).await?;
        // The file gets its name when it is complete, so that a process which dies here leaves no half template.
        fs::rename(&file, &template).context("cannot keep a template")?;
    }
    Ok(template)
}

/// Removes the templates of earlier builds. Ignores errors, because another process may remove the same files.
fn remove_old_templates(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let is_template = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(b"template_");
        let written = entry.metadata().and_then(|facts| facts.modified()).ok();
        let age = written.and_then(|at| at.elapsed().ok());
        if is_template && age.is_some_and(|age| age > MAX_TEMPLATE_AGE) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns a fingerprint of the test binary, so that each build creates its own template.
pub fn build_fingerprint() -> anyhow::Result<u64> {
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
