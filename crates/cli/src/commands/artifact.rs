//! `matins artifact`: lists and downloads the files and addresses that agents hand in.

use std::{
    fs::{self, File},
    io::{self, BufWriter, IsTerminal as _, Write},
    path::{Path, PathBuf},
};

use api_types::{Artifact, MAX_PAGE_ITEMS};
use clap::Subcommand;
use client::PageParams;
use futures::TryStreamExt as _;
use model::ArtifactId;
use tempfile::NamedTempFile;

use crate::{
    app::App,
    commands::first_items::first_items,
    error::{CliError, Exit},
    output::{OutputError, clean, excerpt, last_columns, one_line, short_ids, table_with_notes},
    signals::Signals,
};

/// Manage artifacts: files and addresses that agents hand in
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the artifacts of a session, newest first
    #[command(visible_alias = "ls")]
    List {
        /// The session: its key, its ID or a prefix of its ID
        session: String,
        /// Only artifacts whose names begin with this
        #[arg(long, value_name = "PREFIX")]
        name: Option<String>,
        /// The maximum number of artifacts
        #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
        limit: u32,
    },
    /// Download the content of an artifact
    Get(GetArgs),
}

#[derive(Debug, clap::Args)]
struct GetArgs {
    /// The artifact: its ID, a prefix of its ID, or SESSION/NAME for the newest version of the name
    artifact: String,
    /// The file, or - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

pub(crate) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    match args.command {
        Command::List {
            session,
            name,
            limit,
        } => list(app, &session, name.as_deref(), limit).await,
        Command::Get(args) => get(app, &args).await,
    }
}

async fn list(app: &App, session: &str, name: Option<&str>, limit: u32) -> Result<Exit, CliError> {
    let artifacts = first_items(limit, async |page| {
        app.client.artifacts(session, name, &page).await
    })
    .await?;
    if app.output.json {
        app.output.document(&artifacts)?;
        return Ok(Exit::Done);
    }
    if artifacts.is_empty() {
        app.output.line("No artifacts.")?;
        return Ok(Exit::Done);
    }
    let ids = short_ids(artifacts.iter().map(|artifact| artifact.id));
    let rows = artifacts.iter().zip(ids).map(|(artifact, id)| {
        let size = artifact.size.map(|size| format!("{size} bytes"));
        [
            id,
            artifact.version.to_string(),
            app.time.minute(artifact.created_at),
            size.unwrap_or_default(),
            artifact.name.clone(),
        ]
    });
    let mut rows: Vec<_> = rows.collect();
    let headings = ["ARTIFACT", "VERSION", "SAVED", "SIZE", "NAME"];
    let room = last_columns(&headings, &rows);
    for [.., name] in &mut rows {
        *name = excerpt(name, room);
    }
    let rows = rows.into_iter().zip(&artifacts).map(|(row, artifact)| {
        // A cut name is whole below, because `artifact get` accepts only whole names.
        let is_cut = row.last() != Some(&one_line(&artifact.name));
        let name = is_cut.then(|| artifact.name.clone());
        let notes = name.into_iter().chain(artifact.uri.clone()).collect();
        (row, notes)
    });
    app.output.line(&table_with_notes(headings, rows))?;
    Ok(Exit::Done)
}

async fn get(app: &App, args: &GetArgs) -> Result<Exit, CliError> {
    let artifact = find(app, &args.artifact).await?;
    if args.output != Path::new("-") {
        let mut signals = Signals::listen()?;
        return tokio::select! {
            // Dropping the writer removes the temporary file, so no incomplete file remains.
            () = signals.next() => Ok(Exit::Interrupted),
            written = write_file(app, &artifact, args) => written.map(|()| Exit::Done),
        };
    }
    if io::stdout().is_terminal() {
        print_text(app, &artifact).await?;
        return Ok(Exit::Done);
    }
    let mut stdout = BufWriter::new(io::stdout().lock());
    let failed = |error| OutputError::from(error).into();
    copy(app, &artifact, &mut stdout, failed).await?;
    stdout.flush().map_err(OutputError::from)?;
    Ok(Exit::Done)
}

/// Returns the artifact with an ID or an ID prefix, or the newest version of a name in a session.
async fn find(app: &App, given: &str) -> Result<Artifact, CliError> {
    // Keys of sessions and names may contain slashes. The session ends at the first one; another session is named by its
    // ID.
    let Some((session, name)) = given.split_once('/') else {
        return Ok(app.client.artifact(given).await?);
    };
    let mut page = PageParams::first(MAX_PAGE_ITEMS);
    loop {
        let found = app.client.artifacts(session, Some(name), &page).await?;
        // The newest version comes first. Longer names begin with the same text.
        let named = found.items.into_iter().find(|found| found.name == name);
        if let Some(named) = named {
            return Ok(named);
        }
        if found.next.is_none() {
            let message = format!("artifact `{}` not found in that session", clean(name));
            let hint = format!("`matins artifact list {session}` lists its artifacts");
            return Err(CliError::message(Exit::NotFound, message).with_hint(hint));
        }
        page.after = found.next;
    }
}

/// Writes the content to a temporary file and renames it when it is complete.
async fn write_file(app: &App, artifact: &Artifact, args: &GetArgs) -> Result<(), CliError> {
    let path = &args.output;
    let failed = |source: io::Error| {
        CliError::environment(format!("cannot write {}", path.display()), source)
    };
    if !args.force && fs::symlink_metadata(path).is_ok() {
        return Err(already_exists_error(path));
    }
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut file = BufWriter::new(NamedTempFile::new_in(folder).map_err(failed)?);
    let bytes = copy(app, artifact, &mut file, failed).await?;
    let file = file
        .into_inner()
        .map_err(|error| failed(error.into_error()))?;
    file.as_file().sync_all().map_err(failed)?;
    if args.force {
        file.persist(path).map_err(|error| failed(error.error))?;
    } else {
        file.persist_noclobber(path)
            .map_err(|error| match error.error.kind() {
                io::ErrorKind::AlreadyExists => already_exists_error(path),
                _ => failed(error.error),
            })?;
    }
    // A rename is durable only after its folder has been synced.
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(failed)?;
    app.output
        .aside(&format!("Wrote {bytes} bytes to {}.", path.display()));
    Ok(())
}

fn already_exists_error(path: &Path) -> CliError {
    let message = format!("the file {} already exists", path.display());
    CliError::message(Exit::Refused, message).with_hint("`--force` replaces it")
}

/// Prints a content to a terminal, escaped, if it is text.
async fn print_text(app: &App, artifact: &Artifact) -> Result<(), CliError> {
    let mut content = Vec::new();
    let failed = |error| OutputError::from(error).into();
    copy(app, artifact, &mut content, failed).await?;
    let is_binary = |text: &str| text.contains('\0');
    match String::from_utf8(content) {
        Ok(text) if !is_binary(&text) => Ok(app.output.piece(&clean(&text))?),
        _ => {
            let message = format!(
                "the artifact `{}` is not text, and standard output is a terminal",
                clean(&artifact.name)
            );
            let hint = "`--output FILE` writes it to a file";
            Err(CliError::message(Exit::Refused, message).with_hint(hint))
        }
    }
}

/// Copies the content of an artifact. Returns the number of bytes.
async fn copy(
    app: &App,
    artifact: &Artifact,
    to: &mut impl Write,
    failed: impl Fn(io::Error) -> CliError,
) -> Result<u64, CliError> {
    let id: ArtifactId = artifact.id;
    let mut body = app.client.artifact_content(&id.to_string()).await?;
    let incomplete = || format!("the content of {id} is incomplete");
    let broke_off = |source| {
        let error = anyhow::Error::from_boxed(source).context(incomplete());
        CliError::new(Exit::Environment, error)
    };
    let mut written = 0;
    while let Some(part) = body.try_next().await.map_err(broke_off)? {
        to.write_all(&part).map_err(&failed)?;
        written += part.len() as u64;
    }
    if artifact.size.is_some_and(|size| size != written) {
        return Err(CliError::message(Exit::Environment, incomplete()));
    }
    Ok(written)
}
