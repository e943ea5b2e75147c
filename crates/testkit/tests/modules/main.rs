//! The modules of each crate: none depends on itself by way of others, and no folder does.
//!
//! A module is a file; inline modules belong to the file that holds them. Module A depends on module B if A
//! imports or names an item that B defines, in code or within a macro. A re-export is followed to the module
//! that defines the item, so that `use crate::Error` is a dependency on `error` where `lib` re-exports it from
//! there. `mod child;` and `pub use child::Item` are no dependencies of the parent by themselves. A parent that
//! uses an item of its child while the child uses an item of its parent is a cycle, as any other is.
//!
//! A folder is a module right below the root of the crate, with all modules below it. Two folders that depend on
//! each other are a cycle even if the modules that do so are different ones.
//!
//! Code for tests is left out. Names that a macro generates belong to the module that invokes the macro.
//! Methods are not resolved: an `impl` block depends on the type that it names, and its callers on that type.

#![expect(clippy::unwrap_used, reason = "helpers of tests may panic")]

mod graph;
mod names;
mod source;
mod tokens;

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use graph::Graph;
use names::Names;
use serde_json::Value;
use source::Source;

/// A library or a binary of the workspace.
struct Target {
    package: String,
    /// The file that it begins with.
    root: PathBuf,
}

fn targets() -> Vec<Target> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")))
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut found = Vec::new();
    for package in metadata["packages"].as_array().unwrap() {
        for target in package["targets"].as_array().unwrap() {
            let kinds = target["kind"].as_array().unwrap();
            if kinds.iter().any(|kind| kind == "lib" || kind == "bin") {
                found.push(Target {
                    package: package["name"].as_str().unwrap().to_owned(),
                    root: target["src_path"].as_str().unwrap().into(),
                });
            }
        }
    }
    found
}

/// Returns the dependencies between the modules of a target.
fn graph(source: &Source) -> Graph {
    Names::of(source).dependencies()
}

/// Returns the cycles of modules, or those of folders if the modules have none.
fn all_cycles(graph: &Graph) -> Vec<String> {
    let cycles = graph.cycles();
    if cycles.is_empty() {
        graph.folders().cycles()
    } else {
        cycles
    }
}

#[test]
fn modules_of_every_crate_have_no_cycle() {
    let targets = targets();
    assert!(targets.len() > 10, "few targets were found");
    let mut found = Vec::new();
    for Target { package, root } in &targets {
        let cycles = all_cycles(&graph(&Source::read(root)));
        found.extend(cycles.iter().map(|cycle| format!("{package}: {cycle}")));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// Returns the cycles of a crate that is made of these files.
fn cycles(files: &[(&str, &str)]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let cycles = all_cycles(&graph(&Source::read(&folder.path().join("lib.rs"))));
    cycles
        .into_iter()
        .map(|cycle| cycle.replace(&format!("{}/", folder.path().display()), ""))
        .collect()
}

#[test]
fn two_modules_that_name_each_other_are_a_cycle() {
    let lib = ("lib.rs", "mod a;\nmod b;\n");
    let a = ("a.rs", "pub struct A;\n\nfn f() { crate::b::g(); }\n");
    let b = ("b.rs", "use crate::a::A;\npub fn g() -> A { A }\n");
    let expected = "a, b are a cycle\n    a needs b: a.rs:3\n    b needs a: b.rs:1";
    assert_eq!(cycles(&[lib, a, b]), [expected]);
    let one_way = ("b.rs", "pub fn g() {}\n");
    assert_eq!(cycles(&[lib, a, one_way]), Vec::<String>::new());
}

#[test]
fn cycle_by_way_of_a_third_module_is_found() {
    let lib = ("lib.rs", "mod a;\nmod b;\nmod c;\n");
    let a = ("a.rs", "use super::b::B;\npub struct A(B);");
    let b = ("b.rs", "pub struct B(Vec<crate::c::C>);");
    let c = (
        "c.rs",
        "macro_rules! m { () => { $crate::a::A } }\npub struct C;",
    );
    let found = cycles(&[lib, a, b, c]);
    assert!(found[0].starts_with("a, b, c are a cycle"), "{found:?}");
    let c = ("c.rs", "pub struct C;");
    assert_eq!(cycles(&[lib, a, b, c]), Vec::<String>::new());
}

#[test]
fn re_export_is_followed_to_the_module_that_defines_the_item() {
    let lib = "mod a;\nmod error;\npub use a::run;\npub use error::Error;\n";
    let a = (
        "a.rs",
        "use crate::Error;\npub fn run() -> Error { Error }\n",
    );
    let error = ("error.rs", "pub struct Error;\n");
    assert_eq!(cycles(&[("lib.rs", lib), a, error]), Vec::<String>::new());
    let error = ("error.rs", "pub struct Error;\nfn f() { crate::run(); }\n");
    let found = cycles(&[("lib.rs", lib), a, error]);
    let expected = "a, error are a cycle\n    a needs error: a.rs:1\n    error needs a: error.rs:2";
    assert_eq!(found, [expected]);
}

#[test]
fn parent_and_child_are_a_cycle_once_each_uses_an_item_of_the_other() {
    let child = (
        "child.rs",
        "use super::LIMIT;\npub fn run() -> u8 { LIMIT }\n",
    );
    let parent = |uses| format!("mod child;\n{uses}\npub const LIMIT: u8 = 1;\n");
    let re_exports = parent("pub use child::run;");
    assert_eq!(
        cycles(&[("lib.rs", &re_exports), child]),
        Vec::<String>::new()
    );
    for uses in [
        "use child::run;",
        "fn f() { child::run(); }",
        "pub use child::run;\nfn f() { run(); }",
        "use child::*;\nfn f() { run(); }",
        "fn f() { println!(\"{}\", child::run()); }",
        "fn f() { use self::child::{run}; }",
    ] {
        let parent = parent(uses);
        let found = cycles(&[("lib.rs", &parent), child]);
        assert_eq!(found.len(), 1, "{uses}");
    }
}

#[test]
fn folders_that_need_each_other_by_way_of_different_modules_are_a_cycle() {
    let lib = ("lib.rs", "mod a;\nmod b;\n");
    let a = ("a/mod.rs", "pub mod high;\npub mod low;\n");
    let high = ("a/high.rs", "use crate::b::g;\npub fn f() { g() }\n");
    let low = ("a/low.rs", "pub fn h() {}\n");
    let b = ("b.rs", "use crate::a::low::h;\npub fn g() { h() }\n");
    let expected = "a, b are a cycle\n    a needs b: a::high needs b, a/high.rs:1\n    \
                    b needs a: b needs a::low, b.rs:1";
    assert_eq!(cycles(&[lib, a, high, low, b]), [expected]);
    let high = ("a/high.rs", "pub fn f() {}\n");
    assert_eq!(cycles(&[lib, a, high, low, b]), Vec::<String>::new());
}

#[test]
fn code_of_tests_makes_no_cycle() {
    let lib = ("lib.rs", "mod a;\nmod b;\n");
    let b = ("b.rs", "use crate::a::A;\npub fn g() -> A { A }\n");
    for test in [
        "#[cfg(test)]\nmod tests { use crate::b::g; }",
        "#[cfg(test)]\nuse crate::b::g;",
        "impl A { #[cfg(test)]\nfn f() { crate::b::g(); } }",
    ] {
        let a = format!("pub struct A;\n{test}\n");
        assert_eq!(cycles(&[lib, ("a.rs", &a), b]), Vec::<String>::new());
    }
}

#[test]
fn modules_in_folders_and_inline_modules_are_resolved() {
    let lib = ("lib.rs", "mod a;\nmod made;\n");
    let a = ("a/mod.rs", "mod deep;\npub mod inner { pub fn f() {} }\n");
    let deep = (
        "a/deep.rs",
        "use super::inner::f;\nfn g() { f(); crate::made::Id::new(); }",
    );
    let made = ("made.rs", "id!(Id);\n");
    assert_eq!(cycles(&[lib, a, deep, made]), Vec::<String>::new());
    let a = (
        "a/mod.rs",
        "mod deep;\npub mod inner { pub fn f() { super::deep::g(); } }\n",
    );
    let deep = ("a/deep.rs", "use super::inner::f;\npub fn g() { f(); }");
    let found = cycles(&[lib, a, deep, made]);
    let expected =
        "a, a::deep are a cycle\n    a needs a::deep: a/mod.rs:2\n    a::deep needs a: a/deep.rs:1";
    assert_eq!(found, [expected]);
}
