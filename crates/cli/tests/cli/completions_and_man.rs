//! What shells and manuals are given.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use crate::test_installation::TestInstallation;

/// Whether a program accepts a text on its standard input, where the program is there.
fn stderr_if_accepted(program: &str, args: &[&str], text: &str) -> Option<String> {
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.ok()?;
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let ended = child.wait_with_output().unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(ended.status.success(), "{program}: {told}");
    Some(told)
}

#[test]
fn completion_scripts_are_valid_for_each_shell() {
    let world = TestInstallation::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.run(&["completions", shell]).expect_success();
        for word in ["automation", "tick-seconds", "doctor"] {
            assert!(script.contains(word), "{shell} has no {word}");
        }
    }
    let script = world.run(&["completions", "bash"]).expect_success();
    let complete = format!(
        "{script}\nCOMP_WORDS=(matins config sh); COMP_CWORD=2; \
         _matins matins sh config; [ \"${{COMPREPLY[*]}}\" = show ]"
    );
    assert_eq!(
        stderr_if_accepted("bash", &[], &complete).as_deref(),
        Some("")
    );
    let told = world.json(&["completions", "bash"]);
    assert_eq!(told["script"], script);
    assert_eq!(world.run(&["completions", "dos"]).code, 2);
    assert!(!world.path().join("data").exists());
}

#[test]
fn every_command_has_a_manual_page() {
    let world = TestInstallation::new();
    world.run(&["man", "--out", "share/man1"]).expect_success();
    let folder = world.path().join("share/man1");
    let mut pages: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    for page in [
        "matins.1",
        "matins-serve.1",
        "matins-automation-add.1",
        "matins-config-show.1",
    ] {
        assert!(pages.iter().any(|it| it == page), "{page} in {pages:?}");
    }
    assert!(
        pages.iter().all(|page| !page.contains("demo-agent")),
        "{pages:?}"
    );
    let main = world.run(&["man"]).expect_success();
    assert!(main.contains(".TH matins 1"), "{main}");
    for page in &pages {
        let text = fs::read_to_string(folder.join(page)).unwrap();
        if let Some(told) = stderr_if_accepted("groff", &["-man", "-Tutf8", "-ww", "-z"], &text) {
            assert_eq!(told, "", "{page}");
        }
    }
    let refused = world.run(&["man", "--out", "/proc/nowhere"]);
    assert_eq!(refused.code, 6, "{refused:#?}");
    assert!(!Path::new(&world.data_folder()).exists());
}
