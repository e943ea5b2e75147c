//! The tests of the page in a browser.

use std::{collections::BTreeSet, fs, path::Path};

/// Returns the names of the tests of the page in a browser.
pub(crate) fn browser_tests(page: &Path) -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for entry in fs::read_dir(page.join("tests")).unwrap() {
        let file = entry.unwrap().path();
        let Some(own) = file
            .file_name()
            .and_then(|name| name.to_str()?.strip_suffix(".spec.ts"))
        else {
            continue;
        };
        let text = fs::read_to_string(&file).unwrap();
        for line in text.lines() {
            let named = line.trim_start().strip_prefix("test(\"");
            if let Some((name, _)) = named.and_then(|rest| rest.split_once('"')) {
                tests.insert(format!("page::{own}::{name}"));
            }
        }
    }
    tests
}
