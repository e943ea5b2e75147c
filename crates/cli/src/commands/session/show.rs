//! `matins session show`.

use api_types::{MAX_PAGE_ITEMS, Message, Messages, OpenRun, Seat, Session, SessionView};
use client::MessageRange;
use serde::Serialize;

use crate::{
    app::App,
    conversation::{self, SeatNames, Transcript},
    error::CliError,
    follow,
    output::{BOLD, DIM, excerpt, field_row, one_line, paint, table},
};

/// Show a session with the end of its transcript
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The session: its key, its ID or a prefix of its ID
    session: String,
    /// The number of rows to show, from the end of the transcript
    #[arg(long, value_name = "N", default_value_t = 50, conflicts_with = "all")]
    last: u32,
    /// Show the whole transcript
    #[arg(long)]
    all: bool,
}

/// A session with the end of its transcript.
#[derive(Serialize)]
struct SessionDetails<'a> {
    #[serde(flatten)]
    view: &'a SessionView,
    /// The number of rows of the transcript before the first one shown.
    messages_before: i64,
    messages: &'a [Message],
}

pub(super) async fn run(args: Args, app: &App) -> Result<(), CliError> {
    let view = app.client.session(&args.session).await?.value;
    let id = view.session.id.to_string();
    if args.all {
        let from = MessageRange::After(0);
        let mut transcript = Transcript::new(view.session.id, from);
        if app.output.json {
            let messages = transcript.new_messages(&app.client).await?;
            return print_json(app, &view, 0, &messages);
        }
        print_header(app, &view).await?;
        let seats = SeatNames::of(&view.seats);
        // Print page by page, because a whole transcript may be too long to hold in memory.
        let mut after = 0;
        loop {
            let page = app
                .client
                .messages(&id, MessageRange::After(after), None)
                .await?;
            print_messages(app, &page.items, &seats)?;
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
        return print_open_runs(app, &view);
    }
    let last = last_messages(app, &id, args.last).await?;
    let before = last.before.unwrap_or(0);
    if app.output.json {
        return print_json(app, &view, before, &last.items);
    }
    print_header(app, &view).await?;
    if before > 0 {
        let rows = match before {
            1 => "1 earlier row".to_owned(),
            rows => format!("{rows} earlier rows"),
        };
        app.output
            .line(&paint(DIM, &format!("{rows}; --all shows everything.\n")))?;
    }
    print_messages(app, &last.items, &SeatNames::of(&view.seats))?;
    print_open_runs(app, &view)
}

/// Returns the last `wanted` rows of a transcript. If that is more than a page, reads the earlier rows with further
/// requests.
async fn last_messages(app: &App, session: &str, wanted: u32) -> Result<Messages, CliError> {
    let part = MessageRange::Last(wanted.min(MAX_PAGE_ITEMS));
    let mut end = app.client.messages(session, part, None).await?;
    let mut missing = wanted.saturating_sub(MAX_PAGE_ITEMS);
    while let Some(previous) = end.previous.filter(|_| missing > 0) {
        let part = MessageRange::Before(previous);
        let limit = missing.min(MAX_PAGE_ITEMS);
        let mut page = app.client.messages(session, part, Some(limit)).await?;
        let rows = u32::try_from(page.items.len()).unwrap_or(u32::MAX);
        missing = missing.saturating_sub(rows);
        end.before = end.before.map(|before| before.saturating_sub(rows.into()));
        end.previous = page.previous;
        page.items.append(&mut end.items);
        end.items = page.items;
    }
    Ok(end)
}

fn print_json(
    app: &App,
    view: &SessionView,
    messages_before: i64,
    messages: &[Message],
) -> Result<(), CliError> {
    Ok(app.output.document(&SessionDetails {
        view,
        messages_before,
        messages,
    })?)
}

fn print_open_runs(app: &App, view: &SessionView) -> Result<(), CliError> {
    for OpenRun { run, blocked_on } in &view.open_runs {
        app.output
            .line(&format!("\n{} is {}.", run.id, run.status))?;
        if let Some(blocked_on) = blocked_on {
            app.output
                .line(&follow::format_blocked_on(app, blocked_on))?;
        }
    }
    Ok(())
}

async fn print_header(app: &App, view: &SessionView) -> Result<(), CliError> {
    let session = &view.session;
    // Several seats have a table.
    let only_seat = match view.seats.as_slice() {
        [only] => Some(only),
        _ => None,
    };
    let instance = match only_seat {
        Some(seat) => place_of(app, seat).await?,
        None => None,
    };
    let mut seats = view.seats.iter();
    let entry = seats.find(|seat| seat.is_entry && only_seat.is_none());
    let output = app.output;
    output.line(&paint(
        BOLD,
        &format!("{}  {}", session.id, one_line(title(session))),
    ))?;
    for (name, value) in [
        ("state", Some(session.state.to_string())),
        ("reason", session.state_reason.clone()),
        ("key", session.session_key.clone()),
        ("automation", session.schedule_id.map(|id| id.to_string())),
        (
            "bound to it",
            Some(view.bound_automations.join(", ")).filter(|names| !names.is_empty()),
        ),
        ("directory", Some(format_directory(view))),
        ("instance", instance),
        ("turns", only_seat.map(|seat| seat.turns.to_string())),
        ("entry seat", entry.map(|seat| seat.name.clone())),
    ] {
        if let Some(value) = value {
            output.line(&field_row(name, &value))?;
        }
    }
    if only_seat.is_none() && !view.seats.is_empty() {
        output.line(&format!("\n{}", seats_table(&view.seats)))?;
    }
    Ok(output.line("")?)
}

/// Formats the seats of a session as a table that fits into 80 columns unless names are very long.
fn seats_table(seats: &[Seat]) -> String {
    let rows = seats.iter().map(|seat| {
        [
            seat.name.clone(),
            excerpt(&seat.role, 12),
            excerpt(seat.agent.as_deref().unwrap_or(""), 14),
            if seat.is_busy { "busy" } else { "free" }.to_owned(),
            seat.turns.to_string(),
            seat.directory.to_string(),
            match (&seat.instance, &seat.removed_instance) {
                (_, Some(removed)) => format!("{} (removed)", excerpt(removed, 12)),
                (Some(instance), None) => excerpt(instance, 12),
                (None, None) => String::new(),
            },
        ]
    });
    let headings = [
        "SEAT", "ROLE", "AGENT", "STATE", "TURNS", "FOLDER", "INSTANCE",
    ];
    table(headings, rows)
}

/// Formats the instance that alone takes the turns of a seat. Returns `None` if any instance may.
async fn place_of(app: &App, seat: &Seat) -> Result<Option<String>, CliError> {
    let Some(id) = seat.placed_on.or(seat.instance_id) else {
        return Ok(None);
    };
    let all = app.client.instances().await?.items;
    let found = all.iter().find(|instance| instance.id == id);
    let name = match (found, &seat.removed_instance) {
        (Some(instance), _) => excerpt(&instance.name, 80),
        (None, Some(name)) => format!("{}, which was removed", excerpt(name, 80)),
        (None, None) => format!("{id}, which was removed"),
    };
    Ok(Some(if seat.placed_on.is_some() {
        format!("{name} (placed there)")
    } else {
        format!("{name} (its agent's memory is there)")
    }))
}

fn print_messages(app: &App, messages: &[Message], seats: &SeatNames) -> Result<(), CliError> {
    for message in messages {
        let time = app.time.date_time(message.created_at);
        app.output
            .line(&conversation::format_message(message, &time, seats))?;
    }
    Ok(())
}

/// Returns the working directory of a session, with the path of its own folder if the server has one.
pub(super) fn format_directory(view: &SessionView) -> String {
    match (&view.session.cwd, &view.own_folder) {
        (Some(path), _) => path.clone(),
        (None, Some(path)) => format!("its own folder: {path}"),
        (None, None) => "its own folder".to_owned(),
    }
}

/// Returns the title of a session, empty if it has none.
pub(super) fn title(session: &Session) -> &str {
    session.title.as_deref().unwrap_or("")
}
