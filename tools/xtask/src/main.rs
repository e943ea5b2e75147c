//! Tasks of the repository, run by `cargo xtask`.

#![expect(
    clippy::print_stdout,
    reason = "a program of its own: it prints why chaos failed"
)]

use anyhow::Result;
use clap::Parser;

/// As the program has it: what is measured in this process is to cost what it costs there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Tasks of the repository
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Measure, and print what was measured and against what
    Bench(bench::Args),
    /// Let everything go wrong, and check that nothing is lost and nothing happens twice
    Chaos(chaos::Args),
    /// Be an agent that answers at once, for measurements
    #[command(hide = true)]
    InstantAgent,
}

fn main() -> Result<()> {
    match Task::parse() {
        Task::Bench(args) => tokio::runtime::Runtime::new()?.block_on(async {
            // On a worker's thread, as a server takes its turns: the main thread only waits.
            tokio::spawn(async move { bench::run(&args).await }).await?
        }),
        Task::Chaos(args) => {
            let went = tokio::runtime::Runtime::new()?.block_on(chaos::run(&args));
            if let Err(error) = went {
                // What was found, and not where in this program.
                println!("\nFailed: {error:#}");
                std::process::exit(1);
            }
            Ok(())
        }
        Task::InstantAgent => bench::instant_agent(),
    }
}
