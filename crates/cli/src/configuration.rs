//! Where the configuration comes from, and what is made of it: flags of the command line, variables of
//! the environment and a file, as `config` declares and merges them.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs, io,
    io::Read,
    path::{Path, PathBuf},
};

use clap::{
    Arg, ArgMatches, ValueHint,
    builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser, ValueParser},
};
use config::{
    CONFIG_FILE, Config, File, Hint, MAX_FILE_BYTES, Origin, Problem, SETTINGS, Setting, Sources,
    UnknownVariable,
};
use daemon::Settings;
use store::{InvalidLocation, Location};

use crate::{
    args::Global,
    environment,
    failure::{Exit, Failure},
    logging,
};

/// What the command line says of the settings: one flag for each.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags(BTreeMap<&'static str, OsString>);

impl Flags {
    /// The flag of one setting. What it takes is looked at where all sources are merged.
    fn argument(setting: &Setting) -> Arg {
        let kind = setting.kind;
        let help = format!(
            "{} [default: {}] [env: {}]",
            setting.about,
            kind.default_shown(),
            setting.environment
        );
        let choices = kind.choices();
        let parser: ValueParser = if choices.is_empty() {
            OsStringValueParser::new().into()
        } else {
            PossibleValuesParser::new(choices)
                .map(OsString::from)
                .into()
        };
        let argument = Arg::new(setting.flag)
            .long(setting.flag)
            .global(true)
            .value_name(kind.placeholder())
            .value_parser(parser)
            .help(help);
        match kind.hint() {
            Hint::None => argument
                .help_heading("Settings")
                .hide_short_help(true)
                .value_hint(ValueHint::Other),
            Hint::Folder => argument.value_hint(ValueHint::DirPath),
            Hint::File => argument.value_hint(ValueHint::FilePath),
        }
    }
}

impl clap::Args for Flags {
    fn augment_args(command: clap::Command) -> clap::Command {
        command.args(SETTINGS.iter().map(Self::argument))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = SETTINGS.iter().filter_map(|setting| {
            let value = matches.get_one::<OsString>(setting.flag)?;
            Some((setting.flag, value.clone()))
        });
        Ok(Self(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.extend(Self::from_arg_matches(matches)?.0);
        Ok(())
    }
}

/// The configuration file: where it is, and whether somebody named it.
#[derive(Debug, Clone)]
pub(crate) struct ConfigPath {
    pub(crate) path: PathBuf,
    /// What names it; `None` for the usual place, where it may be missing.
    pub(crate) named_by: Option<&'static str>,
}

impl ConfigPath {
    /// The file that is read; `None` where nobody names one and there is no usual place.
    pub(crate) fn find(global: &Global) -> Option<Self> {
        let named = |path, by| Self {
            path,
            named_by: Some(by),
        };
        let flag = global.config.clone().map(|path| named(path, "--config"));
        flag.or_else(|| environment::config_file().map(|path| named(path, CONFIG_FILE)))
            .or_else(|| {
                let path = environment::default_config_file()?;
                Some(Self {
                    path,
                    named_by: None,
                })
            })
    }

    /// Reads the file; `None` where there is none and nobody named it.
    pub(crate) fn read(&self) -> Result<Option<File>, Failure> {
        match read(&self.path) {
            Ok(content) => Ok(Some(File::parse(&absolute(&self.path), &content))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.named_by.is_none() => {
                Ok(None)
            }
            Err(error) => {
                let by = self
                    .named_by
                    .map_or_else(String::new, |by| format!(" (named by {by})"));
                let what = format!("read the configuration file {}{by}", self.path.display());
                Err(Failure::environment(what, error))
            }
        }
    }
}

/// Reads a file, but not much more of it than a configuration may have.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let most = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
    fs::File::open(path)?
        .take(most.saturating_add(1))
        .read_to_end(&mut content)?;
    Ok(content)
}

/// Paths in a file count from its folder, so that must not depend on where one stands.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The configuration of this command, with all that is wrong with it.
pub(crate) struct Loaded {
    pub(crate) config: Config,
    pub(crate) problems: Vec<Problem>,
    /// Variables that look like a setting's and are none.
    pub(crate) unknown: Vec<UnknownVariable>,
}

impl Loaded {
    /// Merges what is said of the settings; a file that cannot be read fails.
    pub(crate) fn of(global: &Global) -> Result<Self, Failure> {
        let file = match ConfigPath::find(global) {
            Some(path) => path.read()?,
            None => None,
        };
        Ok(Self::merge(global, file))
    }

    /// Merges what is said of the settings, with this file.
    pub(crate) fn merge(global: &Global, file: Option<File>) -> Self {
        let sources = Sources {
            flags: global.flags.0.clone(),
            environment: environment::own(),
            file,
            home: environment::home(),
        };
        let names = sources.environment.keys().map(String::as_str);
        let given = [agent::guard::MARKER_VARIABLE, agent::guard::WORKER_VARIABLE];
        let unknown = config::unknown_variables(names, &given);
        let (config, problems) = resolve(&sources);
        Self {
            config,
            problems,
            unknown,
        }
    }

    /// The same, where it can be taken.
    pub(crate) fn accepted(self) -> Result<Self, Failure> {
        let Some((first, more)) = self.problems.split_first() else {
            return Ok(self);
        };
        let failure = Failure::new(Exit::Usage, first.clone());
        Err(match (more.len(), first) {
            (0, Problem::UnknownKey { near: None, .. }) => {
                failure.with_hint("matins config reference lists every setting")
            }
            (0, _) => failure,
            (1, _) => failure.with_hint("one more thing is wrong: matins config check"),
            (more, _) => {
                failure.with_hint(format!("{more} more things are wrong: matins config check"))
            }
        })
    }
}

/// Warns of variables that look like a setting's and are none.
pub(crate) fn warn_of(unknown: &[UnknownVariable]) {
    for variable in unknown {
        tracing::warn!("{}", no_setting(variable));
    }
}

/// Says that a variable is no setting, and which one may have been meant.
pub(crate) fn no_setting(UnknownVariable { name, near }: &UnknownVariable) -> String {
    let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    format!("{name} is no setting{near}")
}

/// What a file says by itself, for a look at the file alone.
pub(crate) fn of_file_alone(file: File) -> Vec<Problem> {
    let sources = Sources {
        file: Some(file),
        home: environment::home(),
        ..Sources::default()
    };
    resolve(&sources).1
}

/// Reads a file that is named for a look at it alone.
pub(crate) fn read_named(path: &Path) -> Result<File, Failure> {
    let content = read(path).map_err(|error| {
        Failure::environment(format!("read the file {}", path.display()), error)
    })?;
    Ok(File::parse(&absolute(path), &content))
}

/// Merges, and looks at what other crates understand: addresses and directives.
fn resolve(sources: &Sources) -> (Config, Vec<Problem>) {
    let (config, mut problems) = config::resolve(sources);
    if let Err(problem) = location(&config) {
        problems.push(problem);
    }
    if let Err(problem) = logging::filter(&config, "warn") {
        problems.push(problem);
    }
    (config, problems)
}

/// Where the named database is; `None` for the one in the data folder.
pub(crate) fn location(config: &Config) -> Result<Option<Location>, Problem> {
    let (database, direct) = (&config.database, &config.database_direct);
    // An address may hold a password, so it is not repeated; nor does the error.
    let refused = |name, origin, error| {
        let reason = format!("{:#}", anyhow::Error::new::<InvalidLocation>(error));
        Problem::value(name, None, origin, reason)
    };
    let Some(address) = &database.value else {
        // What is in the data folder is a file.
        let refused = |_| {
            refused(
                "database_direct",
                &direct.origin,
                InvalidLocation::DirectOfFile,
            )
        };
        return direct
            .value
            .as_ref()
            .map_or(Ok(None), |direct| Err(refused(direct)));
    };
    let location: Location = address
        .reveal()
        .parse()
        .map_err(|error| refused("database", &database.origin, error))?;
    match &direct.value {
        None => Ok(Some(location)),
        Some(address) => location
            .with_direct(address.reveal())
            .map(Some)
            .map_err(|error| refused("database_direct", &direct.origin, error)),
    }
}

/// The data folder: the named one, else the usual place, where there is one.
pub(crate) fn data_folder(config: &Config) -> Option<PathBuf> {
    config
        .data
        .value
        .clone()
        .or_else(environment::default_data_folder)
}

/// The settings of the loops.
pub(crate) fn settings(config: &Config) -> Settings {
    Settings {
        workers: config.workers.value,
        waiting_turns: config.waiting_turns.value,
        tick: config.tick.value,
        heartbeat: config.heartbeat.value,
        heartbeat_stale: config.heartbeat_stale.value,
        watchdog: config.watchdog.value,
        stop_deadline: config.stop_deadline.value,
        retain_records: config.retain_records.value,
        retain_events: config.retain_events.value,
        webhook_allow: config.webhook_allow.value.clone(),
    }
}

/// An origin for programs.
pub(crate) fn origin_json(origin: &Origin) -> serde_json::Value {
    use serde_json::json;
    match origin {
        Origin::Default => json!({ "kind": "default" }),
        Origin::File { path, line } => json!({ "kind": "file", "path": path, "line": line }),
        Origin::Environment(name) => json!({ "kind": "environment", "name": name }),
        Origin::Flag(name) => json!({ "kind": "flag", "name": format!("--{name}") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_loops() {
        let (config, problems) = resolve(&Sources::default());
        assert_eq!(problems, []);
        assert_eq!(settings(&config), Settings::default());
    }
}
