//! The listing of a folder.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
};

use delivery::MAX_FILE_BYTES;
use rustix::fs::{CWD, FileType, mknodat};
use trigger_folder::{FolderProblem, Scan};

use crate::stage::{Stage, file_name, set_mode};

#[test]
fn scan_of_unsafe_or_missing_folder_is_refused() {
    let stage = Stage::new();
    set_mode(&stage.path, 0o777);
    let refused = stage.reader.scan(None, 10).unwrap_err();
    let is_named = matches!(
        refused.problem,
        FolderProblem::WritableByOthers { mode: 0o777 }
    );
    assert!(is_named && !refused.is_transient(), "{refused:?}");
    fs::remove_dir(&stage.path).unwrap();
    let missing = stage.reader.scan(None, 10).unwrap_err();
    assert!(missing.is_transient(), "{missing:?}");
    fs::create_dir(stage.outside("other")).unwrap();
    symlink(stage.outside("other"), &stage.path).unwrap();
    let link = stage.reader.scan(None, 10).unwrap_err();
    let is_named = matches!(link.problem, FolderProblem::NotAFolder);
    assert!(is_named && !link.is_transient(), "{link:?}");
}

#[test]
fn scan_lists_only_regular_files_with_a_trigger_name() {
    let stage = Stage::new();
    for name in ["b.json", "a.json", "\u{fc}\n.json"] {
        stage.write(name, "{}");
    }
    for name in [
        ".hidden.json",
        ".tmp-1-0-a.json",
        "a.json.tmp",
        "a.json~",
        "a.JSON",
        "json",
        ".json",
    ] {
        stage.write(name, "{}");
    }
    fs::create_dir(stage.path.join("folder.json")).unwrap();
    symlink(stage.path.join("a.json"), stage.path.join("link.json")).unwrap();
    symlink("nowhere", stage.path.join("dangling.json")).unwrap();
    let pipe = stage.path.join("pipe.json");
    mknodat(CWD, &pipe, FileType::Fifo, 0o600.into(), 0).unwrap();
    let _socket = UnixListener::bind(stage.path.join("socket.json")).unwrap();
    let large = fs::File::create(stage.path.join("large.json")).unwrap();
    large.set_len(MAX_FILE_BYTES as u64 + 1).unwrap();
    let scan = stage.reader.scan(None, 100).unwrap();
    let expected = Scan {
        names: ["a.json", "b.json", "\u{fc}\n.json"]
            .map(file_name)
            .to_vec(),
        oversized: vec![file_name("large.json")],
        has_more: false,
    };
    assert_eq!(scan, expected);
    assert_eq!(expected.names[2].to_string(), "\u{fc}\\n.json");
}

#[test]
fn hundred_thousand_files_are_listed_in_order_and_in_pages() {
    const COUNT: usize = 100_000;
    const PAGE: usize = 30_000;
    let stage = Stage::new();
    // In an order that is not that of the names.
    for number in (0..COUNT).map(|step| step * 7_919 % COUNT) {
        fs::File::create(stage.path.join(format!("{number:06}.json"))).unwrap();
    }
    let (mut after, mut found) = (None, 0);
    loop {
        let scan = stage.reader.scan(after.as_ref(), PAGE).unwrap();
        assert!(scan.names.len() <= PAGE, "{}", scan.names.len());
        for name in &scan.names {
            assert_eq!(name.to_string(), format!("{found:06}.json"));
            found += 1;
        }
        assert_eq!(scan.has_more, found < COUNT);
        after = scan.names.last().cloned();
        if !scan.has_more {
            break;
        }
    }
    assert_eq!(found, COUNT);
    let end = stage.reader.scan(after.as_ref(), PAGE).unwrap();
    assert_eq!(end, Scan::default());
}
