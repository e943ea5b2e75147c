//! The meaning of names: follows each path of a crate to the module that defines its item.

use crate::{
    graph::Graph,
    source::{Import, Module, Source},
};

/// The maximum number of imports that a path is followed through.
const MAX_IMPORT_STEPS: usize = 16;

/// The names of a crate.
pub(crate) struct Names<'a> {
    modules: &'a [Module],
}

/// The target of a path, with the index of its module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// An item that the module defines.
    Item(usize),
    /// The module itself.
    Module(usize),
}

impl<'a> Names<'a> {
    pub(crate) fn of(source: &'a Source) -> Self {
        Self {
            modules: &source.modules,
        }
    }

    /// Returns the dependencies between the modules.
    pub(crate) fn dependencies(&self) -> Graph {
        let mut graph = Graph::default();
        for (index, module) in self.modules.iter().enumerate() {
            let mut add = |meaning, line: usize| {
                if let Some(Meaning::Item(on)) = meaning {
                    let on = &self.modules[on].name;
                    graph.add(&module.name, on, format!("{}:{line}", module.file));
                }
            };
            for Import { leaf, is_re_export } in &module.imports {
                let is_glob = leaf.name == "*";
                let meaning = self.follow(index, &leaf.path, 0);
                let of_child = match meaning {
                    Some(Meaning::Item(on) | Meaning::Module(on)) => self.is_below(on, index),
                    None => false,
                };
                let only_if_used = is_glob || (*is_re_export && of_child);
                if !only_if_used {
                    add(meaning, leaf.line);
                    continue;
                }
                for (name, line) in &module.mentions.names {
                    if is_glob || *name == leaf.name {
                        let path = with_last(&leaf.path, name);
                        let path = if is_glob { &path } else { &leaf.path };
                        add(self.follow(index, path, 0), *line);
                    }
                }
            }
            for (path, line) in &module.mentions.paths {
                add(self.follow(index, path, 0), *line);
            }
        }
        graph
    }

    fn is_below(&self, module: usize, above: usize) -> bool {
        let mut next = self.modules[module].parent;
        while let Some(parent) = next {
            if parent == above {
                return true;
            }
            next = self.modules[parent].parent;
        }
        false
    }

    /// Follows a path that stands in a module. Returns `None` if it leads out of the crate.
    fn follow(&self, from: usize, path: &[String], steps: usize) -> Option<Meaning> {
        if steps > MAX_IMPORT_STEPS {
            return None;
        }
        let mut meaning = None;
        for segment in path {
            meaning = match (meaning, segment.as_str()) {
                (None, "crate") => Some(Meaning::Module(0)),
                (None, "self") => Some(Meaning::Module(from)),
                (None, "super") => Some(Meaning::Module(self.modules[from].parent?)),
                (None, name) => Some(self.resolve_name(from, name, steps)?),
                (Some(Meaning::Module(at)), "super") => {
                    Some(Meaning::Module(self.modules[at].parent?))
                }
                (Some(Meaning::Module(_)), "*") => return meaning,
                (Some(Meaning::Module(at)), name) => Some(self.resolve_name(at, name, steps)?),
                // Variants and associated items belong to the item.
                (Some(item @ Meaning::Item(_)), _) => return Some(item),
            };
        }
        meaning
    }

    /// Returns the meaning of a name in a module.
    fn resolve_name(&self, module: usize, name: &str, steps: usize) -> Option<Meaning> {
        let scope = &self.modules[module];
        if let Some(child) = scope.children.get(name) {
            return Some(Meaning::Module(*child));
        }
        if scope.items.contains(name) {
            return Some(Meaning::Item(module));
        }
        let imported = scope.imports.iter().find(|import| import.leaf.name == name);
        if let Some(import) = imported
            // `use a::a` imports from outside, unless there is a child of that name.
            && import.leaf.path.first().is_none_or(|first| first != name)
        {
            return self.follow(module, &import.leaf.path, steps + 1);
        }
        let globs = scope
            .imports
            .iter()
            .filter(|import| import.leaf.name == "*");
        let mut through_globs = globs.filter_map(|import| {
            let Meaning::Module(of) = self.follow(module, &import.leaf.path, steps + 1)? else {
                return None;
            };
            (of != module && steps < MAX_IMPORT_STEPS)
                .then(|| self.resolve_name(of, name, steps + 1))?
        });
        through_globs.next().or_else(|| {
            scope
                .macro_names
                .contains(name)
                .then_some(Meaning::Item(module))
        })
    }
}

/// Returns a path whose last segment is another name.
fn with_last(path: &[String], name: &str) -> Vec<String> {
    let mut path = path.to_vec();
    path.pop();
    path.push(name.to_owned());
    path
}
