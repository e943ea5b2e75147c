//! The source of a crate: its modules, with the items that each defines, imports and mentions.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::TokenTree;
use quote::ToTokens;
use syn::{Attribute, Item, Visibility};

use crate::tokens::{Leaf, Mentions, leaves, scan};

/// A crate.
#[derive(Debug, Default)]
pub(crate) struct Source {
    /// The modules, parents before their children. The first one is the crate's root.
    pub(crate) modules: Vec<Module>,
}

/// A module, in a file of its own or inline.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// The name in the graph, such as `a::b`. An inline module has the name of its file's module.
    pub(crate) name: String,
    /// The path of the file in reports.
    pub(crate) file: String,
    pub(crate) parent: Option<usize>,
    pub(crate) children: BTreeMap<String, usize>,
    /// The names of the items that the module defines.
    pub(crate) items: BTreeSet<String>,
    /// Names within macros that it invokes: the macros may generate items of these names.
    pub(crate) macro_names: BTreeSet<String>,
    pub(crate) imports: Vec<Import>,
    pub(crate) mentions: Mentions,
}

/// A name that `use` brings in; `*` for a glob.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) leaf: Leaf,
    /// `true` if other modules can use the name by way of this one.
    pub(crate) is_re_export: bool,
}

/// The location of a module's text.
struct SourceLocation {
    file: PathBuf,
    /// The folder with the files of its children.
    folder: PathBuf,
}

impl Source {
    /// Reads a crate from the file that it begins with.
    pub(crate) fn read(root: &Path) -> Self {
        let mut source = Self::default();
        let folder = root.parent().unwrap().to_owned();
        let location = SourceLocation {
            file: root.to_owned(),
            folder,
        };
        source.file(&location, "crate", None);
        source
    }

    /// Reads a module that has a file of its own. Returns its index.
    fn file(&mut self, location: &SourceLocation, name: &str, parent: Option<usize>) -> usize {
        let text = fs::read_to_string(&location.file).unwrap();
        let parsed = syn::parse_file(&text);
        let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", location.file.display()));
        let index = self.module(name, display_path(&location.file), parent);
        self.items(index, location, parsed.items);
        index
    }

    fn module(&mut self, name: &str, file: String, parent: Option<usize>) -> usize {
        self.modules.push(Module {
            name: name.to_owned(),
            file,
            parent,
            ..Module::default()
        });
        self.modules.len() - 1
    }

    fn items(&mut self, index: usize, location: &SourceLocation, items: Vec<Item>) {
        for item in items {
            if is_test_only(attributes(&item)) {
                continue;
            }
            match item {
                Item::Mod(item) => self.child(index, location, item),
                Item::Use(item) => {
                    let is_re_export = !matches!(item.vis, Visibility::Inherited);
                    let tokens: Vec<TokenTree> = item.tree.to_token_stream().into_iter().collect();
                    let imports = leaves(&tokens)
                        .into_iter()
                        .map(|leaf| Import { leaf, is_re_export });
                    self.modules[index].imports.extend(imports);
                }
                item => {
                    let module = &mut self.modules[index];
                    module.items.extend(defined_name(&item));
                    if let Item::Macro(invoked) = &item
                        && invoked.ident.is_none()
                    {
                        let words = identifiers(invoked.mac.tokens.clone());
                        module.macro_names.extend(words);
                    }
                    scan(item.to_token_stream(), &mut module.mentions);
                }
            }
        }
    }

    fn child(&mut self, index: usize, location: &SourceLocation, item: syn::ItemMod) {
        let name = item.ident.to_string();
        let child = if let Some((_, items)) = item.content {
            let (own, file) = (
                self.modules[index].name.clone(),
                self.modules[index].file.clone(),
            );
            let child = self.module(&own, file, Some(index));
            let location = SourceLocation {
                file: location.file.clone(),
                folder: location.folder.join(&name),
            };
            self.items(child, &location, items);
            child
        } else {
            let flat = location.folder.join(format!("{name}.rs"));
            let file = if flat.exists() {
                flat
            } else {
                location.folder.join(&name).join("mod.rs")
            };
            let folder = location.folder.join(&name);
            let full = match self.modules[index].name.as_str() {
                "crate" => name.clone(),
                above => format!("{above}::{name}"),
            };
            self.file(&SourceLocation { file, folder }, &full, Some(index))
        };
        self.modules[index].children.insert(name, child);
    }
}

/// Returns the path of a file for reports: relative to the workspace if the file is in it.
fn display_path(file: &Path) -> String {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let shown = file.strip_prefix(workspace.unwrap()).unwrap_or(file);
    shown.display().to_string()
}

fn is_test_only(attributes: &[Attribute]) -> bool {
    let of_tests = |attribute: &Attribute| {
        let tokens = attribute.meta.to_token_stream().to_string();
        tokens.replace(' ', "") == "cfg(test)"
    };
    attributes.iter().any(of_tests)
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns the name that an item defines. Returns `None` if it defines no name.
fn defined_name(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// Returns all identifiers in some tokens.
fn identifiers(tokens: proc_macro2::TokenStream) -> Vec<String> {
    let words = tokens.into_iter().flat_map(|token| match token {
        TokenTree::Ident(ident) => vec![ident.to_string()],
        TokenTree::Group(group) => identifiers(group.stream()),
        _ => Vec::new(),
    });
    words.collect()
}
