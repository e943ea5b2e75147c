use std::fs;

use tempfile::TempDir;
use tokio::time::timeout;

use super::*;

/// Shorter than the poll interval, so that a report within it comes from an event.
const EVENT_TIMEOUT: Duration = Duration::from_secs(8);

/// A watcher that has made its first report, and its folder.
async fn watched_folder() -> (TempDir, PathBuf, FolderWatcher) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("triggers");
    fs::create_dir(&folder).unwrap();
    let mut watcher = FolderWatcher::new(&folder);
    next_report(&mut watcher).await;
    assert!(is_watched(&watcher));
    (home, folder, watcher)
}

/// Waits for a report and renews the watch, as a reader does.
async fn next_report(watcher: &mut FolderWatcher) {
    watcher.changed().await;
    watcher.watch.renew();
}

async fn expect_event(watcher: &mut FolderWatcher) {
    let reported = timeout(EVENT_TIMEOUT, next_report(watcher)).await;
    reported.expect("an event");
}

fn is_watched(watcher: &FolderWatcher) -> bool {
    watcher.watch.descriptor().is_some()
}

/// Returns the time from the last report without an event to the next one.
fn interval(watcher: &FolderWatcher) -> Duration {
    watcher.next_poll() - watcher.last_poll.unwrap()
}

#[tokio::test]
async fn idle_watcher_reports_once_in_ten_seconds() {
    let (_home, folder, mut watcher) = watched_folder().await;
    assert_eq!(interval(&watcher), Duration::from_secs(10));
    // A folder that is missing is polled once a second.
    fs::remove_dir(&folder).unwrap();
    while is_watched(&watcher) {
        expect_event(&mut watcher).await;
    }
    assert_eq!(interval(&watcher), Duration::from_secs(1));
}

#[tokio::test]
async fn temporary_file_is_no_change_but_its_rename_is() {
    let (_home, folder, mut watcher) = watched_folder().await;
    let temporary = folder.join(".tmp-1-0-a.json");
    fs::write(&temporary, "{}").unwrap();
    let events = wait_for_events(watcher.watch.queue.as_ref()).await;
    assert_eq!(events, Events::Irrelevant);
    fs::rename(temporary, folder.join("a.json")).unwrap();
    expect_event(&mut watcher).await;
}

#[tokio::test]
async fn file_written_in_place_and_linked_file_are_changes() {
    let (home, folder, mut watcher) = watched_folder().await;
    fs::write(folder.join("a.json"), "{}").unwrap();
    expect_event(&mut watcher).await;
    let outside = home.path().join("b.json");
    fs::write(&outside, "{}").unwrap();
    fs::hard_link(outside, folder.join("b.json")).unwrap();
    expect_event(&mut watcher).await;
}

#[tokio::test]
async fn folder_that_vanishes_and_returns_is_watched_again() {
    let (_home, folder, mut watcher) = watched_folder().await;
    fs::remove_dir(&folder).unwrap();
    while is_watched(&watcher) {
        expect_event(&mut watcher).await;
    }
    fs::create_dir(&folder).unwrap();
    while !is_watched(&watcher) {
        next_report(&mut watcher).await;
    }
    fs::write(folder.join("a.json"), "{}").unwrap();
    expect_event(&mut watcher).await;
}

#[tokio::test]
async fn folder_that_another_one_replaces_is_watched() {
    let (home, folder, mut watcher) = watched_folder().await;
    let before = watcher.watch.descriptor();
    fs::rename(&folder, home.path().join("old")).unwrap();
    fs::create_dir(&folder).unwrap();
    while !is_watched(&watcher) || watcher.watch.descriptor() == before {
        next_report(&mut watcher).await;
    }
    // Drain the end of the old watch.
    while wait_for_events(watcher.watch.queue.as_ref()).await != Events::WatchEnded {}
    fs::write(folder.join("a.json"), "{}").unwrap();
    let events = wait_for_events(watcher.watch.queue.as_ref()).await;
    assert_eq!(events, Events::Changed);
}

#[tokio::test]
async fn overflow_of_events_is_one_change() {
    let (_home, folder, mut watcher) = watched_folder().await;
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let limit: u32 = limit.trim().parse().unwrap();
    // Two events that differ, for each pair of files, so that the kernel merges none.
    for number in 0..limit {
        fs::write(folder.join(format!("{}.json", number % 2)), "{}").unwrap();
    }
    expect_event(&mut watcher).await;
    fs::write(folder.join("last.json"), "{}").unwrap();
    expect_event(&mut watcher).await;
}

#[tokio::test]
async fn folder_without_events_is_polled() {
    let (_home, folder, mut watcher) = watched_folder().await;
    watcher.watch = Arc::new(FolderWatch::new(folder, None));
    watcher.last_poll = None;
    next_report(&mut watcher).await;
    assert!(!is_watched(&watcher));
    assert_eq!(interval(&watcher), Duration::from_secs(1));
    timeout(EVENT_TIMEOUT, watcher.changed()).await.unwrap();
}
