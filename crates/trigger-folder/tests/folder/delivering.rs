//! The writer's side.

use std::{
    fs,
    os::unix::fs::{MetadataExt as _, symlink},
    time::{Duration, SystemTime},
};

use rustix::fs::{CWD, FileType, mknodat};
use trigger_folder::{Delivered, Delivery as _, DeliveryError};

use crate::stage::{Stage, list, set_mode, trigger_name};

/// Returns the reasons of an error, from the folder down.
fn reasons(error: &DeliveryError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

#[tokio::test]
async fn delivery_into_unsafe_folder_is_refused_with_reason() {
    for mode in [0o777, 0o775, 0o1777, 0o757] {
        let stage = Stage::new();
        set_mode(&stage.path, mode);
        let refused = stage.writer.deliver(&trigger_name(1), b"{}").await;
        let error = refused.unwrap_err();
        assert!(!error.is_transient, "a person must mend it");
        let text = reasons(&error);
        let expected = format!("(mode {mode:04o})");
        assert!(text.contains("other users may write"), "{text}");
        assert!(text.contains(&expected), "{text}");
        assert!(text.contains(&stage.path.display().to_string()), "{text}");
        assert!(stage.list().is_empty());
    }
}

#[tokio::test]
async fn link_or_file_in_place_of_folder_is_refused() {
    let stage = Stage::new();
    let target = stage.outside("target");
    fs::rename(&stage.path, &target).unwrap();
    symlink(&target, &stage.path).unwrap();
    let refused = stage.writer.deliver(&trigger_name(1), b"{}").await;
    let error = refused.unwrap_err();
    assert!(reasons(&error).contains("symbolic link"), "{error:?}");
    assert!(!error.is_transient && list(&target).is_empty());

    fs::remove_file(&stage.path).unwrap();
    fs::write(&stage.path, "").unwrap();
    let refused = stage.writer.deliver(&trigger_name(1), b"{}").await;
    assert!(!refused.unwrap_err().is_transient);
}

#[tokio::test]
async fn delivery_into_missing_folder_may_pass() {
    let stage = Stage::new();
    fs::remove_dir(&stage.path).unwrap();
    let missing = stage.writer.deliver(&trigger_name(1), b"{}").await;
    let error = missing.unwrap_err();
    assert!(error.is_transient);
    assert!(reasons(&error).contains("does not exist"), "{error:?}");
    // The volume is mounted.
    fs::create_dir(&stage.path).unwrap();
    set_mode(&stage.path, 0o700);
    let delivered = stage.writer.deliver(&trigger_name(1), b"{}").await;
    assert_eq!(delivered.unwrap(), Delivered::Written);
}

#[tokio::test]
async fn delivery_writes_whole_file_and_repeats_nothing() {
    let stage = Stage::new();
    let name = trigger_name(1);
    let deliver = |content: &'static [u8]| stage.writer.deliver(&name, content);
    assert_eq!(deliver(b"first").await.unwrap(), Delivered::Written);
    let path = stage.path.join(name.to_string());
    let first = fs::metadata(&path).unwrap();
    assert_eq!(first.mode() & 0o777, 0o600);
    assert_eq!(deliver(b"first").await.unwrap(), Delivered::AlreadyThere);
    assert_eq!(fs::metadata(&path).unwrap().ino(), first.ino());
    // Another content replaces the file as a whole, and a reader never sees a part of it.
    for content in [&b"fir"[..], b"other", b"first and more"] {
        let written = stage.writer.deliver(&name, content).await;
        assert_eq!(written.unwrap(), Delivered::Written);
        assert_eq!(fs::read(&path).unwrap(), content);
    }
    assert_eq!(stage.list(), [name.to_string()]);
}

#[tokio::test]
async fn delivery_replaces_link_and_pipe_without_following_them() {
    let stage = Stage::new();
    let secret = stage.outside("secret");
    fs::write(&secret, "secret").unwrap();
    let names = [trigger_name(1), trigger_name(2)];
    let paths = names.map(|name| stage.path.join(name.to_string()));
    symlink(&secret, &paths[0]).unwrap();
    mknodat(CWD, &paths[1], FileType::Fifo, 0o600.into(), 0).unwrap();
    for (name, path) in names.iter().zip(&paths) {
        let written = stage.writer.deliver(name, b"secret").await;
        assert_eq!(written.unwrap(), Delivered::Written);
        assert!(fs::symlink_metadata(path).unwrap().is_file());
    }
    assert_eq!(fs::read(&secret).unwrap(), b"secret");
}

#[tokio::test]
async fn leftover_of_crashed_delivery_is_removed_after_a_day() {
    let stage = Stage::new();
    let name = trigger_name(1);
    let [old, young] = [format!(".tmp-77-0-{name}"), format!(".tmp-77-1-{name}")];
    // A hidden file of another program, however old, stays.
    let foreign = [".tmp-77-0-notes", ".tmp-77", ".hidden"];
    for file in foreign.into_iter().chain([old.as_str(), &young]) {
        stage.write(file, "{");
        let long_ago = SystemTime::UNIX_EPOCH + Duration::from_hours(24);
        if file != young {
            let opened = fs::File::options().write(true).open(stage.path.join(file));
            opened.unwrap().set_modified(long_ago).unwrap();
        }
    }
    stage.writer.deliver(&name, b"{}").await.unwrap();
    let mut expected = vec![young, name.to_string()];
    expected.extend(foreign.map(str::to_owned));
    expected.sort();
    assert_eq!(stage.list(), expected);
    // No reader takes any of them.
    let scan = stage.reader.scan(None, 10).unwrap();
    let names: Vec<String> = scan.names.iter().map(ToString::to_string).collect();
    assert_eq!(names, [name.to_string()]);
}
