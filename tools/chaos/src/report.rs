//! The report at the end of a test.

use std::collections::BTreeMap;

use super::{check, faults::Field, history::History};

/// The number of draws after which a fault kind that never found a target breaks the test.
const TRIES: u32 = 3;

/// Runs all checks, prints the counts and the results, and returns the number of broken conditions.
pub(crate) fn print(history: &History, field: &Field, complaints: &[String]) -> usize {
    println!("\nFaults");
    let counts = field.counts();
    for (name, count) in &counts {
        println!("  {:4} {name}", count.done);
    }
    for replica in &field.replicas {
        let ended = replica.unexpected_ends();
        if ended > 0 {
            let number = replica.plan.number;
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
    let events: usize = history.recordings.iter().map(|one| one.seen.len()).sum();
    let connections: u32 = history.recordings.iter().map(|one| one.connections).sum();
    let refused: u32 = history.recordings.iter().map(|one| one.refused).sum();
    println!(
        "  {events} events read over {connections} connections; {refused} times nobody answered"
    );
    let lost = history.asked.iter().filter(|asked| asked.run.is_none());
    println!(
        "  {} things asked for, {} of them without an answer",
        history.asked.len(),
        lost.count()
    );
    println!(
        "  {} processes of agents at once at the most; servers hold {:?} KiB in the end",
        history.measured.processes, history.measured.resident
    );

    println!("Checks");
    let checks = check::all(history);
    for check in &checks {
        check.print();
    }
    let mut broken = checks.iter().filter(|check| !check.holds()).count();
    // A test in which no fault took effect proves nothing, so it must not pass. The same holds for each fault kind
    // that was drawn often enough to find a target.
    if counts.values().all(|count| count.done == 0) {
        println!("  BROKEN faults: none happened");
        broken += 1;
    }
    for (name, count) in &counts {
        if count.done == 0 && count.dealt >= TRIES {
            let dealt = count.dealt;
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
