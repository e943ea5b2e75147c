//! Merges all sources of the settings into one configuration.

use model::limits;

use crate::{
    problem::{ConfigProblem, describe_value},
    settings::Config,
    sources::{Effective, Sources},
};

/// Merges the sources into a configuration, and returns all problems. A value that cannot be read is a problem even
/// if another source takes precedence; the remaining sources then determine the setting.
pub fn resolve(sources: &Sources) -> (Config, Vec<ConfigProblem>) {
    let file = sources.file.as_ref();
    let mut problems = file.map_or_else(Vec::new, |file| file.problems().to_vec());
    let config = Config::from_sources(sources, &mut problems);
    // Values that are wrong by themselves would make the comparison of two settings misleading, so it comes last.
    if problems.is_empty() {
        problems.extend(find_conflict(&config));
    }
    (config, problems)
}

/// Returns the problem of two settings that contradict each other, if there is one.
fn find_conflict(config: &Config) -> Option<ConfigProblem> {
    let (interval, stale) = (&config.heartbeat, &config.heartbeat_stale);
    if interval.value * limits::HEARTBEATS_BEFORE_STALE <= stale.value {
        return None;
    }
    let describe = |name, it: &Effective<std::time::Duration>| {
        describe_value(name, Some(&it.value.as_secs().to_string()), &it.origin)
    };
    Some(ConfigProblem::Conflict {
        first: describe("heartbeat.seconds", interval),
        second: describe("heartbeat.stale_seconds", stale),
        reason: format!(
            "`heartbeat.stale_seconds` must be at least {} times `heartbeat.seconds`",
            limits::HEARTBEATS_BEFORE_STALE
        ),
    })
}

#[cfg(test)]
mod tests {
    use std::{path::Path, time::Duration};

    use super::*;
    use crate::{ConfigFile, Origin, setting_type::LogFormat};

    const PATH: &str = "/etc/matins/config.toml";

    fn sources(
        file: &str,
        environment: &[(&str, &str)],
        flags: &[(&'static str, &str)],
    ) -> Sources {
        Sources {
            flags: flags
                .iter()
                .map(|(flag, value)| (*flag, value.into()))
                .collect(),
            environment: environment
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.into()))
                .collect(),
            file: Some(ConfigFile::parse(Path::new(PATH), file.as_bytes())),
            home: Some("/h".into()),
        }
    }

    fn problem_text(file: &str) -> String {
        let (_, problems) = resolve(&sources(file, &[], &[]));
        let messages: Vec<_> = problems.iter().map(ToString::to_string).collect();
        messages.join("\n")
    }

    #[test]
    fn setting_precedence_is_flag_environment_file_default() {
        let file = "workers = 5\n[scheduler]\ntick_seconds = 6\n[heartbeat]\nseconds = 7\n";
        let variables = [
            ("MATINS_TICK_SECONDS", "8"),
            ("MATINS_HEARTBEAT_SECONDS", "9"),
            ("MATINS_WATCHDOG_SECONDS", ""),
        ];
        let flags = [("heartbeat-seconds", "10")];
        let (config, problems) = resolve(&sources(file, &variables, &flags));
        assert_eq!(problems, []);
        let file = |line| ConfigProblem::file_origin(Path::new(PATH), line);
        assert_eq!((config.workers.value, config.workers.origin), (5, file(1)));
        let environment = Origin::Environment("MATINS_TICK_SECONDS");
        assert_eq!(config.tick.value, Duration::from_secs(8));
        assert_eq!(config.tick.origin, environment);
        assert_eq!(config.heartbeat.value, Duration::from_secs(10));
        assert_eq!(config.heartbeat.origin, Origin::Flag("heartbeat-seconds"));
        assert_eq!(config.watchdog.value, limits::WATCHDOG_INTERVAL);
        assert_eq!(
            config.watchdog.origin,
            Origin::Default,
            "an empty variable counts as unset"
        );
    }

    #[test]
    fn worker_loop_settings_have_variables_and_defaults() {
        let settings_of = |environment: &[(&str, &str)]| {
            let (config, problems) = resolve(&sources("", environment, &[]));
            assert_eq!(problems, []);
            let lengths = [
                config.tick.value,
                config.heartbeat.value,
                config.heartbeat_stale.value,
                config.watchdog.value,
            ];
            (config.workers.value, lengths.map(|length| length.as_secs()))
        };
        assert_eq!(settings_of(&[]), (4, [30, 20, 180, 60]));
        let variables = [
            ("MATINS_WORKERS", "5"),
            ("MATINS_TICK_SECONDS", "31"),
            ("MATINS_HEARTBEAT_SECONDS", "21"),
            ("MATINS_HEARTBEAT_STALE", "181"),
            ("MATINS_WATCHDOG_SECONDS", "61"),
        ];
        assert_eq!(settings_of(&variables), (5, [31, 21, 181, 61]));
    }

    #[test]
    fn invalid_setting_error_names_location_and_accepted_values() {
        let at = |line| format!("({PATH}:{line})");
        let key = |key: &str, line, rest| format!("unknown setting `{key}` {}{rest}", at(line));
        let value = |value, line, rest| format!("invalid `{value}` {}: {rest}", at(line));
        for (file, expected) in [
            (
                "\nwrokers = 1",
                key("wrokers", 2, "; did you mean `workers`?"),
            ),
            (
                "tick_seconds = 1",
                key(
                    "tick_seconds",
                    1,
                    "; did you mean `scheduler.tick_seconds`?",
                ),
            ),
            (
                "[schedular]\ntick_seconds = 1",
                key("schedular", 1, "; did you mean `scheduler`?"),
            ),
            (
                "[serve]\nhost = 1",
                key("serve.host", 2, "; did you mean `server.hosts`?"),
            ),
            (
                "scheduler = 1",
                format!(
                    "invalid `scheduler` {}: it is a table of settings, written [scheduler]",
                    at(1)
                ),
            ),
            (
                "workers = 0",
                value("workers = 0", 1, "expected a whole number from 1 to 1000"),
            ),
            (
                "workers = -1",
                value("workers = -1", 1, "expected a whole number from 1 to 1000"),
            ),
            (
                "workers = \"4\"",
                value(
                    "workers = \"4\"",
                    1,
                    "expected a whole number from 1 to 1000, without quotes",
                ),
            ),
            (
                "workers = 4.5",
                value(
                    "workers",
                    1,
                    "it is a number with a fraction, expected a whole number from 1 to 1000",
                ),
            ),
            (
                "workers = 99999999999999999999",
                value(
                    "workers",
                    1,
                    "it is a number that is far too large, expected a whole number from 1 to 1000",
                ),
            ),
            (
                "[workers]",
                value(
                    "workers",
                    1,
                    "it is a table, expected a whole number from 1 to 1000",
                ),
            ),
            (
                "[[log.format]]",
                value(
                    "log.format",
                    1,
                    "it is a list of something other than texts, expected a text in quotes",
                ),
            ),
            (
                "log.format = \"xml\"",
                value("log.format = \"xml\"", 1, "expected text or json"),
            ),
            ("database = \"\"", value("database", 1, "it is empty")),
            (
                "shared_directories = [\"srv\"]",
                value(
                    "shared_directories = [\"srv\"]",
                    1,
                    "`srv` is not an absolute path; expected absolute paths without .., except /, such as \
                     /srv/projects: a list in the file, elsewhere separated by commas",
                ),
            ),
            (
                "data = 7",
                value("data = 7", 1, "it is a number, expected a text in quotes"),
            ),
        ] {
            assert_eq!(problem_text(file), expected, "{file}");
        }
    }

    #[test]
    fn toml_syntax_error_is_short_and_names_line() {
        for (file, line) in [
            ("workers = 1\nworkers = 2", 2),
            ("= 3", 1),
            ("a = \"\n", 1),
            ("\n[x", 2),
        ] {
            let message = problem_text(file);
            assert!(
                message.starts_with(&format!("cannot parse {PATH}:{line}: ")),
                "{file}: {message}"
            );
        }
        let long = format!("{} = 1", "k".repeat(10_000));
        assert!(problem_text(&long).len() < 200, "{}", problem_text(&long));
        let (_, problems) = resolve(&Sources {
            file: Some(ConfigFile::parse(Path::new(PATH), b"a = 1\n\xff")),
            ..Sources::default()
        });
        assert_eq!(
            problems[0].to_string(),
            format!("cannot parse {PATH}:2: it is not UTF-8")
        );
    }

    #[test]
    fn deeply_nested_or_long_config_file_is_refused() {
        for (start, piece, end) in [
            ("a = ", "[", ""),
            ("a = ", "{b=", "1"),
            ("", "a.", "b = 1"),
            ("", "[", ""),
            ("[", "a.", "b]"),
            ("", "x = 1\n", ""),
            ("", "[a]\n", ""),
        ] {
            for bytes in [crate::MAX_FILE_BYTES - 100, crate::MAX_FILE_BYTES + 100] {
                let file = format!("{start}{}{end}", piece.repeat(bytes / piece.len()));
                let message = problem_text(&file);
                assert!(
                    !message.is_empty() && message.len() < 5000,
                    "{piece}: {message}"
                );
            }
        }
    }

    #[test]
    fn invalid_value_is_reported_even_if_overridden() {
        let sources = sources(
            "workers = 0",
            &[("MATINS_WORKERS", "many")],
            &[("workers", "7")],
        );
        let (config, problems) = resolve(&sources);
        assert_eq!(
            config.workers.value, 7,
            "the valid source still determines the value"
        );
        let messages: Vec<_> = problems.iter().map(ToString::to_string).collect();
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(
            messages[1].starts_with("invalid `MATINS_WORKERS=many`: expected "),
            "{messages:?}"
        );
    }

    #[test]
    fn heartbeat_conflict_names_both_origins() {
        let sources = sources(
            "heartbeat.seconds = 100",
            &[],
            &[("heartbeat-stale", "200")],
        );
        let (_, problems) = resolve(&sources);
        let expected = format!(
            "`heartbeat.seconds = 100` ({PATH}:1) conflicts with `--heartbeat-stale 200`: \
             `heartbeat.stale_seconds` must be at least 3 times `heartbeat.seconds`"
        );
        assert_eq!(problems[0].to_string(), expected);
    }

    #[test]
    fn paths_in_file_resolve_against_its_folder_others_stay_relative() {
        let file = "data = \"here\"\ndatabase = \"~/there.db\"\nlog.format = \"json\"";
        let (config, problems) = resolve(&sources(file, &[], &[]));
        assert_eq!(problems, []);
        assert_eq!(config.data.value, Some("/etc/matins/here".into()));
        assert_eq!(config.database.value.unwrap().reveal(), "/h/there.db");
        assert_eq!(config.log_format.value, LogFormat::Json);
        let (config, _) = resolve(&sources("", &[("MATINS_DATA", "here")], &[]));
        assert_eq!(config.data.value, Some("here".into()));
    }

    #[test]
    fn password_appears_in_no_problem_or_displayed_value() {
        let address = "postgres://me:s3cret@host/db";
        let (config, _) = resolve(&sources(&format!("database = \"{address}\""), &[], &[]));
        let shown: Vec<_> = config
            .effective_settings()
            .into_iter()
            .filter_map(|it| it.value)
            .collect();
        let shown = format!("{shown:?} {config:?}");
        assert!(
            shown.contains("me:***@host") && !shown.contains("s3cret"),
            "{shown}"
        );
        assert!(!problem_text(&format!("database = \"\\n{address}")).contains("s3cret"));
    }
}
