//! `matins session export`.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use api_types::ExportFormat;
use clap::ValueEnum;
use futures::TryStreamExt as _;
use tempfile::NamedTempFile;

use crate::{
    app::App,
    error::{CliError, Exit},
    output::{ExportWriter, OutputError},
    signals::Signals,
};

/// Export the whole transcript of a session
///
/// The export contains the rows that `session show` prints, with the whole texts of people, agents and tools.
/// Control characters and invisible ones are escaped; programs read the same text from the JSON. The export
/// contains neither the prompts as they were sent nor the settings of the agent.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its key, its ID or a prefix of its ID
    session: String,
    /// The format of the export
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// The file, or - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object per line: the session, then each row
    Jsonl,
    /// A document for people
    Markdown,
}

pub(super) async fn run(args: Args, app: &App) -> Result<Exit, CliError> {
    if args.out == Path::new("-") {
        let mut stdout = BufWriter::new(io::stdout().lock());
        write_export(&args, app, &mut stdout, |error| {
            OutputError::from(error).into()
        })
        .await?;
        stdout.flush().map_err(OutputError::from)?;
        return Ok(Exit::Done);
    }
    let mut signals = Signals::listen()?;
    tokio::select! {
        // Dropping the writer removes the temporary file, so no incomplete export remains.
        () = signals.next() => Ok(Exit::Interrupted),
        written = write_file(&args, app) => written.map(|()| Exit::Done),
    }
}

/// Writes the export to a temporary file and renames it when it is complete.
async fn write_file(args: &Args, app: &App) -> Result<(), CliError> {
    let failed = |source: io::Error| {
        CliError::environment(format!("cannot write {}", args.out.display()), source)
    };
    if !args.force && fs::symlink_metadata(&args.out).is_ok() {
        return Err(already_exists_error(&args.out));
    }
    let folder = match args.out.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // `NamedTempFile` creates files with mode 0600, as the database has.
    let mut file = BufWriter::new(NamedTempFile::new_in(folder).map_err(failed)?);
    let bytes = write_export(args, app, &mut file, failed).await?;
    let file = file
        .into_inner()
        .map_err(|error| failed(error.into_error()))?;
    file.as_file().sync_all().map_err(failed)?;
    if args.force {
        file.persist(&args.out)
            .map_err(|error| failed(error.error))?;
    } else {
        file.persist_noclobber(&args.out)
            .map_err(|error| match error.error.kind() {
                io::ErrorKind::AlreadyExists => already_exists_error(&args.out),
                _ => failed(error.error),
            })?;
    }
    // A rename is durable only after its folder has been synced.
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(failed)?;
    app.output
        .aside(&format!("Wrote {bytes} bytes to {}.", args.out.display()));
    Ok(())
}

fn already_exists_error(path: &Path) -> CliError {
    let message = format!("the file {} already exists", path.display());
    CliError::message(Exit::Refused, message).with_hint("`--force` replaces it")
}

/// Writes the export of the present transcript. Returns the number of bytes.
async fn write_export(
    args: &Args,
    app: &App,
    to: &mut impl Write,
    failed: impl Fn(io::Error) -> CliError,
) -> Result<usize, CliError> {
    let (format, zone) = match args.format {
        Format::Jsonl => (ExportFormat::Jsonl, None),
        Format::Markdown => (ExportFormat::Markdown, app.time.zone()),
    };
    let mut body = app
        .client
        .export_session(&args.session, format, zone)
        .await?;
    let broke_off = |source| {
        let message = format!("the export of {} is incomplete", args.session);
        let error = anyhow::Error::from_boxed(source).context(message);
        CliError::new(Exit::Environment, error)
    };
    let mut writer = ExportWriter::new(to, format);
    while let Some(part) = body.try_next().await.map_err(broke_off)? {
        writer.write(&part).map_err(&failed)?;
    }
    writer.finish().map_err(failed)
}
