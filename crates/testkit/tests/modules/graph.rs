//! A graph of modules, and its cycles.

use std::collections::{BTreeMap, BTreeSet};

/// The dependencies between modules.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// For each dependency, from and to a module, the first location that shows it.
    edges: BTreeMap<(String, String), String>,
}

impl Graph {
    /// Notes that `from` depends on `to`, as `location` shows.
    pub(crate) fn add(&mut self, from: &str, to: &str, location: String) {
        if from != to {
            let edge = (from.to_owned(), to.to_owned());
            self.edges.entry(edge).or_insert(location);
        }
    }

    /// Returns the dependencies between the folders of a crate: a module right below the root, with all modules below
    /// it. A location names the modules as well.
    pub(crate) fn folders(&self) -> Self {
        let folder = |module: &str| module.split("::").next().unwrap_or(module).to_owned();
        let mut folders = Self::default();
        for ((from, to), location) in &self.edges {
            folders.add(
                &folder(from),
                &folder(to),
                format!("{from} needs {to}, {location}"),
            );
        }
        folders
    }

    /// Returns each group of modules that depend on each other, with their dependencies within the group.
    pub(crate) fn cycles(&self) -> Vec<String> {
        let mut needed: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (from, to) in self.edges.keys() {
            needed.entry(from).or_default().push(to);
        }
        let reached: BTreeMap<&str, BTreeSet<&str>> = needed
            .keys()
            .map(|module| (*module, reached_from(module, &needed)))
            .collect();
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut cycles = Vec::new();
        for module in needed.keys() {
            if !reached[module].contains(module) || seen.contains(module) {
                continue;
            }
            let back = |other: &&&str| {
                let from_other = reached.get(*other);
                from_other.is_some_and(|reached| reached.contains(module))
            };
            let group: BTreeSet<&str> = reached[module].iter().filter(back).copied().collect();
            cycles.push(self.describe_cycle(&group));
            seen.extend(group);
        }
        cycles
    }

    fn describe_cycle(&self, group: &BTreeSet<&str>) -> String {
        let names: Vec<_> = group.iter().copied().collect();
        let within = self
            .edges
            .iter()
            .filter(|((from, to), _)| group.contains(from.as_str()) && group.contains(to.as_str()));
        let needs =
            within.map(|((from, to), location)| format!("    {from} needs {to}: {location}"));
        let head = format!("{} are a cycle", names.join(", "));
        std::iter::once(head)
            .chain(needs)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// Returns the modules that can be reached from one by one dependency or more.
fn reached_from<'a>(
    module: &'a str,
    needed: &BTreeMap<&'a str, Vec<&'a str>>,
) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![module];
    while let Some(next) = open.pop() {
        for to in needed.get(next).into_iter().flatten() {
            if reached.insert(*to) {
                open.push(to);
            }
        }
    }
    reached
}

#[test]
fn separate_cycles_are_reported_without_modules_leading_to_them() {
    let mut graph = Graph::default();
    for (from, to) in [
        ("a", "b"),
        ("b", "a"),
        ("c", "a"),
        ("d", "e"),
        ("e", "d"),
        ("b", "d"),
    ] {
        graph.add(from, to, format!("{from}.rs:1"));
    }
    let cycles = graph.cycles();
    let begin = |index: usize| cycles[index].lines().next().unwrap();
    assert_eq!(cycles.len(), 2);
    assert_eq!(begin(0), "a, b are a cycle");
    assert_eq!(begin(1), "d, e are a cycle");
}

#[test]
fn graph_without_a_cycle_has_none() {
    let mut graph = Graph::default();
    for (from, to) in [("a", "b"), ("b", "c"), ("a", "c"), ("a", "a")] {
        graph.add(from, to, String::new());
    }
    assert_eq!(graph.cycles(), Vec::<String>::new());
}
