//! The processes that tests need: a scripted agent, a guard, a worker that can be killed.

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
    let done = |done: io::Result<()>| done.map(|()| ExitCode::SUCCESS).context("play a process");
    let mut file = || args.next().map(PathBuf::from).context("a file must follow");
    match subcommand.to_str() {
        Some("guard") => Ok(agent::guard::main(args)),
        Some("agent") if file()?.as_os_str() == "--script" => {
            scripted::run_agent(&file()?).context("play a script")
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
            bail!("expected agent --script FILE, guard, grandchild, sleeper, storm, bomb or worker")
        }
    }
}

/// Starts an agent as a worker would, makes a file, and waits to be killed.
///
/// Arguments: the file, the marker, the lease in milliseconds, the agent's command.
fn run_worker(args: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let args: Vec<String> = args.filter_map(|arg| arg.into_string().ok()).collect();
    let [ready, marker, lease, command @ ..] = args.as_slice() else {
        bail!("expected a file, a marker, a lease and a command");
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
