//! `matins team`: shows the teams that ship, and checks team files.

use std::{
    fs::File,
    io::{ErrorKind, Read as _},
    path::Path,
};

use api_types::{PermissionRules, TeamFile};
use clap::Subcommand;
use config::team::{
    InvalidTeam, MAX_TEAM_FILE_BYTES, SHIPPED_TEAMS, ShippedTeam, TeamProblem, parse_team,
};
use model::{
    nearest::nearest,
    permission::Verdict,
    team::{CHECK_TIMEOUT_SECONDS, LIMIT_FIELDS, SeatDefinition, SeatPolicies, TeamDefinition},
};
use serde_json::{Map, Value, json};

use crate::{
    commands::options::{format_period, shell_word},
    error::{CliError, Exit},
    output::{
        FIELD_COLUMNS, LINE_COLUMNS, Output, clean, excerpt, field_row, one_line, table,
        text_table, wrapped,
    },
};

/// The highest widths of the names of seats, and of those of roles and agents. The other columns take 33 of a line.
const SEAT_COLUMNS: usize = 17;
const NAME_COLUMNS: usize = 15;

/// The indent of the settings of a role.
const INDENT: &str = "  ";

/// Show and check teams: the seats, the limits and the checks of a goal
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the teams that ship with Matins
    List,
    /// Show a team
    Show {
        /// The name of a team that ships, or the path of a TOML file, which has a slash or ends in .toml
        #[arg(value_name = "NAME|FILE", value_hint = clap::ValueHint::FilePath)]
        team: String,
        /// Print the TOML file itself, as a beginning for a team of your own
        #[arg(long)]
        file: bool,
    },
    /// Report all problems of a team file
    Check {
        /// The TOML file
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: String,
    },
}

pub(crate) fn run(args: Args, output: Output) -> Result<Exit, CliError> {
    match args.command {
        Command::List => list(output)?,
        Command::Show { team, file } => show(&team, file, output)?,
        Command::Check { file } => return check(&file, output),
    }
    Ok(Exit::Done)
}

/// A team with the text of its file.
struct LoadedTeam {
    text: String,
    definition: Result<TeamDefinition, InvalidTeam>,
}

impl LoadedTeam {
    /// Loads a team that ships, or a file.
    fn load(team: &str) -> Result<Self, CliError> {
        if is_file(team) {
            return Self::read(team);
        }
        let shipped = ShippedTeam::find(team).ok_or_else(|| {
            let names = SHIPPED_TEAMS.map(|team| team.name);
            let message = format!("there is no team `{}`", one_line(team));
            let hint = match nearest(team, names) {
                Some(near) if !Path::new(team).is_file() => format!("did you mean `{near}`?"),
                _ => format!("use {}, or {}", names.join(", "), path_hint(team)),
            };
            CliError::message(Exit::NotFound, message).with_hint(hint)
        })?;
        Ok(Self {
            text: shipped.file.to_owned(),
            definition: shipped.definition(),
        })
    }

    fn read(path: &str) -> Result<Self, CliError> {
        let content = read_limited(Path::new(path)).map_err(|error| {
            let exit = match error.kind() {
                ErrorKind::NotFound => Exit::NotFound,
                _ => Exit::Environment,
            };
            let message = format!("cannot read the file {}", one_line(path));
            CliError::new(exit, anyhow::Error::new(error).context(message))
        })?;
        Ok(Self {
            definition: parse_team(path, &content),
            text: String::from_utf8_lossy(&content).into_owned(),
        })
    }
}

/// Returns the hint for a name of no team: the file of that name, or an example of a path.
pub(super) fn path_hint(team: &str) -> String {
    let path = format!("./{team}");
    if Path::new(team).is_file() {
        format!("{} for the file of that name", shell_word(&path))
    } else {
        "the path of a file, such as ./team.toml".to_owned()
    }
}

/// Returns the team of a goal as a request names it: the name of one that ships, or the content of a file, which is checked
/// first.
pub(super) fn requested_team(team: &str) -> Result<(Option<String>, Option<TeamFile>), CliError> {
    if !is_file(team) {
        return Ok((Some(team.to_owned()), None));
    }
    let loaded = LoadedTeam::read(team)?;
    loaded.definition.map_err(invalid)?;
    let file = TeamFile {
        name: team.to_owned(),
        text: loaded.text,
    };
    Ok((None, Some(file)))
}

/// Returns `true` if an argument is the path of a file and not the name of a team that ships.
fn is_file(team: &str) -> bool {
    Path::new(team).extension() == Some("toml".as_ref()) || team.contains('/')
}

/// Reads a file up to one byte more than accepted, so that the parser refuses a file that is too long.
fn read_limited(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let longest = MAX_TEAM_FILE_BYTES as u64 + 1;
    File::open(path)?.take(longest).read_to_end(&mut content)?;
    Ok(content)
}

fn list(output: Output) -> Result<(), CliError> {
    let mut rows = Vec::new();
    let mut documents = Vec::new();
    for shipped in SHIPPED_TEAMS {
        let team = shipped.definition().map_err(invalid)?;
        if output.json {
            documents.push(team_json(&team));
        }
        rows.push([
            shipped.name.to_owned(),
            team.seats().len().to_string(),
            roles(&team),
            shipped.about.to_owned(),
        ]);
    }
    if output.json {
        return Ok(output.document(&documents)?);
    }
    let headings = ["NAME", "SEATS", "ROLES", "FOR"];
    Ok(output.line(&text_table(headings, rows))?)
}

/// Returns the roles of a team, each with the number of its seats if it has several.
fn roles(team: &TeamDefinition) -> String {
    let role = |seat: &SeatDefinition| match seat.count {
        1 => seat.role.clone(),
        count => format!("{} ({count})", seat.role),
    };
    team.seats.iter().map(role).collect::<Vec<_>>().join(", ")
}

fn show(team: &str, file: bool, output: Output) -> Result<(), CliError> {
    let LoadedTeam { text, definition } = LoadedTeam::load(team)?;
    let team = definition.map_err(invalid)?;
    match (file, output.json) {
        (true, true) => Ok(output.document(&json!({ "file": text }))?),
        (true, false) => Ok(output.piece(&clean(&text))?),
        (false, true) => Ok(output.document(&team_json(&team))?),
        (false, false) => Ok(output.line(&team_text(&team))?),
    }
}

fn team_text(team: &TeamDefinition) -> String {
    let mut lines = vec![field_row("name", &team.name)];
    for (name, check) in &team.checks {
        let command = one_line(&check.command);
        let shown = if check.timeout_seconds == CHECK_TIMEOUT_SECONDS {
            format!("{name}: {command}")
        } else {
            format!("{name}: {command} (at most {} s)", check.timeout_seconds)
        };
        let shown = wrapped(&shown, LINE_COLUMNS - FIELD_COLUMNS);
        lines.push(field_row("check", &shown.join("\n")));
    }
    let seats = team.seats().into_iter().map(|seat| {
        let definition = seat.definition;
        [
            excerpt(&seat.name, SEAT_COLUMNS),
            excerpt(&definition.role, NAME_COLUMNS),
            excerpt(definition.agent.as_deref().unwrap_or(""), NAME_COLUMNS),
            definition.memory.to_string(),
            definition.directory.to_string(),
            definition.attempts.to_string(),
        ]
    });
    let headings = ["SEAT", "ROLE", "AGENT", "MEMORY", "DIRECTORY", "ATTEMPTS"];
    lines.push(String::new());
    lines.push(table(headings, seats));
    let limits = LIMIT_FIELDS.iter().map(|limit| {
        [
            limit.name.to_owned(),
            (limit.get)(&team.limits).to_string(),
            limit.about.to_owned(),
        ]
    });
    lines.push(String::new());
    lines.push(text_table(["LIMIT", "VALUE", "ABOUT"], limits));
    for seat in &team.seats {
        let settings = settings_lines(seat);
        if settings.is_empty() && seat.instructions.is_none() {
            continue;
        }
        lines.push(format!("\n{}:", seat.role));
        lines.extend(settings);
        if let Some(instructions) = &seat.instructions {
            lines.extend(wrapped(&clean(instructions), LINE_COLUMNS));
        }
    }
    lines.join("\n")
}

/// Returns the settings of a role that the table of the seats does not have, in the notation of a file.
fn settings_lines(seat: &SeatDefinition) -> Vec<String> {
    let mut settings = Vec::new();
    if let Some(mode) = &seat.mode {
        settings.push(format!("mode = {}", quoted(mode)));
    }
    if let Some(writes) = &seat.writes {
        settings.push(format!("writes = {}", quoted_list(writes)));
    }
    if let Some(reviews) = seat.reviews {
        settings.push(format!("reviews = {}", quoted(reviews.as_str())));
    }
    if seat.accept_answers {
        settings.push("accept_answers = true".to_owned());
    }
    settings.extend(policy_settings(&seat.policies));
    let lines = settings.iter();
    let lines = lines.flat_map(|setting| wrapped(setting, LINE_COLUMNS - INDENT.len()));
    lines.map(|line| format!("{INDENT}{line}")).collect()
}

/// Returns the policies of the turns of a role that are no defaults, in the notation of a file.
fn policy_settings(policies: &SeatPolicies) -> Vec<String> {
    let default = SeatPolicies::default();
    let mut settings = Vec::new();
    let mut add_period = |key, seconds: u32, default: u32| {
        if seconds != default {
            settings.push(format!("{key} = \"{}\"", format_period(seconds.into())));
        }
    };
    add_period("timeout", policies.timeout_seconds, default.timeout_seconds);
    add_period(
        "inactivity",
        policies.inactivity_seconds,
        default.inactivity_seconds,
    );
    add_period("ask_timeout", policies.ask_seconds, default.ask_seconds);
    if policies.on_unmatched != default.on_unmatched {
        settings.push(format!("on_unmatched = \"{}\"", policies.on_unmatched));
    }
    for (key, verdict) in [("allow", Verdict::Allow), ("deny", Verdict::Deny)] {
        let rules = policies.permissions.0.iter();
        let rules = rules.filter(|rule| rule.verdict == verdict);
        let rules: Vec<_> = rules.map(ToString::to_string).collect();
        if !rules.is_empty() {
            settings.push(format!("{key} = {}", quoted_list(&rules)));
        }
    }
    settings
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", one_line(text))
}

fn quoted_list(texts: &[String]) -> String {
    let texts: Vec<_> = texts.iter().map(|text| quoted(text)).collect();
    format!("[{}]", texts.join(", "))
}

fn team_json(team: &TeamDefinition) -> Value {
    let limits: Map<_, _> = LIMIT_FIELDS
        .iter()
        .map(|limit| (limit.name.to_owned(), json!((limit.get)(&team.limits))))
        .collect();
    let seats: Vec<_> = team
        .seats()
        .into_iter()
        .map(|seat| {
            let definition = seat.definition;
            let policies = &definition.policies;
            let permissions = PermissionRules::from(policies.permissions.clone());
            json!({
                "name": seat.name,
                "role": definition.role,
                "entry": definition.is_entry,
                "agent": definition.agent,
                "instructions": definition.instructions,
                "memory": definition.memory,
                "mode": definition.mode,
                "directory": definition.directory,
                "writes": definition.writes,
                "cron": definition.cron,
                "reviews": definition.reviews,
                "attempts": definition.attempts,
                "accept_answers": definition.accept_answers,
                "timeout_seconds": policies.timeout_seconds,
                "inactivity_seconds": policies.inactivity_seconds,
                "on_unmatched": policies.on_unmatched,
                "ask_seconds": policies.ask_seconds,
                "permissions": permissions,
            })
        })
        .collect();
    let checks = team.checks.iter();
    let commands: Map<_, _> = checks
        .clone()
        .map(|(name, check)| (name.clone(), json!(check.command)))
        .collect();
    let timeouts: Map<_, _> = checks
        .map(|(name, check)| (name.clone(), json!(check.timeout_seconds)))
        .collect();
    json!({
        "name": team.name, "limits": limits, "checks": commands, "check_timeouts": timeouts, "seats": seats,
    })
}

fn check(file: &str, output: Output) -> Result<Exit, CliError> {
    let mut names_agents = false;
    let (problems, more, more_line) = match LoadedTeam::read(file)?.definition {
        Ok(team) => {
            names_agents = team.seats.iter().any(|seat| seat.agent.is_some());
            (Vec::new(), 0, None)
        }
        Err(error) => {
            let line = error.more_problems();
            (error.problems, error.more, line)
        }
    };
    let exit = if problems.is_empty() {
        Exit::Done
    } else {
        Exit::Usage
    };
    if output.json {
        let problem = |problem: &TeamProblem| json!({ "line": problem.line, "column": problem.column, "message": problem.message });
        let problems: Vec<_> = problems.iter().map(problem).collect();
        output.document(&json!({ "problems": problems, "more": more }))?;
        return Ok(exit);
    }
    if problems.is_empty() {
        output.line("The team is valid.")?;
        if names_agents {
            output.aside("`matins goal start` checks that the agents of the seats exist.");
        }
    }
    for problem in &problems {
        output.line(&clean(&problem.to_string()))?;
    }
    if let Some(line) = more_line {
        output.aside(&format!("{line}."));
    }
    Ok(exit)
}

fn invalid(error: InvalidTeam) -> CliError {
    CliError::new(Exit::Usage, error)
}
