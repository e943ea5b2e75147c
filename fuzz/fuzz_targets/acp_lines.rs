//! Any bytes as what an agent writes in the middle of a prompt.
#![no_main]

use agent::{Update, fuzz::hear};
use libfuzzer_sys::fuzz_target;

/// A line's limit that inputs of a few hundred bytes reach.
const MAX_LINE_BYTES: usize = 300;

const LAST: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"last"}}}}"#;

fuzz_target!(|bytes: &[u8]| {
    let output = [bytes, b"\n", LAST.as_bytes(), b"\n"].concat();
    let heard = hear(&output, MAX_LINE_BYTES);
    let too_long = bytes
        .split(|byte| *byte == b'\n')
        .any(|line| line.len() > MAX_LINE_BYTES);
    assert_eq!(heard.unreadable, too_long);
    assert!(heard.noise_tail <= 8 * 1024);
    // Whatever came before, the next good line is understood. A permission that was asked for before
    // it may be reported after it.
    let last = Update::Text("last".into());
    assert!(too_long || heard.updates.contains(&last));
});
