//! The report at the end of a test.

use std::collections::BTreeMap;

use super::{
    check,
    faults::{FaultTargets, left_out},
    history::History,
};

/// The number of draws after which a fault kind that never found a target breaks the test. A test of a minute draws
/// each kind about three times, and a target may be missing at three moments by chance.
const MIN_DRAWS: u32 = 8;

/// Runs all checks, prints the counts and the results, and returns the names of the broken checks and conditions.
pub(crate) fn print(
    history: &History,
    field: &FaultTargets,
    complaints: &[String],
) -> Vec<&'static str> {
    println!("\nFaults");
    let counts = field.counts();
    for (name, count) in &counts {
        println!("  {:4} {name}", count.injected);
    }
    for replica in &field.replicas {
        let ended = replica.process.unexpected_ends();
        if ended > 0 {
            let number = replica.config.number;
            println!("  {ended:4} times replica {number} ended by itself and was started again");
        }
    }
    for instance in &field.folders {
        let ended = instance.runtime.unexpected_ends();
        if ended > 0 {
            let number = instance.config.number;
            println!("  {ended:4} times runtime {number} ended by itself and was started again");
        }
    }

    let left_out = left_out(&field.database);
    if !left_out.is_empty() {
        println!("  left out on this database: {}", left_out.join(", "));
    }

    println!("Runs");
    let mut by_status: BTreeMap<&str, usize> = BTreeMap::new();
    for run in &history.runs {
        *by_status.entry(&run.status).or_default() += 1;
    }
    for (status, count) in &by_status {
        println!("  {count:4} {status}");
    }
    let again = history.runs.iter().filter(|run| run.attempt > 1).count();
    let most = history.runs.iter().map(|run| run.attempt).max();
    println!(
        "  {again} retries, at most {} attempts of one input",
        most.unwrap_or(0)
    );

    println!("Observations");
    let events: usize = history
        .recordings
        .iter()
        .map(|recording| recording.received.len())
        .sum();
    let connections: u32 = history
        .recordings
        .iter()
        .map(|recording| recording.connections)
        .sum();
    let refused: u32 = history
        .recordings
        .iter()
        .map(|recording| recording.failed_opens)
        .sum();
    println!("  {events} events read over {connections} connections; {refused} connections failed");
    let lost = history
        .requests
        .iter()
        .filter(|request| request.run.is_none());
    println!(
        "  {} requests of people, {} of them without a confirmed run",
        history.requests.len(),
        lost.count()
    );
    println!(
        "  at most {} agent processes at once; resident memory of the servers and runtimes at the end: {:?} KiB",
        history.measurements.max_processes, history.measurements.resident_kib
    );

    println!("Checks");
    let checks = check::run_all(history);
    for check in &checks {
        check.print();
    }
    let broken = checks.iter().filter(|check| !check.holds());
    let mut broken: Vec<_> = broken.map(|check| check.name).collect();
    // A test in which no fault took effect proves nothing, so it must not pass. The same holds for each fault kind
    // that was drawn often enough to find a target.
    if counts.values().all(|count| count.injected == 0) {
        println!("  BROKEN faults: no fault found a target");
        broken.push("faults");
    }
    for (name, count) in &counts {
        if count.injected == 0 && count.drawn >= MIN_DRAWS {
            let drawn = count.drawn;
            println!(
                "  BROKEN faults: \"{name}\" was drawn {drawn} times and never found a target"
            );
            broken.push("faults");
        }
    }
    if !complaints.is_empty() {
        println!("  BROKEN ends: runs or servers that did not end");
        broken.push("ends");
    }
    for complaint in complaints {
        println!("           {complaint}");
    }
    if broken.is_empty() {
        println!("All checks hold.");
    }
    broken
}
