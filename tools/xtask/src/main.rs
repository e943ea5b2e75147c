//! The developer tasks of the repository, run by `cargo xtask`: benchmarks and the fault injection test.

#![expect(
    clippy::print_stdout,
    reason = "a program for developers, which prints the reason of a failed chaos test"
)]

use anyhow::Result;
use clap::Parser;

/// The allocator of the product, so that code that the benchmarks measure in this process costs the same as there.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Run developer tasks of the repository
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
enum Task {
    /// Run the benchmarks, and print each figure beside its baseline
    Bench(bench::Args),
    /// Inject faults into servers, agents and the database, and check that no work is lost or done twice
    Chaos(chaos::Args),
    /// Act as an agent that answers at once, for the benchmarks
    #[command(hide = true)]
    InstantAgent,
}

fn main() -> Result<()> {
    match Task::parse() {
        Task::Bench(args) => tokio::runtime::Runtime::new()?.block_on(async {
            // Run on a worker thread, because a server also runs its turns there. `block_on` polls its future on the
            // main thread, which is not one of the runtime's workers.
            tokio::spawn(async move { bench::run(&args).await }).await?
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
        Task::InstantAgent => bench::instant_agent(),
    }
}
