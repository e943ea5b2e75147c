//! The processes that tests start: the scripted agent and its helpers, a guard, and a worker that a test can kill.

use std::{
    collections::BTreeMap, env, ffi::OsString, fs, io, path::PathBuf, process::ExitCode, sync::Arc,
    time::Duration,
};

use agent::{Agent, Decision, GuardProgram, Launch, Limits, PermissionRequest, Permissions};
use anyhow::{Context, bail};
use futures::future::{BoxFuture, ready};
use testkit::scripted;

fn main() -> anyhow::Result<ExitCode> {
    let mut args = env::args_os().skip(1);
    let subcommand = args.next().unwrap_or_default();
    let done = |result: io::Result<()>| {
        result
            .map(|()| ExitCode::SUCCESS)
            .context("the helper process failed")
    };
    let mut file = || {
        args.next()
            .map(PathBuf::from)
            .context("a file must follow the subcommand")
    };
    match subcommand.to_str() {
        Some("guard") => Ok(agent::guard::main(args)),
        Some("agent") if file()?.as_os_str() == "--script" => {
            scripted::run_agent(&file()?).context("cannot play the script")
        }
        Some("grandchild") => done(scripted::grandchild(&file()?)),
        Some("sleeper") => done(scripted::sleeper(&file()?)),
        Some("storm") => {
            let file = file()?;
            let number = args.next().and_then(|number| number.to_str()?.parse().ok());
            done(scripted::fork_chain(&file, number.unwrap_or(0)))
        }
        Some("bomb") => {
            let generations = args.next().and_then(|number| number.to_str()?.parse().ok());
            done(scripted::fork_bomb(generations.unwrap_or(0)))
        }
        Some("worker") => run_worker(args),
        _ => {
            bail!(
                "invalid subcommand: use `agent --script FILE`, `guard`, `grandchild`, `sleeper`, `storm`, `bomb` or \
                 `worker`"
            )
        }
    }
}

/// Starts an agent as a worker does, creates a file as a signal to the test, and waits until the test kills it.
///
/// Arguments: the file, the marker, the lease in milliseconds, the agent's command.
fn run_worker(args: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let args: Vec<String> = args.filter_map(|arg| arg.into_string().ok()).collect();
    let [ready, marker, lease, command @ ..] = args.as_slice() else {
        bail!("invalid arguments of `worker`: use FILE MARKER LEASE COMMAND...");
    };
    let launch = Launch {
        command: command.to_vec(),
        cwd: env::current_dir()?,
        env: BTreeMap::new(),
        guard: GuardProgram {
            program: env::current_exe()?,
            args: vec!["guard".into()],
            worker: None,
        },
        marker: marker.clone(),
        limits: Limits::default(),
        lease: Duration::from_millis(lease.parse()?),
        resources: model::agent::ResourceLimits::default(),
        authenticate: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let agent = Agent::start(launch, Arc::new(DenyAll)).await?;
        fs::write(ready, "")?;
        std::future::pending::<()>().await;
        drop(agent);
        Ok(ExitCode::SUCCESS)
    })
}

struct DenyAll;

impl Permissions for DenyAll {
    fn decide(&self, _: PermissionRequest) -> BoxFuture<'_, Decision> {
        Box::pin(ready(Decision::Deny))
    }
}
