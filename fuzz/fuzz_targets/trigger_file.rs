//! Parses trigger files. The first line of an input is the name of the file, the rest is its content.
#![no_main]

use delivery::{MAX_MCP_SERVERS, Trigger, TriggerName, TriggerRequest};
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
        Ok(Trigger {
            request: TriggerRequest::Automation(read),
            ..
        }) => {
            assert!(!read.automation.trim().is_empty(), "it names an automation");
            assert!(read.mcp_server_count <= MAX_MCP_SERVERS, "{read:?}");
        }
        Ok(_) => {}
        Err(error) => assert!(error.to_string().len() < MAX_ERROR_BYTES, "{error}"),
    }
    let key = Trigger::idempotency_key(name.as_bytes(), content);
    assert!(key.len() < 100, "the API accepts the key");
});
