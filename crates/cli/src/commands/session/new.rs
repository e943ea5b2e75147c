//! `matins session new`: creates a session with several seats.

use std::{collections::BTreeSet, path::PathBuf};

use api_types::{SeatRequest, SessionRequest, SessionView};
use model::seat::{SeatDirectory, names_of_roles};

use super::super::options::{absolute_directory, parse_pair};
use crate::{
    app::App,
    error::{CliError, Exit},
};

/// Create a session in which several agents work, each on a seat with a memory of its own
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  matins session new --seat planner=claude --seat worker=codex:2\n  creates the seats planner, \
                  worker-1 and worker-2. Messages go to planner, unless `matins session send --seat` names another one."
)]
pub(super) struct Args {
    /// A seat: its role and its agent, such as planner=claude, or several seats of one role, such as worker=codex:2; may be
    /// repeated
    #[arg(long = "seat", value_name = "ROLE=AGENT[:COUNT]", value_parser = parse_seats, required = true)]
    seats: Vec<SeatsArg>,
    /// The seat that takes the messages which name no seat [default: the first one]
    #[arg(long, value_name = "SEAT")]
    entry: Option<String>,
    /// Give a seat, or all seats of a role, a folder of its own instead of the directory of the session; may be repeated
    #[arg(long = "own-folder", value_name = "SEAT|ROLE")]
    own_folders: Vec<String>,
    /// The instructions that open the memory of a seat, or of all seats of a role; may be repeated
    #[arg(long, value_name = "SEAT|ROLE=TEXT", value_parser = parse_pair)]
    instructions: Vec<(String, String)>,
    /// The working directory of the session [default: a new folder]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// The instance on which the turns run; `matins instance list` shows the instances [default: any]
    #[arg(long, value_name = "INSTANCE")]
    on: Option<String>,
    /// The title of the session
    #[arg(long)]
    title: Option<String>,
    /// Create a draft, whose messages wait for `matins session enable`
    #[arg(long)]
    draft: bool,
}

/// The seats of one option.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SeatsArg {
    role: String,
    agent: String,
    count: u32,
}

/// Parses `ROLE=AGENT` or `ROLE=AGENT:COUNT`. An agent whose name ends with a colon and a number needs a count behind it.
fn parse_seats(text: &str) -> Result<SeatsArg, String> {
    let (role, agent) = parse_pair(text)
        .map_err(|_| "expected ROLE=AGENT or ROLE=AGENT:COUNT, such as worker=codex:2")?;
    let counted = agent
        .rsplit_once(':')
        .and_then(|(agent, count)| Some((agent, count.parse().ok()?)));
    let (agent, count) = counted.unwrap_or((agent.as_str(), 1));
    if agent.is_empty() {
        return Err("expected an agent after =, such as worker=codex:2".into());
    }
    if count == 0 {
        return Err("expected a count of at least 1".into());
    }
    Ok(SeatsArg {
        role,
        agent: agent.to_owned(),
        count,
    })
}

pub(super) async fn run(args: Args, app: &App) -> Result<(), CliError> {
    let seats = seat_requests(&args)?;
    let request = SessionRequest {
        seats: Some(seats),
        cwd: absolute_directory(app, args.dir)?,
        placed_on: args.on,
        title: args.title,
        draft: args.draft,
        ..SessionRequest::default()
    };
    let created = app.client.create_session(&request).await?.id.to_string();
    let view = app.client.session(&created).await?.value;
    if app.output.json {
        return Ok(app.output.document(&view)?);
    }
    app.output
        .line(&format!("Created {created} with {}.", format_seats(&view)))?;
    app.output.aside(&format!(
        "To send a message: matins session send {created} [--seat SEAT] \"...\""
    ));
    Ok(())
}

/// Returns one request for each seat. The server checks the roles, the agents and the number of seats.
fn seat_requests(args: &Args) -> Result<Vec<SeatRequest>, CliError> {
    let repeated = args.seats.iter().flat_map(|seats| {
        // The server refuses more than 16 seats. A larger number would only cost memory here.
        let count = usize::try_from(seats.count).unwrap_or(usize::MAX).min(17);
        std::iter::repeat_n(seats, count)
    });
    let repeated: Vec<&SeatsArg> = repeated.collect();
    let roles: Vec<&str> = repeated.iter().map(|seat| seat.role.as_str()).collect();
    let names = names_of_roles(&roles);
    // 1. Refuse names of other seats, which would have no effect.
    let known: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let own = args.own_folders.iter().map(|name| ("--own-folder", name));
    let instructions = args.instructions.iter();
    let named = own.chain(instructions.map(|(name, _)| ("--instructions", name)));
    for (option, name) in named {
        if !known.contains(name.as_str()) && !roles.contains(&name.as_str()) {
            return Err(unknown_seat(option, name, &names));
        }
    }
    if let Some(entry) = &args.entry
        && !known.contains(entry.as_str())
    {
        return Err(unknown_seat("--entry", entry, &names));
    }
    // 2. Build the requests. Names count before roles.
    let requests = repeated.iter().zip(&names).map(|(seat, name)| {
        let instructions = |of: &str| {
            let mut found = args.instructions.iter();
            found.find(|(named, _)| named == of)
        };
        let instructions = instructions(name).or_else(|| instructions(&seat.role));
        let mut own = args.own_folders.iter();
        let has_own = own.any(|named| named == name || *named == seat.role);
        SeatRequest {
            role: seat.role.clone(),
            agent: seat.agent.clone(),
            entry: args.entry.as_ref() == Some(name),
            directory: has_own.then_some(SeatDirectory::Own),
            instructions: instructions.map(|(_, text)| text.clone()),
            ..SeatRequest::default()
        }
    });
    Ok(requests.collect())
}

fn unknown_seat(option: &str, given: &str, names: &[String]) -> CliError {
    let shown: Vec<&str> = names.iter().take(16).map(String::as_str).collect();
    let message = format!("invalid `{option}`: the session has no seat `{given}`");
    CliError::message(Exit::Usage, message).with_hint(format!("the seats are {}", shown.join(", ")))
}

/// Formats the names of the seats, such as `the seats planner (entry), worker-1, worker-2`.
fn format_seats(view: &SessionView) -> String {
    let names = view.seats.iter().map(|seat| {
        let entry = if seat.is_entry { " (entry)" } else { "" };
        format!("{}{entry}", seat.name)
    });
    let names: Vec<String> = names.collect();
    match names.as_slice() {
        [only] => format!("the seat {only}"),
        all => format!("the seats {}", all.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seats_are_parsed_with_optional_count() {
        let seats = |role: &str, agent: &str, count| {
            Ok(SeatsArg {
                role: role.into(),
                agent: agent.into(),
                count,
            })
        };
        assert_eq!(parse_seats("planner=claude"), seats("planner", "claude", 1));
        assert_eq!(parse_seats("worker=codex:2"), seats("worker", "codex", 2));
        assert_eq!(parse_seats("judge=a:b"), seats("judge", "a:b", 1));
        for (given, says) in [
            ("claude", "ROLE=AGENT"),
            ("=claude", "ROLE=AGENT"),
            ("worker=", "an agent"),
            ("worker=:2", "an agent"),
            ("worker=codex:0", "at least 1"),
        ] {
            let error = parse_seats(given).unwrap_err();
            assert!(error.contains(says), "{given}: {error}");
        }
    }
}
