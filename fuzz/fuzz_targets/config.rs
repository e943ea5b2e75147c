//! Reads arbitrary bytes as a configuration file.
#![no_main]

use std::path::Path;

use config::{ConfigFile, ConfigProblem, Origin, Sources, resolve};
use libfuzzer_sys::fuzz_target;

/// The path that the problems name. No such file is read.
const CONFIG_PATH: &str = "/etc/matins/config.toml";
/// The maximum size of one problem as text, in bytes.
const MAX_PROBLEM_BYTES: usize = 1000;

fuzz_target!(|content: &[u8]| {
    let sources = Sources {
        file: Some(ConfigFile::parse(Path::new(CONFIG_PATH), content)),
        home: Some("/h".into()),
        ..Sources::default()
    };
    let (config, problems) = resolve(&sources);
    let lines = content.split(|byte| *byte == b'\n').count();
    for problem in &problems {
        let text = problem.to_string();
        assert!(
            text.len() <= MAX_PROBLEM_BYTES,
            "{} bytes: {text}",
            text.len()
        );
        assert!(!text.contains(char::is_control), "{text:?}");
        let origin = match problem {
            ConfigProblem::Syntax { origin, .. }
            | ConfigProblem::UnknownKey { origin, .. }
            | ConfigProblem::NotATable { origin, .. }
            | ConfigProblem::Value { origin, .. } => origin,
            ConfigProblem::TooLong { .. } => continue,
            ConfigProblem::Conflict { first, second, .. } => {
                assert!(
                    first.contains(CONFIG_PATH) || second.contains(CONFIG_PATH),
                    "{text}"
                );
                continue;
            }
        };
        let Origin::File { line, .. } = origin else {
            panic!("{text} is not in the file");
        };
        assert!((1..=lines).contains(line), "{text}");
    }
    if problems.is_empty() {
        assert!(config.heartbeat.value * 3 <= config.heartbeat_stale.value);
        for effective in config.effective_settings() {
            let from_file = effective.origin != Origin::Default;
            assert!(
                effective.value.is_some() || !from_file,
                "{}",
                effective.setting.name
            );
        }
    }
});
