//! Parses trigger files. The first line of an input is the name of the file, the rest is its content.
#![no_main]

use delivery::{Trigger, TriggerName};
use libfuzzer_sys::fuzz_target;

/// More bytes than any error needs, because each part of it has at most 100 characters before they are escaped.
const MAX_ERROR_BYTES: usize = 2500;

fuzz_target!(|bytes: &[u8]| {
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let (name, content) = bytes.split_at(end.unwrap_or(0));
    let name = String::from_utf8_lossy(name);
    match name.parse::<TriggerName>() {
        Ok(read) => assert_eq!(
            read.to_string(),
            name,
            "a parsed name formats to the same text"
        ),
        Err(error) => assert!(error.to_string().len() < MAX_ERROR_BYTES, "{error}"),
    }
    match Trigger::parse(content) {
        Ok(read) => {
            let written = read.to_json().expect("a parsed trigger serializes");
            assert_eq!(Trigger::parse(written.as_bytes()), Ok(read));
        }
        Err(error) => assert!(error.to_string().len() < MAX_ERROR_BYTES, "{error}"),
    }
});
