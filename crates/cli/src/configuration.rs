//! Loads the configuration from the flags of the command line, the variables of the environment and the configuration
//! file. The crate `config` declares the settings and merges these sources.

use std::{
    fs, io,
    io::Read,
    path::{Path, PathBuf},
};

use config::{
    CONFIG_FILE_VARIABLE, Config, ConfigFile, ConfigProblem, MAX_FILE_BYTES, Origin, Sources,
    UnknownVariable,
};

use crate::{
    environment,
    error::{CliError, Exit},
    global::Global,
    logging,
};

/// The path of the configuration file, and the source of that path.
#[derive(Debug, Clone)]
pub(crate) struct ConfigPath {
    pub(crate) path: PathBuf,
    /// The flag or the variable that names the file. `None` for the default path, which may not exist.
    pub(crate) named_by: Option<&'static str>,
}

impl ConfigPath {
    /// Returns the path of the configuration file. Returns `None` if neither a flag nor a variable names one and
    /// there is no home directory.
    pub(crate) fn find(global: &Global) -> Option<Self> {
        let named = |path, by| Self {
            path,
            named_by: Some(by),
        };
        let flag = global.config.clone().map(|path| named(path, "--config"));
        flag.or_else(|| environment::config_file().map(|path| named(path, CONFIG_FILE_VARIABLE)))
            .or_else(|| {
                let path = environment::default_config_file()?;
                Some(Self {
                    path,
                    named_by: None,
                })
            })
    }

    /// Reads the file. Returns `None` if the default path has no file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, and if a file that a flag or a variable names does not exist.
    pub(crate) fn read(&self) -> Result<Option<ConfigFile>, CliError> {
        match read_limited(&self.path) {
            Ok(content) => Ok(Some(ConfigFile::parse(
                &absolute_path(&self.path),
                &content,
            ))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.named_by.is_none() => {
                Ok(None)
            }
            Err(error) => {
                let by = self
                    .named_by
                    .map_or_else(String::new, |by| format!(" (named by {by})"));
                let message = format!(
                    "cannot read the configuration file {}{by}",
                    self.path.display()
                );
                Err(CliError::environment(message, error))
            }
        }
    }
}

/// Reads a file up to one byte beyond the limit, so that the parser can report a file that is too long.
fn read_limited(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    let limit = u64::try_from(MAX_FILE_BYTES).unwrap_or(u64::MAX);
    fs::File::open(path)?
        .take(limit.saturating_add(1))
        .read_to_end(&mut content)?;
    Ok(content)
}

/// Makes a path absolute. Relative paths in the file are resolved against the folder of the file, so its own path
/// must not depend on the working directory.
fn absolute_path(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// The configuration of this process, with all problems found in it.
pub(crate) struct LoadedConfig {
    pub(crate) config: Config,
    pub(crate) problems: Vec<ConfigProblem>,
    /// Environment variables that begin like those of settings but belong to no setting.
    pub(crate) unknown_variables: Vec<UnknownVariable>,
}

impl LoadedConfig {
    /// Reads the configuration file and merges all sources. Fails if the file cannot be read; invalid values become
    /// problems.
    pub(crate) fn load(global: &Global) -> Result<Self, CliError> {
        let file = match ConfigPath::find(global) {
            Some(path) => path.read()?,
            None => None,
        };
        Ok(Self::merge(global, file))
    }

    /// Merges the flags and the environment with the given file.
    pub(crate) fn merge(global: &Global, file: Option<ConfigFile>) -> Self {
        let sources = Sources {
            flags: global.flags.0.clone(),
            environment: environment::matins_variables(),
            file,
            home: environment::home(),
        };
        let names = sources.environment.keys().map(String::as_str);
        let unknown = config::unknown_variables(names);
        let (config, problems) = resolve(&sources);
        Self {
            config,
            problems,
            unknown_variables: unknown,
        }
    }

    /// Returns the configuration if it has no problems. Otherwise returns the first problem as an error.
    pub(crate) fn into_valid(self) -> Result<Self, CliError> {
        let Some((first, more)) = self.problems.split_first() else {
            return Ok(self);
        };
        let failure = CliError::new(Exit::Usage, first.clone());
        Err(match (more.len(), first) {
            (
                0,
                ConfigProblem::UnknownKey {
                    suggestion: None, ..
                },
            ) => failure.with_hint("`matins config reference` lists every setting"),
            (0, _) => failure,
            (1, _) => failure.with_hint("`matins config check` shows one more problem"),
            (more, _) => {
                failure.with_hint(format!("`matins config check` shows {more} more problems"))
            }
        })
    }
}

/// Logs a warning for each variable that belongs to no setting.
pub(crate) fn warn_of_unknown_variables(unknown: &[UnknownVariable]) {
    for variable in unknown {
        tracing::warn!("{}", format_unknown_variable(variable));
    }
}

/// Formats a variable that belongs to no setting, with the setting of the most similar name.
pub(crate) fn format_unknown_variable(
    UnknownVariable {
        name,
        suggestion: near,
    }: &UnknownVariable,
) -> String {
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("unknown variable `{name}`{near}")
}

/// Returns the problems of a file, regardless of flags and the environment.
pub(crate) fn file_problems(file: ConfigFile) -> Vec<ConfigProblem> {
    let sources = Sources {
        file: Some(file),
        home: environment::home(),
        ..Sources::default()
    };
    resolve(&sources).1
}

/// Reads a configuration file that the user named, to check it alone.
pub(crate) fn read_file_to_check(path: &Path) -> Result<ConfigFile, CliError> {
    let content = read_limited(path).map_err(|error| {
        CliError::environment(format!("cannot read the file {}", path.display()), error)
    })?;
    Ok(ConfigFile::parse(&absolute_path(path), &content))
}

/// Merges the sources and checks the values that `config` cannot check itself: database addresses and log directives.
fn resolve(sources: &Sources) -> (Config, Vec<ConfigProblem>) {
    let (config, mut problems) = config::resolve(sources);
    if let Err(problem) = server::database_location(&config) {
        problems.push(problem);
    }
    if let Err(problem) = logging::log_filter(&config, "warn") {
        problems.push(problem);
    }
    (config, problems)
}

/// Returns the configured data folder, or the default one. Returns `None` if there is no home directory either.
pub(crate) fn data_folder(config: &Config) -> Option<PathBuf> {
    config
        .data
        .value
        .clone()
        .or_else(environment::default_data_folder)
}

/// Formats the origin of a value as JSON.
pub(crate) fn origin_json(origin: &Origin) -> serde_json::Value {
    use serde_json::json;
    match origin {
        Origin::Default => json!({ "kind": "default" }),
        Origin::File { path, line } => json!({ "kind": "file", "path": path, "line": line }),
        Origin::Environment(name) => json!({ "kind": "environment", "name": name }),
        Origin::Flag(name) => json!({ "kind": "flag", "name": format!("--{name}") }),
    }
}
