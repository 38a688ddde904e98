//! What a file names: settings, variants of enums, texts, flags.

use std::collections::BTreeSet;

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};

use super::is_left_out;

/// What one file says.
#[derive(Default)]
pub struct Names {
    /// Identifiers, and words in texts.
    pub words: BTreeSet<String>,
    /// First parts of paths with more than one, and what is imported from or under another name.
    pub kinds: BTreeSet<String>,
    pub texts: Vec<String>,
    /// Whether it looks for a backtick: names in sentences are parts, which nobody needs to find.
    pub has_backtick: bool,
    /// Flags that it declares.
    pub flags: BTreeSet<String>,
}

impl Names {
    pub fn of(file: &syn::File) -> Self {
        let mut names = Self::default();
        names.visit_file(file);
        names
    }

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

    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut before = None;
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.add_tokens(group.stream()),
                TokenTree::Ident(ident) => {
                    let name = ident.to_string();
                    self.words.insert(name.clone());
                    before = Some(name);
                    continue;
                }
                TokenTree::Punct(punct) => {
                    if punct.as_char() == ':' && punct.spacing() == Spacing::Joint {
                        self.kinds.extend(before.take());
                    }
                }
                TokenTree::Literal(literal) => self.add_literal(&syn::Lit::new(literal)),
            }
            before = None;
        }
    }

    /// The flags of a field that is an argument of a command.
    fn add_argument(&mut self, field: &syn::Field, attribute: &syn::Attribute) {
        let own = || field.ident.as_ref().map(ToString::to_string);
        for expression in arguments(attribute) {
            match &expression {
                syn::Expr::Path(it) if it.path.is_ident("long") => self.add_flag(own()),
                syn::Expr::Assign(it) if is_flag_name(&name_of(&it.left)) => {
                    self.add_flags(&it.right);
                }
                syn::Expr::Call(it) if is_flag_name(&name_of(&it.func)) => {
                    it.args.iter().for_each(|it| self.add_flags(it));
                }
                _ => {}
            }
        }
    }

    /// The flag of a field that is a setting, and its other names.
    fn add_setting(&mut self, field: &syn::Field, attribute: &syn::Attribute) {
        let mut flag = field.ident.as_ref().map(ToString::to_string);
        for expression in arguments(attribute) {
            if let syn::Expr::Assign(it) = &expression {
                match name_of(&it.left).as_str() {
                    "flag" | "name" => flag = text_of(&it.right).or(flag),
                    "alias" => self.add_flags(&it.right),
                    _ => {}
                }
            }
        }
        self.add_flag(flag);
    }

    fn add_flag(&mut self, name: Option<String>) {
        self.flags.extend(name.map(|name| name.replace('_', "-")));
    }

    /// One name, or several.
    fn add_flags(&mut self, value: &syn::Expr) {
        match value {
            syn::Expr::Array(it) => it.elems.iter().for_each(|it| self.add_flags(it)),
            syn::Expr::Reference(it) => self.add_flags(&it.expr),
            value => self.add_flag(text_of(value)),
        }
    }
}

/// Whether what is given under this name, in an attribute or to a method of an argument, is the name of a flag.
fn is_flag_name(name: &str) -> bool {
    let names = [
        "long",
        "alias",
        "aliases",
        "visible_alias",
        "visible_aliases",
    ];
    names.contains(&name)
}

fn arguments(attribute: &syn::Attribute) -> Vec<syn::Expr> {
    let parsed =
        attribute.parse_args_with(Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated);
    parsed.map_or_else(|_| Vec::new(), |it| it.into_iter().collect())
}

fn name_of(expression: &syn::Expr) -> String {
    match expression {
        syn::Expr::Path(it) => it.path.get_ident().map(ToString::to_string),
        _ => None,
    }
    .unwrap_or_default()
}

fn text_of(expression: &syn::Expr) -> Option<String> {
    match expression {
        syn::Expr::Lit(it) => match &it.lit {
            syn::Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_left_out(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        for attribute in &field.attrs {
            if attribute.path().is_ident("setting") {
                self.add_setting(field, attribute);
            } else if attribute.path().is_ident("arg") {
                self.add_argument(field, attribute);
            }
        }
        visit::visit_field(self, field);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        // `Arg::new("x").long("y")`
        if is_flag_name(&call.method.to_string()) {
            call.args.iter().for_each(|it| self.add_flags(it));
        }
        visit::visit_expr_method_call(self, call);
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

    fn visit_ident(&mut self, ident: &'ast proc_macro2::Ident) {
        self.words.insert(ident.to_string());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let parts = path.segments.iter().rev().skip(1);
        self.kinds.extend(parts.map(|part| part.ident.to_string()));
        visit::visit_path(self, path);
    }

    // `use ScenarioKind::*`, `use ScenarioKind::{A, B}`
    fn visit_use_path(&mut self, path: &'ast syn::UsePath) {
        self.kinds.insert(path.ident.to_string());
        visit::visit_use_path(self, path);
    }

    // `use ScenarioKind as Kind`
    fn visit_use_rename(&mut self, name: &'ast syn::UseRename) {
        if name.rename != "_" {
            self.kinds.insert(name.ident.to_string());
        }
        visit::visit_use_rename(self, name);
    }

    // `type Kind = ScenarioKind`
    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        if let syn::Type::Path(it) = &*item.ty
            && let Some(last) = it.path.segments.last()
        {
            self.kinds.insert(last.ident.to_string());
        }
        visit::visit_item_type(self, item);
    }

    fn visit_lit(&mut self, literal: &'ast syn::Lit) {
        self.add_literal(literal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Names {
        Names::of(&syn::parse_file(text).unwrap())
    }

    #[test]
    fn names_are_found_wherever_they_stand() {
        let names = names(
            r#"
            /// Not this: slow_share
            fn a() { format!("try --out {}", Kind::One); let x = Other::Two("slow_share"); }
            #[cfg(test)] mod tests { fn b() { "hidden"; } }
            #[cfg(all(test, unix))] enum B { Hidden }
        "#,
        );
        assert!(names.kinds.contains("Kind") && names.kinds.contains("Other"));
        assert!(names.words.contains("slow_share"));
        assert!(!names.words.contains("hidden") && !names.words.contains("Hidden"));
    }

    #[test]
    fn kinds_are_found_in_imports_and_under_other_names() {
        for text in [
            "use a::Kind::*;",
            "use a::{b, Kind::{One, Two}};",
            "use a::Kind as Other;",
            "use a::{b, Kind as Other};",
            "type Other = a::Kind;",
            "fn a() { matches!(b, Kind::One { .. }) }",
        ] {
            assert!(names(text).kinds.contains("Kind"), "{text}");
        }
        for text in [
            "use a::Kind;",
            "use a::{b, Kind};",
            "fn a(kind: Kind) {}",
            "use a::Kind as _;",
        ] {
            assert!(!names(text).kinds.contains("Kind"), "{text}");
        }
    }

    #[test]
    fn flags_are_found_with_their_other_names() {
        let names = names(
            r#"
            struct A {
                #[arg(long, value_name = "X", alias = "calls", long_help = "no")] tool_calls: u8,
                #[arg(long = "out", visible_aliases = ["to", "into"])] to_file: u8,
                #[arg(short, long("in"), aliases(["from"]))] from_file: u8,
                #[arg(value_name = "long")] place: u8,
            }
            struct B {
                #[setting(default = 1, flag = "p50", alias = "median")] p50_latency: u8,
                #[setting] rate_limit: u8,
            }
            fn a() { Arg::new("explain").long("explain-it").visible_alias("why"); }
        "#,
        );
        let flags: Vec<&str> = names.flags.iter().map(String::as_str).collect();
        let expected = [
            "calls",
            "explain-it",
            "from",
            "in",
            "into",
            "median",
            "out",
            "p50",
            "rate-limit",
            "to",
            "tool-calls",
            "why",
        ];
        assert_eq!(flags, expected);
    }

    #[test]
    fn who_looks_for_a_backtick_is_found() {
        for (text, has_backtick) in [
            (r"fn a() { b.split('`'); }", true),
            (r#"fn a() { c!(b.find("``")); }"#, true),
            (r#"fn a() { c!("`name` and more"); }"#, false),
        ] {
            assert_eq!(names(text).has_backtick, has_backtick, "{text}");
        }
    }
}
