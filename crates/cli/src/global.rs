//! The options that every command takes: the configuration file, one flag for each setting, and the output.

use std::{collections::BTreeMap, ffi::OsString, path::PathBuf};

use clap::{
    Arg, ArgMatches, Args, ValueHint,
    builder::{OsStringValueParser, PossibleValuesParser, TypedValueParser, ValueParser},
};
use config::{PathHint, SETTINGS, Setting};

/// The settings that every command uses, so that the help of every command shows their flags. All other settings
/// matter only to a server, or to a command that takes a turn itself.
const COMMON_SETTINGS: [&str; 7] = [
    "data",
    "database",
    "database_direct",
    "client.server",
    "default_zone",
    "log.directives",
    "log.format",
];

/// Options that every command takes.
#[derive(Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// The configuration file
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath,
          help = format!("The configuration file [default: matins/config.toml in the user's \
                          configuration directory] [env: {}]", ::config::CONFIG_FILE_VARIABLE))]
    pub(crate) config: Option<PathBuf>,
    /// Print results as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) flags: Flags,
}

/// The values of the settings' flags on the command line, by the name of the flag.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags(pub(crate) BTreeMap<&'static str, OsString>);

impl Flags {
    /// Builds the flag of one setting. The parser accepts any text unless the setting has fixed choices, because
    /// values are validated when all sources are merged.
    fn argument(setting: &Setting) -> Arg {
        let kind = setting.kind;
        let help = format!(
            "{} [default: {}] [env: {}]",
            setting.about,
            kind.default_text(),
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
            .help(help)
            .value_hint(match kind.hint() {
                PathHint::None => ValueHint::Other,
                PathHint::Folder => ValueHint::DirPath,
                PathHint::File => ValueHint::FilePath,
            });
        match kind.hint() {
            _ if !is_common(setting) => argument.help_heading("Server settings"),
            PathHint::None => argument.help_heading("Settings").hide_short_help(true),
            PathHint::Folder | PathHint::File => argument,
        }
    }
}

fn is_common(setting: &Setting) -> bool {
    COMMON_SETTINGS.contains(&setting.name)
}

/// Returns the visible flags of the settings that are not common, for the commands whose help shows them: `serve`
/// and `config`. All other commands accept these flags as well, but their help hides them.
pub(crate) fn server_flags() -> impl Iterator<Item = Arg> {
    let settings = SETTINGS.iter().filter(|setting| !is_common(setting));
    settings.map(Flags::argument)
}

impl Args for Flags {
    fn augment_args(command: clap::Command) -> clap::Command {
        // A command that declares one of these flags itself keeps its own, visible one: clap hands a global argument
        // down only to commands that have no argument with the same ID.
        let flags = SETTINGS
            .iter()
            .map(|setting| Self::argument(setting).hide(!is_common(setting)));
        command.args(flags)
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
