//! Lists and views with wide letters, which fit into 80 columns.

use unicode_width::UnicodeWidthStr as _;

use crate::test_installation::TestInstallation;

/// A text of 92 columns in 46 letters.
fn wide_text() -> String {
    "東京の天気を調べて、短い報告を書いてください。".repeat(2)
}

#[test]
fn texts_with_wide_letters_fit_into_80_columns() {
    let world = TestInstallation::new();
    let (text, key) = (wide_text(), "k".repeat(60));
    let start = [
        "goal", "start", &text, "--agent", "demo", "--key", "wide", "--json",
    ];
    world.run(&start).expect_success();
    let owner = ["--session", "wide"];
    let set = [&["memory", "set"], &owner[..], &[&key, &text]].concat();
    world.run(&set).expect_success();
    let session = ["session", "new", "--seat", "planner=demo", "--title", &text];
    world.run(&session).expect_success();
    for args in [
        &["goal", "show", "wide"][..],
        &["goal", "list"],
        &["task", "list", "wide"],
        &["session", "list", "--all"],
        &["run", "list"],
        &["memory", "list", "--session", "wide"],
        &["status"],
    ] {
        let shown = world.run(args).expect_success();
        for line in shown.lines() {
            assert!(line.width() <= 80, "{args:?}: {line}");
        }
    }
    let runs = world.run(&["run", "list"]).expect_success();
    assert!(runs.contains("task, planner"), "{runs}");
    let memory = world
        .run(&["memory", "list", "--session", "wide"])
        .expect_success();
    assert!(memory.contains("\n  東京の天気を"), "{memory}");
}
