//! Checks the configuration: its values, unknown variables, and a password in a file that other users can read.

use std::path::{Path, PathBuf};

use config::{Config, ConfigProblem, UnknownVariable};

use crate::{finding::Finding, folder::is_open_to_others};

const CHECK: &str = "configuration";

/// The configuration of the process and the problems found in it.
#[derive(Debug, Clone)]
pub struct LoadedConfiguration {
    /// The configuration without its invalid values.
    pub config: Config,
    /// The problems of the invalid values.
    pub problems: Vec<ConfigProblem>,
    /// Environment variables that begin like those of settings but belong to no setting.
    pub unknown_variables: Vec<UnknownVariable>,
    /// The configuration file.
    pub file: ConfigurationFile,
}

/// The result of looking for the configuration file.
#[derive(Debug, Clone)]
pub enum ConfigurationFile {
    /// The file at this path was read.
    Read(PathBuf),
    /// The default path has no file. The configuration does not require one.
    Missing(PathBuf),
    /// There is no default path, because there is no home directory.
    NoDefaultPath,
    /// The file exists or is named by the user but cannot be read, for this reason.
    Unreadable(String),
}

/// Checks the configuration and the environment variables.
pub(crate) fn check_configuration(loaded: &LoadedConfiguration) -> Vec<Finding> {
    let mut findings = Vec::new();
    let source = match &loaded.file {
        ConfigurationFile::Read(path) => Some(path.display().to_string()),
        ConfigurationFile::Missing(path) => Some(format_without_file(&format!(
            "no file at {}",
            path.display()
        ))),
        ConfigurationFile::NoDefaultPath => Some(format_without_file("no file")),
        ConfigurationFile::Unreadable(why) => {
            let remedy = "make it readable, or name another one with `--config`";
            findings.push(Finding::problem(CHECK, why, remedy));
            None
        }
    };
    for problem in &loaded.problems {
        let remedy = "correct it; docs/configuration.md lists the accepted values";
        let found = format!("{problem}; the other checks ignore it");
        findings.push(Finding::problem(CHECK, found, remedy));
    }
    if let Some(source) = source.filter(|_| loaded.problems.is_empty()) {
        let secret = match &loaded.file {
            ConfigurationFile::Read(path) => exposed_password_finding(&loaded.config, path),
            _ => None,
        };
        findings.push(secret.unwrap_or_else(|| Finding::ok(CHECK, source)));
    }
    for UnknownVariable {
        name,
        suggestion: near,
    } in &loaded.unknown_variables
    {
        let remedy = near.map_or_else(
            || "unset it".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        let found = format!("unknown variable `{name}`");
        findings.push(Finding::warning("environment", found, remedy));
    }
    findings
}

fn format_without_file(source: &str) -> String {
    format!("{source}: defaults, flags and variables")
}

/// Returns a warning if the file contains a database password and other users can read the file.
fn exposed_password_finding(config: &Config, path: &Path) -> Option<Finding> {
    let address = config.database.value.as_ref()?;
    let from_file = matches!(config.database.origin, config::Origin::File { .. });
    (from_file && address.has_secret() && is_open_to_others(path)).then(|| {
        let found = format!(
            "other users can read {}, which contains a password",
            path.display()
        );
        Finding::warning(CHECK, found, format!("run `chmod 600 {}`", path.display()))
    })
}
