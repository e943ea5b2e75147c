//! Facts about the machine, without which the figures cannot be compared.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    time::Instant,
};

use anyhow::{Context as _, Result};

use super::statistics::median;

/// The number of measured disk syncs.
const SYNC_SAMPLES: usize = 50;

/// Prints the number of cores, the kernel, the load, and the time of a disk sync.
pub(crate) fn print(folder: &Path) -> Result<()> {
    let cores = std::thread::available_parallelism()?;
    let load = fs::read_to_string("/proc/loadavg")?;
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let sync = sync_time(folder)?;
    println!(
        "{cores} cores, Linux {}, load {}, a write of 4 KiB with fdatasync {:.2} ms (median of {SYNC_SAMPLES})",
        kernel.trim(),
        load.split_whitespace().next().unwrap_or_default(),
        sync * 1000.0,
    );
    Ok(())
}

fn sync_time(folder: &Path) -> Result<f64> {
    let path = folder.join("sync");
    let mut file = File::create(&path)?;
    let mut times = Vec::with_capacity(SYNC_SAMPLES);
    for _ in 0..SYNC_SAMPLES {
        let started = Instant::now();
        file.write_all(&[7; 4096])?;
        file.sync_data()?;
        times.push(started.elapsed());
    }
    fs::remove_file(&path)?;
    Ok(median(times).as_secs_f64())
}

/// Makes the present resident memory of this process its peak, so that the next peak is that of one measurement. Returns the
/// present resident memory, in MB.
///
/// # Errors
///
/// Returns an error if the kernel cannot reset the peak.
pub(crate) fn reset_peak_mb() -> Result<f64> {
    // See `proc_pid_clear_refs(5)`.
    let reset = fs::write("/proc/self/clear_refs", "5");
    reset.context("cannot reset the peak memory by `/proc/self/clear_refs`")?;
    peak_mb()
}

/// Returns the peak resident memory of this process since the last [`reset_peak_mb`], or since its start, in MB.
pub(crate) fn peak_mb() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next());
    let kib: u32 = kib.context("`/proc/self/status` has no `VmHWM`")?.parse()?;
    Ok(f64::from(kib) * 1024.0 / 1e6)
}
