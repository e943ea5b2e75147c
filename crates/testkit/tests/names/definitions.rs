//! The names that Rust files define.

use std::{path::Path, process::Command};

use syn::{
    Attribute, Ident, ImplItemFn, Item, ItemConst, ItemEnum, ItemFn, ItemMod, ItemStatic,
    ItemStruct, ItemTrait, ItemType, TraitItemFn, Variant, Visibility,
    visit::{self, Visit},
};

/// The kinds of names that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Type,
    Module,
    Function,
    Field,
    Variant,
    Constant,
    /// A long flag or a subcommand of the CLI.
    Flag,
    /// A property, parameter or operation ID of the API.
    Api,
}

/// A name and the place that defines it.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// `true` if other modules can use the item.
    pub(crate) is_public: bool,
    /// `true` if the item belongs to a test.
    pub(crate) is_test: bool,
    /// The file and the line, such as `crates/model/src/lib.rs:7`.
    pub(crate) position: String,
    /// The column of the name in its line, from 0.
    pub(crate) column: usize,
}

/// The files of the repository with this extension, below its root.
pub(crate) fn files(root: &Path, pattern: &str) -> Vec<String> {
    let output = Command::new("git")
        // The files may belong to another user, as in a container.
        .args(["-c", "safe.directory=*", "ls-files", "-z"])
        .args(["--cached", "--others", "--exclude-standard", pattern])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let names = String::from_utf8(output.stdout).unwrap();
    let names = names.split_terminator('\0');
    // A deleted file stays in the index until it is committed.
    let there = names.filter(|name| root.join(name).exists());
    there.map(str::to_owned).collect()
}

/// Returns the names that a Rust file defines.
pub(crate) fn definitions(file: &str, text: &str) -> Vec<Definition> {
    let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
    let mut visitor = Visitor {
        file,
        is_test: file.contains("/tests/") || file.contains("/tests_") || file.contains("benches/"),
        found: Vec::new(),
    };
    visitor.visit_file(&parsed);
    visitor.found
}

struct Visitor<'a> {
    file: &'a str,
    is_test: bool,
    found: Vec<Definition>,
}

impl Visitor<'_> {
    fn add(&mut self, kind: Kind, name: &Ident, is_public: bool) {
        let start = name.span().start();
        self.found.push(Definition {
            kind,
            name: name.to_string().trim_start_matches("r#").to_owned(),
            is_public,
            is_test: self.is_test,
            position: format!("{}:{}", self.file, start.line),
            column: start.column,
        });
    }

    /// Visits something that belongs to tests if its attributes say so.
    fn within(&mut self, attributes: &[Attribute], visit: impl FnOnce(&mut Self)) {
        let before = self.is_test;
        self.is_test |= attributes.iter().any(is_of_tests);
        visit(self);
        self.is_test = before;
    }
}

/// `true` for `#[cfg(test)]`, `#[test]` and `#[tokio::test]`.
fn is_of_tests(attribute: &Attribute) -> bool {
    let path = attribute.path();
    let is_test = path
        .segments
        .last()
        .is_some_and(|last| last.ident == "test");
    let is_condition = path.is_ident("cfg")
        && attribute
            .parse_args::<Ident>()
            .is_ok_and(|condition| condition == "test");
    is_test || is_condition
}

fn is_public(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.within(&item.attrs, |visitor| {
            visitor.add(Kind::Type, &item.ident, is_public(&item.vis));
            visit::visit_item_struct(visitor, item);
        });
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.within(&item.attrs, |visitor| {
            visitor.add(Kind::Type, &item.ident, is_public(&item.vis));
            visit::visit_item_enum(visitor, item);
        });
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.within(&item.attrs, |visitor| {
            visitor.add(Kind::Type, &item.ident, is_public(&item.vis));
            visit::visit_item_trait(visitor, item);
        });
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.add(Kind::Type, &item.ident, is_public(&item.vis));
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.within(&item.attrs, |visitor| {
            visitor.add(Kind::Module, &item.ident, is_public(&item.vis));
            visit::visit_item_mod(visitor, item);
        });
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.within(&item.attrs, |visitor| {
            visitor.add(Kind::Constant, &item.ident, is_public(&item.vis));
        });
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        self.within(&item.attrs, |visitor| {
            visitor.add(Kind::Constant, &item.ident, is_public(&item.vis));
        });
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.within(&item.attrs, |visitor| {
            visitor.add(Kind::Function, &item.sig.ident, is_public(&item.vis));
            visit::visit_item_fn(visitor, item);
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.within(&item.attrs, |visitor| {
            visitor.add(Kind::Function, &item.sig.ident, is_public(&item.vis));
            visit::visit_impl_item_fn(visitor, item);
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.add(Kind::Function, &item.sig.ident, true);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Impl(item) => &item.attrs,
            _ => &[],
        };
        self.within(attributes, |visitor| visit::visit_item(visitor, item));
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            self.add(Kind::Field, name, is_public(&field.vis));
        }
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        self.add(Kind::Variant, &variant.ident, true);
        visit::visit_variant(self, variant);
    }
}
