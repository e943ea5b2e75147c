//! `matins session export`.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use clap::ValueEnum;
use service::{Service, SessionView};
use tempfile::NamedTempFile;

use crate::{
    app::App,
    failure::{Exit, Failure},
    output::{Export, OutputError},
    signals::Signals,
};

/// Write the whole conversation of a session down
///
/// It is what `session show` tells: no prompt as it was really sent, and no setting of an agent. What
/// people, agents and tools wrote is there as they wrote it.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its key, its id or the beginning of that
    session: String,
    /// How it is written
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// The file, or - for standard output
    #[arg(long, value_name = "FILE", default_value = "-")]
    out: PathBuf,
    /// Replace the file if it is there
    #[arg(long)]
    force: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One JSON object a line: first one about the session, then one for each row
    Jsonl,
    /// To be read by people
    Markdown,
}

pub(super) async fn run(args: Args, app: &App) -> Result<Exit, Failure> {
    if args.out == Path::new("-") {
        let mut stdout = BufWriter::new(io::stdout().lock());
        write(&args, app, &mut stdout, |error| {
            OutputError::from(error).into()
        })
        .await?;
        stdout.flush().map_err(OutputError::from)?;
        return Ok(Exit::Done);
    }
    let mut signals = Signals::listen()?;
    tokio::select! {
        // What is not whole is removed.
        () = signals.next() => Ok(Exit::Interrupted),
        written = to_file(&args, app) => written.map(|()| Exit::Done),
    }
}

/// Writes beside the file and puts it in its place when it is whole.
async fn to_file(args: &Args, app: &App) -> Result<(), Failure> {
    let failed =
        |source: io::Error| Failure::environment(format!("write {}", args.out.display()), source);
    if !args.force && fs::symlink_metadata(&args.out).is_ok() {
        return Err(is_there(&args.out));
    }
    let folder = match args.out.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    // For its owner alone, as the database is.
    let mut file = BufWriter::new(NamedTempFile::new_in(folder).map_err(failed)?);
    let rows = write(args, app, &mut file, failed).await?;
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
                io::ErrorKind::AlreadyExists => is_there(&args.out),
                _ => failed(error.error),
            })?;
    }
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(failed)?;
    app.output
        .aside(&format!("Wrote {rows} rows to {}.", args.out.display()));
    Ok(())
}

fn is_there(path: &Path) -> Failure {
    let message = format!("write {}: it is there already", path.display());
    Failure::message(Exit::Refused, message).with_hint("--force replaces it")
}

/// Writes what there is by now, some rows at a time. Gives how many there were.
async fn write(
    args: &Args,
    app: &App,
    to: &mut impl Write,
    failed: impl Fn(io::Error) -> Failure,
) -> Result<u64, Failure> {
    let service = &app.service;
    let view = service.session(&args.session, Some(0)).await?;
    let export = export(service, &view, args.format, app).await?;
    to.write_all(export.head(app.clock.now()).as_bytes())
        .map_err(&failed)?;
    let (mut after, last) = (0, view.session.last_seq);
    let mut rows = 0;
    while after < last {
        let page = service.messages_page(view.session.id, after).await?;
        let Some(newest) = page.last() else { break };
        after = newest.seq;
        for message in page.iter().filter(|message| message.seq <= last) {
            rows += 1;
            to.write_all(export.row(message).as_bytes())
                .map_err(&failed)?;
        }
    }
    Ok(rows)
}

async fn export<'a>(
    service: &Service,
    view: &'a SessionView,
    format: Format,
    app: &App,
) -> Result<Export<'a>, Failure> {
    let harnesses = service.harnesses().await?;
    let harness = view
        .seats
        .iter()
        .find(|seat| seat.is_entry)
        .and_then(|seat| {
            let mut named = harnesses.iter();
            named.find(|harness| harness.id == seat.harness_id)
        });
    let names = service.automation_names().await?;
    let automation = view.session.schedule_id.and_then(|id| names.get(&id));
    Ok(Export {
        session: &view.session,
        harness: harness.map(|harness| harness.name.clone()),
        automation: automation.cloned(),
        markdown: (format == Format::Markdown).then(|| app.time.clone()),
    })
}
