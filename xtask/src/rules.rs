//! `cargo xtask docs` also counts, on the syntax tree, how often a thing that should be said once is said elsewhere.
//! A count may only fall: whoever lowers one lowers its limit here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::visit::{self, Visit};

/// The folder of the program, the only one that may name its flags.
const PROGRAM: &str = "crates/mcprove/src/cli/";

/// Settings that few files should name, with the limit of files.
const SETTINGS: [(&str, usize); 4] = [
    ("slow_share", 2),
    ("hang_threshold", 2),
    ("spike_multiplier", 1),
    ("trace_value_bytes", 3),
];

/// Enums whose variants few files should name, with the limit of files.
const VARIANTS: [(&str, usize); 2] = [("ScenarioKind", 4), ("FaultKind", 2)];

/// Texts that only look like a flag for users: what a suite starts our proxy with.
const OTHER_FLAGS: [(&str, &str); 1] = [("crates/suite/src/agent/command/proxies.rs", "--setup")];

/// Folders that draw sentences.
const RENDERERS: [&str; 2] = ["crates/document/", PROGRAM];

/// Files that may look for a backtick: those that write names or sentences as text or documentation, those that take
/// templates apart when we compile, and those that read what servers, agents and parsers wrote.
const BACKTICKS: [&str; 11] = [
    "crates/settings/src/message.rs",
    "crates/settings/src/phrase.rs",
    "crates/load/src/drive/scenario/mod.rs",
    "crates/settings-derive/src/sentence.rs",
    "crates/import/src/document.rs",
    "crates/import/src/words.rs",
    "crates/client/src/permission/prose.rs",
    "crates/client/src/permission/schema.rs",
    "crates/score/src/english/quotation.rs",
    "crates/score/src/english/sentence.rs",
    "crates/score/src/english/token.rs",
];

/// How a text is searched or taken apart.
const SEARCHES: [&str; 14] = [
    "starts_with",
    "ends_with",
    "contains",
    "find",
    "rfind",
    "split",
    "split_once",
    "rsplit_once",
    "splitn",
    "strip_prefix",
    "strip_suffix",
    "replace",
    "trim_start_matches",
    "trim_end_matches",
];

/// What may read the text of a message: the renderers, the formats of reports, and where errors are told.
const READERS: [&str; 6] = [
    "crates/document/",
    PROGRAM,
    "crates/settings/src/",
    "crates/suite/src/junit/",
    "crates/suite/src/report/github.rs",
    "crates/suite/src/report/tap.rs",
];

/// Other files that read it, each to put it into what is a plain text: a format, an answer, an error.
const PLAIN_TEXTS_MAX: usize = 16;

/// Texts outside of the program that name one of its flags.
const FLAG_TEXTS_MAX: usize = 0;

/// Texts outside of the program that name one of its commands in backticks: users of the library have none.
const COMMAND_TEXTS_MAX: usize = 0;
/// Writes the first suite for the program, whose user then runs it.
const OTHER_COMMANDS: &str = "crates/suite/src/init/write.rs";

/// What is wrong, one line each.
pub fn check(root: &Path) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let mut problems = Vec::new();
    let mut library = Library::read(root)?;
    for source in sources(root)? {
        let folder = source.with_extension("");
        if root.join(&folder).is_dir() {
            let (file, folder) = (source.display(), folder.display());
            problems.push(format!("{file} has parts: move it to {folder}/mod.rs"));
        }
        let text = std::fs::read_to_string(root.join(&source))
            .with_context(|| format!("cannot read {}", source.display()))?;
        let name = source.to_string_lossy().into_owned();
        let tree = syn::parse_file(&text).with_context(|| name.clone())?;
        let mut names = Names::default();
        names.visit_file(&tree);
        library.file.clone_from(&name);
        library.visit_file(&tree);
        files.push((name, names));
    }
    let flags: BTreeSet<&str> = files
        .iter()
        .flat_map(|(_, names)| names.flags.iter().map(String::as_str))
        .collect();
    let mut hold = |what: &str, limit: usize, found: &[String]| {
        if found.len() > limit {
            let all = found.join("\n  ");
            problems.push(format!("{what}: {}, at most {limit}\n  {all}", found.len()));
        } else if found.len() < limit {
            let now = found.len();
            problems.push(format!(
                "{what}: now {now}, so lower its limit in xtask/src/rules.rs"
            ));
        }
    };
    let files_with = |is_meant: &dyn Fn(&str, &Names) -> bool| -> Vec<String> {
        let meant = files.iter().filter(|(name, names)| is_meant(name, names));
        meant.map(|(name, _)| name.clone()).collect()
    };
    let texts_outside = |is_meant: &dyn Fn(&str, &str) -> bool| -> Vec<String> {
        let outside = files.iter().filter(|(name, _)| !name.starts_with(PROGRAM));
        let texts = outside.flat_map(|(name, names)| names.texts.iter().map(move |it| (name, it)));
        let meant = texts.filter(|(name, text)| is_meant(name, text));
        meant
            .map(|(name, text)| format!("{name}: {text:?}"))
            .collect()
    };
    for (setting, limit) in SETTINGS {
        let naming = files_with(&|_, names| names.words.contains(setting));
        hold(&format!("files that name `{setting}`"), limit, &naming);
    }
    for (kind, limit) in VARIANTS {
        let naming = files_with(&|_, names| names.kinds.contains(kind));
        hold(&format!("files with `{kind}::`"), limit, &naming);
    }
    hold(
        "texts outside of the program with a flag",
        FLAG_TEXTS_MAX,
        &texts_outside(&|name, text| {
            names_a_flag(text, &flags) && !OTHER_FLAGS.contains(&(name, text))
        }),
    );
    hold(
        "texts outside of the program with a command; use `command` of crates/settings/src/message.rs",
        COMMAND_TEXTS_MAX,
        &texts_outside(&|name, text| name != OTHER_COMMANDS && names_a_command(text)),
    );
    let looking = files_with(&|name, names| {
        names.has_backtick
            && !BACKTICKS.contains(&name)
            && !RENDERERS.iter().any(|folder| name.starts_with(folder))
    });
    hold("files that look for a backtick", 0, &looking);
    let searching = files_with(&|_, names| names.searches_sentence);
    hold("files that search a sentence of ours", 0, &searching);
    let reading = files_with(&|name, names| {
        names.words.contains("rendered") && !READERS.iter().any(|folder| name.starts_with(folder))
    });
    hold("files that read a sentence", PLAIN_TEXTS_MAX, &reading);
    hold(
        "types that the library returns and has no name for",
        UNNAMED_MAX,
        &library.unnamed(),
    );
    problems.extend(names_without_example(root)?);
    Ok(problems)
}

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
fn names_without_example(root: &Path) -> Result<Vec<String>> {
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

/// Types that a function of the library returns, or an error of a method of its types, and that have no name in it.
const UNNAMED_MAX: usize = 0;

/// What the library exports, and what its functions return; types are known by their names alone.
#[derive(Default)]
struct Library {
    /// Where each name is declared: a folder, or the beginning of a file.
    exported: BTreeMap<String, String>,
    /// Public types of our crates.
    types: BTreeSet<String>,
    /// What stands for another type.
    aliases: BTreeMap<String, BTreeSet<String>>,
    /// The file of each function, the shortest of several, and what the function returns.
    returned: BTreeMap<String, (String, BTreeSet<String>)>,
    file: String,
}

impl Library {
    fn read(root: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(root.join(LIBRARY))
            .with_context(|| format!("cannot read {LIBRARY}"))?;
        let mut library = Self::default();
        library.export(&syn::parse_file(&text)?.items);
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
            syn::UseTree::Glob(_) => return,
        };
        self.exported.insert(name.to_string(), place.to_owned());
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

    fn unnamed(&self) -> Vec<String> {
        let mut lines = BTreeSet::new();
        for (function, (file, names)) in &self.returned {
            for name in names {
                let behind = self.aliases.get(name);
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

/// The sources of the product, without tests.
fn sources(root: &Path) -> Result<Vec<PathBuf>> {
    let mut open = vec![PathBuf::from("crates")];
    let mut found = Vec::new();
    while let Some(folder) = open.pop() {
        let entries = std::fs::read_dir(root.join(&folder))
            .with_context(|| format!("cannot read {}", folder.display()))?;
        for entry in entries {
            let path = folder.join(entry?.file_name());
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let is_test = matches!(
                name.trim_end_matches(".rs"),
                "tests" | "test" | "benches" | "examples" | "snapshots"
            );
            if is_test {
                continue;
            }
            if root.join(&path).is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn names_a_flag(text: &str, flags: &BTreeSet<&str>) -> bool {
    text.match_indices("--").any(|(at, _)| {
        let rest = text.get(at + 2..).unwrap_or_default();
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        let flag = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        flags.contains(flag.trim_end_matches('-'))
    })
}

/// Whether a command of the program stands in backticks: `mcprove probe`.
fn names_a_command(text: &str) -> bool {
    let mut after = text.split("`mcprove ").skip(1);
    after.any(|rest| rest.starts_with(|letter: char| letter.is_ascii_lowercase()))
}

/// What one file says.
#[derive(Default)]
struct Names {
    /// Identifiers, and words in texts.
    words: BTreeSet<String>,
    /// First parts of paths with more than one.
    kinds: BTreeSet<String>,
    texts: Vec<String>,
    /// Whether it looks for a backtick: names in sentences are parts, which nobody needs to find.
    has_backtick: bool,
    /// Whether it searches the text of a message or takes it apart.
    searches_sentence: bool,
    /// Variables that hold such a text.
    sentences: BTreeSet<String>,
    /// Flags that it declares.
    flags: BTreeSet<String>,
}

impl Names {
    fn add_text(&mut self, text: &str) {
        let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        self.words.extend(words.map(str::to_owned));
        self.texts.push(text.to_owned());
        self.has_backtick |= !text.is_empty() && text.chars().all(|letter| letter == '`');
    }

    fn add_literal(&mut self, literal: &syn::Lit) {
        match literal {
            syn::Lit::Str(text) => self.add_text(&text.value()),
            syn::Lit::Char(letter) => self.has_backtick |= letter.value() == '`',
            _ => {}
        }
    }

    fn add_tokens(&mut self, tokens: proc_macro2::TokenStream) {
        let mut before = None;
        for token in tokens {
            match token {
                proc_macro2::TokenTree::Group(group) => self.add_tokens(group.stream()),
                proc_macro2::TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    self.words.insert(name.clone());
                    before = Some(name);
                    continue;
                }
                proc_macro2::TokenTree::Punct(punct) => {
                    if punct.as_char() == ':' && punct.spacing() == proc_macro2::Spacing::Joint {
                        self.kinds.extend(before.take());
                    }
                }
                proc_macro2::TokenTree::Literal(literal) => {
                    self.add_literal(&syn::Lit::new(literal));
                }
            }
            before = None;
        }
    }
}

/// Whether an expression is the text of a message: `.rendered()` or `.spelled(…)`.
fn is_sentence(expression: &syn::Expr) -> bool {
    matches!(expression, syn::Expr::MethodCall(call)
        if call.method == "rendered" || call.method == "spelled")
}

fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .meta
                .require_list()
                .is_ok_and(|list| list.tokens.to_string().starts_with("test"))
    })
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(it) => &it.attrs,
            syn::Item::Fn(it) => &it.attrs,
            syn::Item::Impl(it) => &it.attrs,
            syn::Item::Use(it) => &it.attrs,
            syn::Item::Const(it) => &it.attrs,
            syn::Item::Struct(it) => &it.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_for_tests(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        for attribute in field
            .attrs
            .iter()
            .filter(|it| it.path().is_ident("setting"))
        {
            let list = attribute.meta.require_list();
            let text = list.map_or_else(|_| String::new(), |list| list.tokens.to_string());
            let given = |key: &str| {
                let (_, rest) = text.split_once(&format!("{key} = \""))?;
                rest.split('"').next().map(str::to_owned)
            };
            let ident = field.ident.as_ref().map(ToString::to_string);
            if let Some(name) = given("flag").or_else(|| given("name")).or(ident) {
                self.flags.insert(name.replace('_', "-"));
            }
        }
        for attribute in field.attrs.iter().filter(|it| it.path().is_ident("arg")) {
            let Ok(list) = attribute.meta.require_list() else {
                continue;
            };
            let text = list.tokens.to_string();
            let Some(at) = text.find("long") else {
                continue;
            };
            let given = text.get(at..).unwrap_or_default().strip_prefix("long = \"");
            let flag = match (given, &field.ident) {
                (Some(given), _) => given.split('"').next().unwrap_or_default().to_owned(),
                (None, Some(ident)) => ident.to_string().replace('_', "-"),
                (None, None) => continue,
            };
            self.flags.insert(flag);
        }
        visit::visit_field(self, field);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        // Documentation is no text of the product, unless it becomes help.
        if !attribute.path().is_ident("doc") {
            visit::visit_attribute(self, attribute);
        }
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.add_tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.sentences.clear();
        visit::visit_item_fn(self, item);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if let (syn::Pat::Ident(name), Some(init)) = (&local.pat, &local.init)
            && is_sentence(&init.expr)
        {
            self.sentences.insert(name.ident.to_string());
        }
        visit::visit_local(self, local);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let is_variable = matches!(&*call.receiver, syn::Expr::Path(path)
            if path.path.get_ident().is_some_and(|name| self.sentences.contains(&name.to_string())));
        self.searches_sentence |= SEARCHES.iter().any(|search| call.method == search)
            && (is_variable || is_sentence(&call.receiver));
        visit::visit_expr_method_call(self, call);
    }

    fn visit_ident(&mut self, ident: &'ast proc_macro2::Ident) {
        self.words.insert(ident.to_string());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts = path.segments.iter().rev().skip(1);
        self.kinds.extend(parts.map(|part| part.ident.to_string()));
        visit::visit_path(self, path);
    }

    fn visit_lit(&mut self, literal: &'ast syn::Lit) {
        self.add_literal(literal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_wherever_they_stand() {
        let mut names = Names::default();
        let text = r#"
            /// Not this: slow_share
            struct A { #[arg(long, value_name = "X")] tool_calls: u8, #[arg(long = "out")] to: u8 }
            struct B { #[setting(default = 1, flag = "p50")] p50_latency: u8, #[setting] rate_limit: u8 }
            fn a() { format!("try --out {}", Kind::One); let x = Other::Two("slow_share"); }
            #[cfg(test)] mod tests { fn b() { "hidden"; } }
        "#;
        names.visit_file(&syn::parse_file(text).unwrap());
        let flags: Vec<&str> = names.flags.iter().map(String::as_str).collect();
        assert_eq!(flags, ["out", "p50", "rate-limit", "tool-calls"]);
        assert!(names.kinds.contains("Kind") && names.kinds.contains("Other"));
        assert!(names.words.contains("slow_share") && !names.words.contains("hidden"));
        for (text, has_backtick) in [
            (r"fn a() { b.split('`'); }", true),
            (r#"fn a() { c!(b.find("``")); }"#, true),
            (r#"fn a() { c!("`name` and more"); }"#, false),
        ] {
            let mut names = Names::default();
            names.visit_file(&syn::parse_file(text).unwrap());
            assert_eq!(names.has_backtick, has_backtick, "{text}");
        }
        for (text, is_search) in [
            (r#"fn a() { b.message.rendered().starts_with("x"); }"#, true),
            (r#"fn a() { let t = b.rendered(); t.split("; "); }"#, true),
            (r#"fn a() { let t = b.name(); t.split("; "); }"#, false),
            ("fn a() { b.rendered().len(); }", false),
        ] {
            let mut names = Names::default();
            names.visit_file(&syn::parse_file(text).unwrap());
            assert_eq!(names.searches_sentence, is_search, "{text}");
        }
        let flags = BTreeSet::from(["out", "tool-calls"]);
        assert!(names_a_flag("try --out", &flags) && names_a_flag("`--tool-calls=5`", &flags));
        assert!(!names_a_flag("--outer and -- out", &flags));
        assert!(names_a_command("see `mcprove list-scenarios`"));
        assert!(!names_a_command("the program `mcprove` and mcprove itself"));
    }

    #[test]
    fn types_that_are_returned_without_a_name_are_found() {
        let mut library = Library::default();
        let exports = "pub use mcprove_a::{x::find, x::Known, y::Owner};";
        library.export(&syn::parse_file(exports).unwrap().items);
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
