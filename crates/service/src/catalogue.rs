//! The harnesses that are there from the start, as data.

use std::collections::BTreeMap;

use model::harness::HarnessConfig;
use serde::Deserialize;

const CATALOGUE: &str = include_str!("harnesses.toml");

/// One harness of the catalogue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    command: Vec<String>,
    install: String,
    #[serde(default)]
    pass_env: Vec<String>,
    #[serde(default)]
    restore_after_seconds: u32,
}

/// The catalogue by name. It is part of the program, and a test reads it.
fn known() -> BTreeMap<String, Known> {
    toml::from_str(CATALOGUE).unwrap_or_default()
}

/// The harnesses of the catalogue.
pub(crate) fn harnesses() -> Vec<(String, HarnessConfig)> {
    known()
        .into_iter()
        .map(|(name, known)| {
            let mut config = HarnessConfig::new(known.command);
            config.pass_env = known.pass_env;
            config.restore_after_seconds = known.restore_after_seconds;
            (name, config)
        })
        .collect()
}

/// The command that installs the agent of a harness, where it is one of the catalogue's programs.
pub fn install_hint(config: &HarnessConfig) -> Option<String> {
    known()
        .into_values()
        .find(|known| known.command.first() == config.command.first())
        .map(|known| known.install)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_catalogue_can_be_read_and_says_how_to_install_each() {
        let names: Vec<_> = harnesses().into_iter().map(|(name, _)| name).collect();
        assert_eq!(
            names,
            [
                "claude",
                "codex",
                "fast-agent",
                "gemini",
                "goose",
                "kimi",
                "opencode",
                "qwen",
                "vibe"
            ]
        );
        for (name, config) in harnesses() {
            assert!(!config.command.is_empty(), "{name}");
            assert!(install_hint(&config).is_some_and(|hint| hint.contains(" install ")));
        }
    }
}
