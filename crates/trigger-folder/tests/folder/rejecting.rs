//! Files that are no triggers.

use std::{fs, os::unix::fs::symlink};

use crate::stage::{Stage, file_name, list};

#[tokio::test]
async fn rejected_file_is_moved_with_its_reason() {
    let stage = Stage::new();
    for (content, reason) in [("{", "not JSON"), ("[]", "no object"), ("7", "a number")] {
        stage.write("a.json", content);
        let rejected = stage.reader.reject(file_name("a.json"), reason.into());
        rejected.await.unwrap();
    }
    assert_eq!(stage.list(), ["failed"]);
    let failed = stage.path.join("failed");
    let names = [
        "a.json",
        "a.json.2",
        "a.json.2.reason",
        "a.json.3",
        "a.json.3.reason",
        "a.json.reason",
    ];
    assert_eq!(list(&failed), names);
    let read = |name: &str| fs::read_to_string(failed.join(name)).unwrap();
    assert_eq!(read("a.json"), "{");
    assert_eq!(read("a.json.reason"), "not JSON\n");
    assert_eq!(read("a.json.3.reason"), "a number\n");
}

#[tokio::test]
async fn rejection_of_vanished_file_leaves_no_reason() {
    let stage = Stage::new();
    let rejected = stage.reader.reject(file_name("a.json"), "late".into());
    rejected.await.unwrap();
    assert!(list(&stage.path.join("failed")).is_empty());
}

#[tokio::test]
async fn rejection_follows_no_link() {
    let stage = Stage::new();
    let outside = stage.outside("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, stage.path.join("failed")).unwrap();
    stage.write("a.json", "{");
    let refused = stage.reader.reject(file_name("a.json"), "reason".into());
    assert!(!refused.await.unwrap_err().is_transient());
    assert!(list(&outside).is_empty());
    assert_eq!(stage.list(), ["a.json", "failed"]);

    fs::remove_file(stage.path.join("failed")).unwrap();
    fs::create_dir(stage.path.join("failed")).unwrap();
    let secret = stage.outside("secret");
    fs::write(&secret, "secret").unwrap();
    symlink(&secret, stage.path.join("failed/a.json.reason")).unwrap();
    let refused = stage.reader.reject(file_name("a.json"), "reason".into());
    refused.await.unwrap_err();
    assert_eq!(fs::read(&secret).unwrap(), b"secret");
}

#[tokio::test]
async fn long_name_is_cut_so_that_its_reason_fits() {
    let stage = Stage::new();
    let name = format!("{}.json", "n".repeat(250));
    stage.write(&name, "{");
    let rejected = stage.reader.reject(file_name(&name), "reason".into());
    rejected.await.unwrap();
    let names = list(&stage.path.join("failed"));
    let cut = "n".repeat(200);
    assert_eq!(names, [cut.clone(), format!("{cut}.reason")]);
}
