//! Passes arbitrary bytes to the reader of an agent's output, in the middle of a prompt.
#![no_main]

use agent::{Update, fuzz::read_output};
use libfuzzer_sys::fuzz_target;

/// The limit of a line. It is small, so that inputs of a few hundred bytes reach it.
const MAX_LINE_BYTES: usize = 300;

/// A valid update that follows the arbitrary bytes.
const LAST_LINE: &str = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"last"}}}}"#;

fuzz_target!(|bytes: &[u8]| {
    let output = [bytes, b"\n", LAST_LINE.as_bytes(), b"\n"].concat();
    let summary = read_output(&output, MAX_LINE_BYTES);
    let too_long = bytes
        .split(|byte| *byte == b'\n')
        .any(|line| line.len() > MAX_LINE_BYTES);
    assert_eq!(summary.unreadable, too_long);
    assert!(summary.noise_tail_bytes <= 8 * 1024);
    // The reader must still parse the valid line after any bytes, unless a line was too long. The line may not be the
    // last update, because the decision about an earlier permission request can be reported after it.
    let last = Update::Text("last".into());
    assert!(too_long || summary.updates.contains(&last));
});
