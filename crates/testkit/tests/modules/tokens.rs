//! Searches tokens for paths and names: in expressions, types, attributes and macros.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Ident, Spacing, TokenStream, TokenTree};

/// A path with its line. Each segment is an identifier; `*` ends a glob.
pub(crate) type PathAt = (Vec<String>, usize);

/// A path that `use` names, with the name that it gets.
#[derive(Debug, Clone)]
pub(crate) struct Leaf {
    pub(crate) path: Vec<String>,
    pub(crate) name: String,
    pub(crate) line: usize,
}

/// The paths and names that tokens mention.
#[derive(Debug, Default)]
pub(crate) struct Mentions {
    /// Paths of two segments or more.
    pub(crate) paths: Vec<PathAt>,
    /// Single names that look like the use of an item, with the first line of each.
    pub(crate) names: BTreeMap<String, usize>,
}

fn punct(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

/// Returns `true` if a path separator begins at an index.
fn separator(tokens: &[TokenTree], index: usize) -> bool {
    let joint =
        |punct: &proc_macro2::Punct| punct.as_char() == ':' && punct.spacing() == Spacing::Joint;
    matches!(tokens.get(index), Some(TokenTree::Punct(punct)) if joint(punct))
        && punct(tokens.get(index + 1), ':')
}

fn line(ident: &Ident) -> usize {
    ident.span().start().line
}

/// Returns `true` if the attribute at an index is `#[cfg(test)]`.
fn is_test_attribute(tokens: &[TokenTree], index: usize) -> bool {
    match tokens.get(index + 1) {
        Some(TokenTree::Group(group)) if punct(tokens.get(index), '#') => {
            group.stream().to_string().replace(' ', "") == "cfg(test)"
        }
        _ => false,
    }
}

/// Collects all paths and names of some tokens.
pub(crate) fn scan(stream: TokenStream, found: &mut Mentions) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut index = 0;
    while index < tokens.len() {
        match &tokens[index] {
            TokenTree::Punct(_) if is_test_attribute(&tokens, index) => {
                // Skip the item of the attribute, up to the end of its body or its semicolon.
                index += 2;
                while index < tokens.len() && !is_item_end(&tokens[index]) {
                    index += 1;
                }
                index += 1;
            }
            TokenTree::Group(group) => {
                scan(group.stream(), found);
                index += 1;
            }
            TokenTree::Ident(ident) if ident == "use" && !punct(tokens.get(index + 1), '<') => {
                let end = (index..tokens.len()).find(|at| punct(tokens.get(*at), ';'));
                let end = end.unwrap_or(tokens.len());
                let leaves = leaves(&tokens[index + 1..end]);
                let paths = leaves.into_iter().map(|leaf| (leaf.path, leaf.line));
                found.paths.extend(paths);
                index = end;
            }
            TokenTree::Ident(ident) => index = path(&tokens, index, ident, found),
            _ => index += 1,
        }
    }
}

fn is_item_end(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        token => punct(Some(token), ';'),
    }
}

/// Adds the path that begins with an identifier. Returns the index behind the path.
fn path(tokens: &[TokenTree], index: usize, first: &Ident, found: &mut Mentions) -> usize {
    let mut segments = vec![first.to_string()];
    let mut end = index + 1;
    while separator(tokens, end)
        && let Some(TokenTree::Ident(next)) = tokens.get(end + 2)
    {
        segments.push(next.to_string());
        end += 3;
    }
    let before = index.checked_sub(1).and_then(|before| tokens.get(before));
    let follows_path = index >= 2 && separator(tokens, index - 2);
    let is_field = punct(before, '.') && !(index >= 2 && punct(tokens.get(index - 2), '.'));
    if follows_path || is_field || punct(before, '\'') {
        return end;
    }
    if segments.len() > 1 {
        found.paths.push((segments, line(first)));
        return end;
    }
    let name = segments.remove(0);
    let is_called = match tokens.get(end) {
        Some(TokenTree::Group(group)) => group.delimiter() == Delimiter::Parenthesis,
        next => punct(next, '!') || separator(tokens, end),
    };
    let is_defined = matches!(before, Some(TokenTree::Ident(word)) if word == "fn");
    if (is_called || name.starts_with(char::is_uppercase)) && !is_defined {
        found.names.entry(name).or_insert(line(first));
    }
    end
}

/// Returns the paths of a use tree, which has the tokens between `use` and the semicolon.
pub(crate) fn leaves(tokens: &[TokenTree]) -> Vec<Leaf> {
    let mut found = Vec::new();
    branch(&[], tokens, &mut found);
    found
}

fn branch(prefix: &[String], tokens: &[TokenTree], found: &mut Vec<Leaf>) {
    for tree in tokens.split(|token| punct(Some(token), ',')) {
        let mut path = prefix.to_vec();
        let mut name = None;
        let mut at = 0;
        let mut renamed = false;
        for token in tree {
            match token {
                TokenTree::Ident(ident) if ident == "as" => renamed = true,
                TokenTree::Ident(ident) if renamed => name = Some(ident.to_string()),
                TokenTree::Ident(ident) => {
                    at = line(ident);
                    path.push(ident.to_string());
                }
                TokenTree::Punct(mark) if mark.as_char() == '*' => {
                    at = mark.span().start().line;
                    path.push("*".to_owned());
                }
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    branch(&path, &inner, found);
                    path.clear();
                }
                _ => {}
            }
        }
        // `a::{self}` imports `a`.
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(last) = path.last() {
            let name = name.unwrap_or_else(|| last.clone());
            let line = at;
            found.push(Leaf { path, name, line });
        }
    }
}

#[test]
fn use_trees_are_taken_apart() {
    let tokens: TokenStream = "a::{self, b::C as D, e::*}, f".parse().unwrap();
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let read: Vec<_> = leaves(&tokens)
        .into_iter()
        .map(|leaf| format!("{} = {}", leaf.name, leaf.path.join("::")))
        .collect();
    assert_eq!(read, ["a = a", "D = a::b::C", "* = a::e::*", "f = f"]);
}

#[test]
fn paths_are_found_in_macros_and_behind_generics_but_not_in_fields() {
    let code =
        "fn f(x: &'a crate::A) -> B<super::C> { d!(self::e::F, g()); x.h::<I>(); ::j::k(); }";
    let mut found = Mentions::default();
    scan(code.parse().unwrap(), &mut found);
    let paths: Vec<_> = found
        .paths
        .iter()
        .map(|(path, _)| path.join("::"))
        .collect();
    assert_eq!(paths, ["crate::A", "super::C", "self::e::F"]);
    let names: Vec<_> = found.names.keys().map(String::as_str).collect();
    assert_eq!(names, ["B", "I", "d", "g"]);
}
