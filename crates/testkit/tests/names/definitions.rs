//! The names that Rust files define.

use std::{path::Path, process::Command};

use syn::{
    Attribute, Ident, ImplItemFn, ItemConst, ItemEnum, ItemFn, ItemMod, ItemStatic, ItemStruct,
    ItemTrait, ItemType, TraitItemFn, Variant, Visibility,
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
    /// A flag or a command of the CLI. `clap` derives it from a field or a variant.
    Flag,
    /// A property, a parameter or an operation ID of the API.
    Api,
}

/// A name and the place that defines it.
#[derive(Debug, Clone)]
pub(crate) struct Definition {
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// `true` if other modules can use the item.
    pub(crate) is_public: bool,
    /// The file and the line, such as `crates/model/src/lib.rs:7`.
    pub(crate) position: String,
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
        found: Vec::new(),
    };
    visitor.visit_file(&parsed);
    visitor.found
}

struct Visitor<'a> {
    file: &'a str,
    found: Vec<Definition>,
}

impl Visitor<'_> {
    fn add(&mut self, kind: Kind, name: &Ident, is_public: bool) {
        self.found.push(Definition {
            kind,
            name: name.to_string().trim_start_matches("r#").to_owned(),
            is_public,
            position: format!("{}:{}", self.file, name.span().start().line),
        });
    }
}

/// Returns [`Kind::Flag`] if an attribute makes a flag or a command of the item, otherwise `other`.
fn kind(attributes: &[Attribute], of_clap: &str, other: Kind) -> Kind {
    let is_flag = |attribute: &Attribute| attribute.path().is_ident(of_clap);
    if attributes.iter().any(is_flag) {
        return Kind::Flag;
    }
    other
}

fn is_public(visibility: &Visibility) -> bool {
    !matches!(visibility, Visibility::Inherited)
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.add(Kind::Type, &item.ident, is_public(&item.vis));
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        self.add(Kind::Type, &item.ident, is_public(&item.vis));
        visit::visit_item_enum(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast ItemTrait) {
        self.add(Kind::Type, &item.ident, is_public(&item.vis));
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast ItemType) {
        self.add(Kind::Type, &item.ident, is_public(&item.vis));
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.add(Kind::Module, &item.ident, is_public(&item.vis));
        visit::visit_item_mod(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        self.add(Kind::Constant, &item.ident, is_public(&item.vis));
    }

    fn visit_item_static(&mut self, item: &'ast ItemStatic) {
        self.add(Kind::Constant, &item.ident, is_public(&item.vis));
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.add(Kind::Function, &item.sig.ident, is_public(&item.vis));
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.add(Kind::Function, &item.sig.ident, is_public(&item.vis));
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        self.add(Kind::Function, &item.sig.ident, true);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            let kind = kind(&field.attrs, "arg", Kind::Field);
            self.add(kind, name, is_public(&field.vis));
        }
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'ast Variant) {
        let kind = kind(&variant.attrs, "command", Kind::Variant);
        self.add(kind, &variant.ident, true);
        visit::visit_variant(self, variant);
    }
}
