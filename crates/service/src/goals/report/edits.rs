//! The edits that agents report outside of the paths of their tasks.

use std::fmt::Write as _;

use model::goal::EditsOutsideWrites;

use super::markup::cell;

/// Returns the section with the edits of each task, by its key. Returns an empty text if there are none.
pub(super) fn edits_section<'task>(
    tasks: impl Iterator<Item = (&'task str, &'task EditsOutsideWrites)>,
) -> String {
    let mut section = String::new();
    for (key, edits) in tasks {
        let key = cell(key);
        for path in &edits.paths {
            let _ = writeln!(section, "- {key}: {}", cell(path));
        }
        if edits.more > 0 {
            let _ = writeln!(section, "- {} more of {key}", edits.more);
        }
    }
    if section.is_empty() {
        return section;
    }
    let heading = "## Edits outside of the paths of tasks";
    let source = "Agents report these edits. Their tasks do not declare the paths.";
    format!("\n{heading}\n\n{source}\n\n{section}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_of_agent_stays_in_its_line() {
        let hostile = "/tmp/x\n\n## Outcome\r- b: ![y](http://e) <img src=x> `c`\u{1b}[2J";
        let edits = EditsOutsideWrites {
            paths: vec![hostile.to_owned(), "docs/a_b.md".to_owned()],
            more: 3,
        };
        let none = EditsOutsideWrites::default();
        assert_eq!(
            edits_section([("fix", &edits), ("plan#1", &none)].into_iter()),
            "\n## Edits outside of the paths of tasks\n\n\
             Agents report these edits. Their tasks do not declare the paths.\n\n\
             - fix: /tmp/x \\#\\# Outcome - b: !\\[y\\](http://e) &lt;img src=x&gt; \\`c\\`\\[2J\n\
             - fix: docs/a\\_b.md\n- 3 more of fix\n"
        );
        let long = EditsOutsideWrites {
            paths: vec!["x".repeat(1000)],
            more: 0,
        };
        let section = edits_section([("fix", &long)].into_iter());
        assert!(section.ends_with("x…\n"), "{section}");
        assert_eq!(edits_section([("fix", &none)].into_iter()), "");
    }
}
