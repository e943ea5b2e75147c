//! The report at the end of a test.

use std::collections::BTreeMap;

use super::{check, faults::FaultTargets, history::History};

/// The number of draws after which a fault kind that never found a target breaks the test.
const MIN_DRAWS: u32 = 3;

/// Runs all checks, prints the counts and the results, and returns the number of broken conditions.
pub(crate) fn print(history: &History, field: &FaultTargets, complaints: &[String]) -> usize {
    println!("\nFaults");
    let counts = field.counts();
    for (name, count) in &counts {
        println!("  {:4} {name}", count.injected);
    }
    for replica in &field.replicas {
        let ended = replica.unexpected_ends();
        if ended > 0 {
            let number = replica.config.number;
            println!("  {ended:4} times replica {number} ended by itself, and was started again");
        }
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
        "  {again} further attempts, {} of one input at the most",
        most.unwrap_or(0)
    );

    println!("Seen");
    let events: usize = history
        .recordings
        .iter()
        .map(|one| one.received.len())
        .sum();
    let connections: u32 = history.recordings.iter().map(|one| one.connections).sum();
    let refused: u32 = history.recordings.iter().map(|one| one.failed_opens).sum();
    println!(
        "  {events} events read over {connections} connections; {refused} times nobody answered"
    );
    let lost = history.requests.iter().filter(|asked| asked.run.is_none());
    println!(
        "  {} things asked for, {} of them without an answer",
        history.requests.len(),
        lost.count()
    );
    println!(
        "  {} processes of agents at once at the most; servers hold {:?} KiB in the end",
        history.measurements.max_processes, history.measurements.resident_kib
    );

    println!("Checks");
    let checks = check::run_all(history);
    for check in &checks {
        check.print();
    }
    let mut broken = checks.iter().filter(|check| !check.holds()).count();
    // A test in which no fault took effect proves nothing, so it must not pass. The same holds for each fault kind
    // that was drawn often enough to find a target.
    if counts.values().all(|count| count.injected == 0) {
        println!("  BROKEN faults: none happened");
        broken += 1;
    }
    for (name, count) in &counts {
        if count.injected == 0 && count.drawn >= MIN_DRAWS {
            let dealt = count.drawn;
            println!("  BROKEN faults: {dealt} times there was nothing to do this to: {name}");
            broken += 1;
        }
    }
    if !complaints.is_empty() {
        println!("  BROKEN ends:");
        broken += 1;
    }
    for complaint in complaints {
        println!("           {complaint}");
    }
    if broken == 0 {
        println!("Everything holds.");
    }
    broken
}
