//! What the library exports: each name has an example, and what is returned has a name.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use syn::visit::{self, Visit};

use crate::sources::is_for_tests;

/// The library, and where the examples of its names are: they are compiled and run as tests.
const LIBRARY: &str = "crates/mcprove/src/lib.rs";
const EXAMPLES: [&str; 5] = [
    LIBRARY,
    "crates/mcprove/src/in_memory.rs",
    "crates/mcprove/src/session_caller.rs",
    "crates/mcprove/examples/scenario.rs",
    "docs/library.md",
];

/// Names at the root of the library that no example uses.
pub fn names_without_example(root: &Path) -> Result<Vec<String>> {
    let read = |path: &str| {
        std::fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))
    };
    let mut words = BTreeSet::new();
    for path in EXAMPLES {
        let text = read(path)?;
        let mut is_code = path.contains("/examples/");
        for line in text.lines() {
            let line = line.trim_start_matches(['/', '!']).trim();
            if line.starts_with("```") {
                is_code = !is_code;
            } else if is_code {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                words.extend(line.split(|c| !is_part(c)).map(str::to_owned));
            }
        }
    }
    let tree = syn::parse_file(&read(LIBRARY)?)?;
    let mut names = Vec::new();
    for item in &tree.items {
        match item {
            syn::Item::Use(item) if matches!(item.vis, syn::Visibility::Public(_)) => {
                leaves(&item.tree, &mut names);
            }
            syn::Item::Fn(item) => names.push(item.sig.ident.to_string()),
            _ => {}
        }
    }
    let is_known = |name: &String| words.contains(name);
    let missing = names.into_iter().filter(|name| !is_known(name));
    Ok(missing
        .map(|name| format!("{LIBRARY}: no example uses `{name}`"))
        .collect())
}

/// What the library exports, and what its functions return; types are known by their names alone.
#[derive(Default)]
pub struct Library {
    /// Where each name is declared: a folder, or the beginning of a file.
    exported: BTreeMap<String, String>,
    /// Folders with a registry whose types are exported: `pub use …::types::*`.
    globs: Vec<String>,
    /// Public types of our crates.
    types: BTreeSet<String>,
    /// What stands for another type.
    aliases: BTreeMap<String, BTreeSet<String>>,
    /// The file of each function, the shortest of several, and what the function returns.
    returned: BTreeMap<String, (String, BTreeSet<String>)>,
    /// Where what is visited stands.
    pub file: String,
}

impl Library {
    pub fn read(root: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(root.join(LIBRARY))
            .with_context(|| format!("cannot read {LIBRARY}"))?;
        let mut library = Self::default();
        library.export(&syn::parse_file(&text)?.items);
        for place in std::mem::take(&mut library.globs) {
            let path = format!("{place}/mod.rs");
            let text = std::fs::read_to_string(root.join(&path))
                .with_context(|| format!("cannot read {path}"))?;
            library.export_entries(&syn::parse_file(&text)?.items, &place);
        }
        Ok(library)
    }

    fn export(&mut self, items: &[syn::Item]) {
        for item in items {
            match item {
                syn::Item::Use(item) if !is_hidden(&item.attrs) => {
                    self.export_tree(&item.tree, "");
                }
                syn::Item::Fn(item) => {
                    let name = item.sig.ident.to_string();
                    self.exported.insert(name, LIBRARY.to_owned());
                }
                syn::Item::Mod(item) => {
                    self.export(item.content.as_ref().map_or(&[], |(_, items)| items));
                }
                _ => {}
            }
        }
    }

    /// Under the names that they have where they are declared.
    fn export_tree(&mut self, tree: &syn::UseTree, place: &str) {
        let name = match tree {
            syn::UseTree::Path(path) => {
                let part = path.ident.to_string();
                let place = match part.strip_prefix("mcprove_") {
                    Some(name) => format!("crates/{name}/src"),
                    None => format!("{place}/{part}"),
                };
                return self.export_tree(&path.tree, &place);
            }
            syn::UseTree::Group(group) => {
                return group
                    .items
                    .iter()
                    .for_each(|it| self.export_tree(it, place));
            }
            syn::UseTree::Name(name) => &name.ident,
            syn::UseTree::Rename(name) => &name.ident,
            syn::UseTree::Glob(_) => {
                self.globs.push(place.trim_end_matches("/types").to_owned());
                return;
            }
        };
        self.exported.insert(name.to_string(), place.to_owned());
    }

    /// The types of a registry: every `module::Type` in a macro of the file.
    fn export_entries(&mut self, items: &[syn::Item], place: &str) {
        for item in items {
            let syn::Item::Macro(item) = item else {
                continue;
            };
            if item.ident.is_some() {
                continue;
            }
            for token in item.mac.tokens.clone() {
                if let proc_macro2::TokenTree::Group(group) = token
                    && let Ok(path) = syn::parse2::<syn::Path>(group.stream())
                    && let Some(last) = path.segments.last().filter(|_| path.segments.len() > 1)
                {
                    self.exported
                        .insert(last.ident.to_string(), place.to_owned());
                }
            }
        }
    }

    fn is_exported(&self, name: &str) -> bool {
        let place = self.exported.get(name);
        place.is_some_and(|place| self.file.starts_with(place.as_str()))
    }

    fn add_return(&mut self, function: String, words: Words) {
        let known = self.returned.get(&function);
        if known.is_none_or(|(file, _)| file.len() > self.file.len()) {
            let returned = (self.file.clone(), words.names);
            self.returned.insert(function, returned);
        }
    }

    pub fn unnamed(&self) -> Vec<String> {
        let mut lines = BTreeSet::new();
        for (function, (file, names)) in &self.returned {
            for name in names {
                let behind = self.aliases.get(name);
                if behind.is_some() && self.exported.contains_key(name) {
                    continue;
                }
                let names = behind.map_or_else(|| vec![name], |it| it.iter().collect());
                let unnamed = names.into_iter().filter(|name| {
                    self.types.contains(*name) && !self.exported.contains_key(*name)
                });
                lines.extend(unnamed.map(|name| format!("{file}: {function}: {name}")));
            }
        }
        lines.into_iter().collect()
    }
}

impl<'ast> Visit<'ast> for Library {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let is_public = |it: &syn::Visibility| matches!(it, syn::Visibility::Public(_));
        match item {
            syn::Item::Struct(it) if is_public(&it.vis) => {
                self.types.insert(it.ident.to_string());
            }
            syn::Item::Enum(it) if is_public(&it.vis) => {
                self.types.insert(it.ident.to_string());
            }
            syn::Item::Type(it) => {
                let mut words = Words::default();
                words.visit_type(&it.ty);
                self.aliases.insert(it.ident.to_string(), words.names);
            }
            syn::Item::Fn(it) if is_public(&it.vis) => {
                let name = it.sig.ident.to_string();
                if self.is_exported(&name) {
                    let mut words = Words::default();
                    words.visit_return_type(&it.sig.output);
                    self.add_return(name, words);
                }
            }
            syn::Item::Impl(it) if it.trait_.is_none() => {
                let mut owner = Words::default();
                owner.visit_type(&it.self_ty);
                let owner = owner.names.into_iter().next().unwrap_or_default();
                let items = it.items.iter().filter(|_| self.is_exported(&owner));
                for item in items.collect::<Vec<_>>() {
                    if let syn::ImplItem::Fn(it) = item
                        && is_public(&it.vis)
                    {
                        let mut words = Words {
                            are_errors: true,
                            ..Words::default()
                        };
                        words.visit_return_type(&it.sig.output);
                        self.add_return(format!("{owner}::{}", it.sig.ident), words);
                    }
                }
            }
            syn::Item::Mod(it) if !is_for_tests(&it.attrs) => visit::visit_item_mod(self, it),
            _ => {}
        }
    }
}

/// Whether the documentation leaves it out.
fn is_hidden(attributes: &[syn::Attribute]) -> bool {
    let mut lists = attributes
        .iter()
        .filter_map(|it| it.meta.require_list().ok());
    lists.any(|list| list.path.is_ident("doc") && list.tokens.to_string() == "hidden")
}

/// The names in a type, without the paths before them.
#[derive(Default)]
struct Words {
    names: BTreeSet<String>,
    /// Whether only the errors of results are wanted.
    are_errors: bool,
}

impl<'ast> Visit<'ast> for Words {
    fn visit_path_segment(&mut self, part: &'ast syn::PathSegment) {
        if self.are_errors
            && let syn::PathArguments::AngleBracketed(given) = &part.arguments
            && part.ident == "Result"
        {
            let mut error = Self::default();
            given
                .args
                .iter()
                .skip(1)
                .for_each(|it| error.visit_generic_argument(it));
            self.names.extend(error.names);
        } else if !self.are_errors {
            self.names.insert(part.ident.to_string());
            visit::visit_path_segment(self, part);
        }
    }
}

fn leaves(tree: &syn::UseTree, names: &mut Vec<String>) {
    match tree {
        syn::UseTree::Path(path) => leaves(&path.tree, names),
        syn::UseTree::Name(name) => names.push(name.ident.to_string()),
        syn::UseTree::Rename(name) => names.push(name.rename.to_string()),
        syn::UseTree::Group(group) => group.items.iter().for_each(|tree| leaves(tree, names)),
        syn::UseTree::Glob(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_are_returned_without_a_name_are_found() {
        let mut library = Library::default();
        let exports = "pub use mcprove_a::{x::find, x::Known, y::types::*};";
        library.export(&syn::parse_file(exports).unwrap().items);
        assert_eq!(library.globs, ["crates/a/src/y"]);
        let registry =
            "macro_rules! entries { (own::Hidden) => {} } entries! { Own(own::Owner) = 1; }";
        library.export_entries(&syn::parse_file(registry).unwrap().items, "crates/a/src/y");
        let text = "
            pub struct Known; pub struct Hidden; pub enum Wrong {} pub type Found<T> = Result<T, Wrong>;
            pub fn find() -> Found<Vec<Known>> {}
            pub fn other() -> Hidden {}
            impl Owner { pub fn make(&self) -> Result<Known, Hidden> {} fn own(&self) -> Hidden {} }
        ";
        for file in ["crates/a/src/x/mod.rs", "crates/a/src/y.rs"] {
            file.clone_into(&mut library.file);
            library.visit_file(&syn::parse_file(text).unwrap());
        }
        let expected = [
            "crates/a/src/x/mod.rs: find: Wrong",
            "crates/a/src/y.rs: Owner::make: Hidden",
        ];
        assert_eq!(library.unnamed(), expected);
    }
}
