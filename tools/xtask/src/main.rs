//! The developer tasks of the repository, run by `cargo xtask`: benchmarks and the fault injection test.

#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a program for developers, which finds cargo in the environment and prints why a chaos test failed"
)]

use std::{env, os::unix::process::CommandExt as _, path::Path, process::Command};

use anyhow::{Context as _, Result};
use clap::Parser;

/// The allocator of the product, so that code that the benchmarks measure in this process costs the same as there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Run developer tasks of the repository
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Run the benchmarks, and print each figure beside its baseline
    Bench(BenchTask),
    /// Inject faults into servers, agents and the database, and check that no work is lost or done twice
    Chaos(chaos::Args),
    /// Act as an agent that answers at once, for the benchmarks
    #[command(hide = true)]
    InstantAgent(bench::InstantAgent),
}

#[derive(Debug, clap::Args)]
struct BenchTask {
    /// Cargo profile of the measured programs; `dist` is the one that people install
    #[arg(long, default_value = "dist")]
    profile: String,
    #[command(flatten)]
    args: bench::Args,
}

/// Returns the profile of this program: the name of its folder, except that the folder of `dev` is `debug`.
fn own_profile() -> Result<String> {
    let program = env::current_exe()?;
    let folder = program.parent().and_then(Path::file_name);
    let folder = folder.and_then(|name| name.to_str());
    let folder = folder.context("the path of this program has no folder")?;
    Ok(if folder == "debug" { "dev" } else { folder }.to_owned())
}

/// Replaces this process by the same task of a program in another profile, which cargo builds.
fn run_in_profile(profile: &str) -> Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let error = Command::new(cargo)
        .args(["run", "--quiet", "--profile", profile])
        .args(["--package", "matins-xtask", "--bin", "xtask", "--"])
        .args(env::args_os().skip(1))
        .exec();
    Err(error).context("cannot run cargo")
}

fn main() -> Result<()> {
    match Task::parse() {
        Task::Bench(task) if task.profile != own_profile()? => run_in_profile(&task.profile),
        Task::Bench(task) => tokio::runtime::Runtime::new()?.block_on(async {
            // Run on a worker thread, because a server also runs its turns there. `block_on` polls its future on the
            // main thread, which is not one of the runtime's workers.
            tokio::spawn(async move { bench::run(&task.args).await }).await?
        }),
        Task::Chaos(args) => {
            let result = tokio::runtime::Runtime::new()?.block_on(chaos::run(&args));
            if let Err(error) = result {
                // Print only the chain of errors. A returned error would be printed in its `Debug` form, which can
                // include a backtrace of this program.
                println!("\nFailed: {error:#}");
                std::process::exit(1);
            }
            Ok(())
        }
        Task::InstantAgent(agent) => agent.run(),
    }
}
