//! Configuration files: any bytes.
#![no_main]

use std::path::Path;

use config::{File, Origin, Problem, Sources, resolve};
use libfuzzer_sys::fuzz_target;

/// Where the file is said to be.
const PATH: &str = "/etc/matins/config.toml";
/// The longest that one thing may take to tell, in bytes.
const LONGEST: usize = 1000;

fuzz_target!(|content: &[u8]| {
    let sources = Sources {
        file: Some(File::parse(Path::new(PATH), content)),
        home: Some("/h".into()),
        ..Sources::default()
    };
    let (config, problems) = resolve(&sources);
    let lines = content.split(|byte| *byte == b'\n').count();
    for problem in &problems {
        let told = problem.to_string();
        assert!(told.len() <= LONGEST, "{} bytes: {told}", told.len());
        assert!(!told.contains(char::is_control), "{told:?}");
        let place = match problem {
            Problem::Syntax { origin, .. }
            | Problem::UnknownKey { origin, .. }
            | Problem::NotATable { origin, .. }
            | Problem::Value { origin, .. } => origin,
            Problem::TooLong { .. } => continue,
            Problem::Together { first, second, .. } => {
                assert!(first.contains(PATH) || second.contains(PATH), "{told}");
                continue;
            }
        };
        let Origin::File { line, .. } = place else {
            panic!("{told} is not in the file");
        };
        assert!((1..=lines).contains(line), "{told}");
    }
    if problems.is_empty() {
        assert!(config.heartbeat.value * 3 <= config.heartbeat_stale.value);
        for shown in config.shown() {
            let from_file = shown.origin != Origin::Default;
            assert!(shown.value.is_some() || !from_file, "{}", shown.setting.name);
        }
    }
});
