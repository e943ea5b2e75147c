//! The configuration: whether it can be taken, and whether it shows a secret to others.

use std::path::{Path, PathBuf};

use config::{Config, Problem, UnknownVariable};

use crate::{finding::Finding, folder::is_open_to_others};

const CHECK: &str = "configuration";

/// The configuration, as far as it can be taken, with everything that is wrong with it.
#[derive(Debug, Clone)]
pub struct LoadedConfiguration {
    /// The configuration without the values that cannot be taken.
    pub config: Config,
    /// The values that cannot be taken.
    pub problems: Vec<Problem>,
    /// Variables that look like a setting's and are none.
    pub unknown: Vec<UnknownVariable>,
    /// The file that was looked for.
    pub file: ConfigurationFile,
}

/// The configuration file.
#[derive(Debug, Clone)]
pub enum ConfigurationFile {
    /// It was read.
    Read(PathBuf),
    /// There is none at this path, and none is needed.
    Missing(PathBuf),
    /// No path is known for it.
    Nowhere,
    /// It cannot be read, for this reason.
    Unreadable(String),
}

/// Checks the configuration and the variables beside it.
pub(crate) fn look(loaded: &LoadedConfiguration) -> Vec<Finding> {
    let mut findings = Vec::new();
    let told = match &loaded.file {
        ConfigurationFile::Read(path) => Some(path.display().to_string()),
        ConfigurationFile::Missing(path) => {
            Some(without_file(&format!("no file at {}", path.display())))
        }
        ConfigurationFile::Nowhere => Some(without_file("no file")),
        ConfigurationFile::Unreadable(why) => {
            let remedy = "make it readable, or name another one with --config";
            findings.push(Finding::problem(CHECK, why, remedy));
            None
        }
    };
    for problem in &loaded.problems {
        let remedy = "mend it; docs/configuration.md says what is accepted";
        let found = format!("failed to {problem}; what follows does without it");
        findings.push(Finding::problem(CHECK, found, remedy));
    }
    if let Some(told) = told.filter(|_| loaded.problems.is_empty()) {
        let secret = match &loaded.file {
            ConfigurationFile::Read(path) => secret_in_the_open(&loaded.config, path),
            _ => None,
        };
        findings.push(secret.unwrap_or_else(|| Finding::ok(CHECK, told)));
    }
    for UnknownVariable { name, near } in &loaded.unknown {
        let remedy = near.map_or_else(
            || "unset it".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        let found = format!("{name} is no setting");
        findings.push(Finding::warning("environment", found, remedy));
    }
    findings
}

fn without_file(told: &str) -> String {
    format!("{told}: defaults, flags and variables")
}

/// Checks whether others can read a password in the file.
fn secret_in_the_open(config: &Config, path: &Path) -> Option<Finding> {
    let address = config.database.value.as_ref()?;
    let from_file = matches!(config.database.origin, config::Origin::File { .. });
    (from_file && address.has_secret() && is_open_to_others(path)).then(|| {
        let found = format!("others can read {}, which has a password", path.display());
        Finding::warning(CHECK, found, format!("chmod 600 {}", path.display()))
    })
}
