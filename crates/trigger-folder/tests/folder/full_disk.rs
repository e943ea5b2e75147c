//! A full disk. The test runs itself again in a name space of its own, in which a small `tmpfs` is mounted.

use std::{fs, path::Path, process::Command};

use trigger_folder::{Delivered, Delivery as _, DirectoryDelivery, TriggerFolder};

use crate::stage::{file_name, list, set_mode, trigger_name};

/// The environment variable that gives the inner test its folder.
const FOLDER: &str = "MATINS_TEST_SMALL_TMPFS";
const MOUNT: &str = "mount -t tmpfs -o size=64k,mode=0755 tmpfs \"$1\" && exec \"$2\" --exact \
                     full_disk::full_disk_leaves_no_part_of_a_file --nocapture";

#[expect(
    clippy::disallowed_methods,
    reason = "the outer test passes a folder to the inner one"
)]
#[tokio::test]
async fn full_disk_leaves_no_part_of_a_file() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return fill_disk(Path::new(&folder)).await;
    }
    let home = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let mut inner = Command::new("unshare");
    inner.args(["--map-root-user", "--mount", "sh", "-c", MOUNT, "sh"]);
    inner.arg(home.path()).arg(program).env(FOLDER, home.path());
    let output = inner.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1 passed"), "{text}");
}

async fn fill_disk(folder: &Path) {
    set_mode(folder, 0o755);
    let writer = DirectoryDelivery::new(folder);
    let reader = TriggerFolder::new(folder);
    fs::write(folder.join("broken.json"), "{").unwrap();
    let filler = folder.join("filler");
    fs::write(&filler, vec![0; 1 << 20]).unwrap_err();
    // The content does not fit, nor does the reason of a rejection.
    let content = [b'x'; 8192];
    let full = writer.deliver(&trigger_name(1), &content).await;
    let full = full.unwrap_err();
    assert!(full.is_transient, "{full:?}");
    let cause = std::error::Error::source(&full).and_then(std::error::Error::source);
    let cause = cause.unwrap().to_string();
    assert!(cause.contains("No space left"), "{cause}");
    let rejected = reader.reject(file_name("broken.json"), "x".repeat(8192));
    assert!(rejected.await.unwrap_err().is_transient());
    assert_eq!(list(folder), ["broken.json", "failed", "filler"]);
    assert!(list(&folder.join("failed")).is_empty());
    // With space again, the same calls succeed.
    fs::remove_file(&filler).unwrap();
    let written = writer.deliver(&trigger_name(1), &content).await;
    assert_eq!(written.unwrap(), Delivered::Written);
    let rejected = reader.reject(file_name("broken.json"), "x".repeat(8192));
    rejected.await.unwrap();
    let failed = list(&folder.join("failed"));
    assert_eq!(failed, ["broken.json", "broken.json.reason"]);
}
