//! The steps that use too much of a resource: output, memory, files, processes or processor time.

use std::{
    env, fs,
    io::{self, Write},
    os::unix::process::parent_id,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::json;

use super::{
    script::Step,
    wire::{message_chunk, send_update},
};

/// The maximum lifetime of harmful processes, in case the guard does not end them.
const MAX_LIFETIME: Duration = Duration::from_mins(1);
/// The number of generations of a fork bomb. Each process has two children, which gives 255 processes.
const FORK_BOMB_GENERATIONS: u32 = 7;
/// The size of the blocks in which long lines and files are written.
const BLOCK_BYTES: usize = 64 * 1024;

/// Plays a step that belongs to a session. Returns `false` if the step is another one.
pub(super) fn send_step(step: &Step, session: &str) -> io::Result<bool> {
    let send_text = |text: &str| send_update(session, &message_chunk("agent_message_chunk", text));
    match step {
        Step::LongLine(bytes) => write_long_line(session, *bytes)?,
        Step::ManyValues(count) => {
            let values = "0,".repeat(count.saturating_sub(1));
            let head = update_prefix(session, "tool_call_update");
            let line = format!("{head}\"toolCallId\":\"v\",\"rawOutput\":[{values}0]}}}}}}\n");
            super::wire::write_bytes(line.as_bytes())?;
        }
        Step::ToolCalls { count, bytes } => {
            let output = "o".repeat(*bytes);
            for number in 0..*count {
                let call = json!({"sessionUpdate": "tool_call", "toolCallId": number.to_string(),
                    "title": format!("call {number}"), "kind": "execute", "status": "completed",
                    "rawOutput": output});
                send_update(session, &call)?;
            }
        }
        Step::AllocateMemory(bytes) => {
            // Write to the memory, so that the system really allocates it, and never free it.
            let memory = vec![1_u8; *bytes];
            send_text(&format!("ate {}", memory.len()))?;
            std::mem::forget(memory);
        }
        Step::OpenFiles(count) => {
            let open = |_| fs::File::open("/dev/null").ok();
            let files: Vec<_> = (0..*count).map_while(open).collect();
            let opened = files.len();
            drop(files);
            send_text(&format!("opened {opened}"))?;
        }
        Step::WriteFile(path, bytes) => {
            let length = write_file(path, *bytes)?;
            send_text(&format!("wrote {length}"))?;
        }
        Step::Environment => {
            let read = |pid: u32| read_environment(&format!("/proc/{pid}/environ"));
            let (own, parent) = (read(std::process::id())?, read(parent_id())?);
            send_text(&format!("own\n{own}\nparent\n{parent}"))?;
        }
        Step::CoreLimit => {
            let limits = fs::read_to_string("/proc/self/limits")?;
            let core = limits.lines().find(|line| line.contains("core file"));
            send_text(core.unwrap_or_default())?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// Plays a step that needs no session.
pub(super) fn run_step(step: &Step) {
    match step {
        Step::EndlessStderr => {
            thread::spawn(|| {
                let line = [b"e".repeat(4095), b"\n".to_vec()].concat();
                while io::stderr().lock().write_all(&line).is_ok() {}
            });
        }
        Step::ForkBomb => {
            start_children(FORK_BOMB_GENERATIONS);
            thread::sleep(MAX_LIFETIME);
        }
        Step::BurnCpu => {
            let until = Instant::now() + MAX_LIFETIME;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
        // The other steps need a prompt.
        _ => {}
    }
}

/// Runs one process of a fork bomb: starts the next generation and sleeps.
pub fn fork_bomb(generations: u32) -> io::Result<()> {
    start_children(generations);
    thread::sleep(MAX_LIFETIME);
    Ok(())
}

/// Starts two processes of the next generation. Ignores an error, because the test expects the kernel to refuse some.
fn start_children(generations: u32) {
    let Some(next) = generations.checked_sub(1) else {
        return;
    };
    for _ in 0..2 {
        let mut command = Command::new(env::current_exe().unwrap_or_default());
        command.arg("bomb").arg(next.to_string());
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.spawn().ok();
    }
}

/// Returns the beginning of an update's line, up to the place of its own fields.
fn update_prefix(session: &str, kind: &str) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{{\"sessionId\":\"{session}\",\
         \"update\":{{\"sessionUpdate\":\"{kind}\","
    )
}

/// Writes an update with a text of this many bytes, without the whole text in memory.
fn write_long_line(session: &str, bytes: usize) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(update_prefix(session, "agent_message_chunk").as_bytes())?;
    stdout.write_all(b"\"content\":{\"type\":\"text\",\"text\":\"")?;
    let block = vec![b'x'; BLOCK_BYTES];
    let mut remaining = bytes;
    while remaining > 0 {
        let length = remaining.min(BLOCK_BYTES);
        stdout.write_all(&block[..length])?;
        remaining -= length;
    }
    stdout.write_all(b"\"}}}}\n")?;
    stdout.flush()
}

/// Writes up to `bytes` bytes and returns the size of the file. The kernel may kill the process with SIGXFSZ.
fn write_file(path: &Path, bytes: usize) -> io::Result<u64> {
    let mut file = fs::File::create(path)?;
    let block = vec![b'f'; BLOCK_BYTES];
    for _ in 0..bytes.div_ceil(BLOCK_BYTES) {
        if file.write_all(&block).is_err() {
            break;
        }
    }
    Ok(file.metadata()?.len())
}

fn read_environment(path: &str) -> io::Result<String> {
    let environ = fs::read(path)?;
    let environ = String::from_utf8_lossy(&environ);
    let mut lines: Vec<_> = environ.split_terminator('\0').collect();
    lines.sort_unstable();
    Ok(lines.join("\n"))
}
