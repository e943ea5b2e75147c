//! What the figures were measured on.

use std::{
    fs::{self, File},
    io::Write as _,
    path::Path,
    time::Instant,
};

use anyhow::{Context as _, Result};

use super::statistics::median;

/// How often the disk is asked to sync.
const SYNC_SAMPLES: usize = 50;

/// Prints the machine, how busy it is, and how long its disk takes to sync.
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

/// The highest resident memory of this process so far, in MB.
pub(crate) fn peak_mb() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|rest| rest.split_whitespace().next());
    let kib: u32 = kib.context("no VmHWM")?.parse()?;
    Ok(f64::from(kib) * 1024.0 / 1e6)
}
