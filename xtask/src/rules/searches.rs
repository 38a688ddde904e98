//! Who searches the text of a message of ours, or takes it apart: what a message says is its parts, not its text.
//!
//! A text is `.rendered()`, `.spelled(…)` or `.texts()`, what is made of one by a method that keeps its words, and a variable
//! that one was bound to.

use std::collections::BTreeSet;

use proc_macro2::{Spacing, TokenStream, TokenTree};
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};

use super::is_left_out;

/// What makes the text of a message.
const SOURCES: [&str; 2] = ["rendered", "spelled"];

/// How a text is searched or taken apart.
const SEARCHES: [&str; 25] = [
    "starts_with",
    "ends_with",
    "contains",
    "find",
    "rfind",
    "split",
    "split_at",
    "split_once",
    "split_terminator",
    "split_whitespace",
    "rsplit",
    "rsplit_once",
    "splitn",
    "rsplitn",
    "strip_prefix",
    "strip_suffix",
    "replace",
    "replacen",
    "trim_start_matches",
    "trim_end_matches",
    "trim_matches",
    "matches",
    "match_indices",
    "lines",
    "eq_ignore_ascii_case",
];

/// How an expression is searched for in a text that is its argument.
const PATTERNS: [&str; 4] = ["is_match", "captures", "captures_iter", "find_iter"];

/// What keeps the words of a text, or what holds it.
const KEEPING: [&str; 22] = [
    "as_str",
    "as_ref",
    "as_deref",
    "as_bytes",
    "borrow",
    "clone",
    "cloned",
    "into_owned",
    "into_bytes",
    "to_lowercase",
    "to_uppercase",
    "to_ascii_lowercase",
    "to_ascii_uppercase",
    "to_owned",
    "to_string",
    "trim",
    "trim_start",
    "trim_end",
    "unwrap_or_default",
    "unwrap_or",
    "filter",
    "into",
];

/// Whether a file searches the text of a message or takes it apart.
pub fn has_search(file: &syn::File) -> bool {
    let mut searches = Searches::default();
    searches.visit_file(file);
    searches.is_found
}

#[derive(Default)]
struct Searches {
    is_found: bool,
    /// Variables that hold such a text.
    texts: BTreeSet<String>,
}

impl Searches {
    /// Whether an expression is such a text.
    fn is_text(&self, expression: &syn::Expr) -> bool {
        match expression {
            syn::Expr::Reference(it) => self.is_text(&it.expr),
            syn::Expr::Paren(it) => self.is_text(&it.expr),
            syn::Expr::Group(it) => self.is_text(&it.expr),
            syn::Expr::Unary(it) => self.is_text(&it.expr),
            syn::Expr::Index(it) => self.is_text(&it.expr),
            // `.texts().0`
            syn::Expr::Field(it) => self.is_text(&it.base) || is_texts(&it.base),
            syn::Expr::Path(it) => {
                let name = it.path.get_ident();
                name.is_some_and(|name| self.texts.contains(&name.to_string()))
            }
            syn::Expr::Closure(it) => self.is_text(&it.body),
            syn::Expr::MethodCall(it) => {
                let method = it.method.to_string();
                SOURCES.contains(&method.as_str())
                    || (KEEPING.contains(&method.as_str()) && self.is_text(&it.receiver))
                    // `hint.map(|hint| hint.rendered())`, `hint.map(Message::rendered)`
                    || (method.contains("map") && it.args.iter().any(|it| self.is_text(it) || is_source(it)))
            }
            // `Message::rendered(&message)`
            syn::Expr::Call(it) => is_source(&it.func),
            _ => false,
        }
    }

    /// Keeps the names that a pattern binds to such a text, and forgets those that it binds to another.
    fn bind(&mut self, pattern: &syn::Pat, is_text: bool) {
        let mut names = Bound::default();
        names.visit_pat(pattern);
        for name in names.0 {
            if is_text {
                self.texts.insert(name);
            } else {
                self.texts.remove(&name);
            }
        }
    }

    fn bind_to(&mut self, pattern: &syn::Pat, value: &syn::Expr) {
        let is_text =
            self.is_text(value) || (is_texts(value) && matches!(pattern, syn::Pat::Tuple(_)));
        self.bind(pattern, is_text);
    }

    /// A function knows its own variables.
    fn within(&mut self, visit: impl FnOnce(&mut Self)) {
        let outside = std::mem::take(&mut self.texts);
        visit(self);
        self.texts = outside;
    }

    /// What is given to a macro, as far as it is code.
    fn visit_tokens(&mut self, tokens: TokenStream) {
        let expressions = Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated;
        if let Ok(all) = expressions.parse2(tokens.clone()) {
            all.iter().for_each(|it| self.visit_expr(it));
        } else if let Ok(all) = syn::Block::parse_within.parse2(tokens.clone()) {
            for statement in &all {
                self.visit_stmt(statement);
            }
        } else {
            self.visit_pieces(tokens);
        }
    }

    /// Each piece that is code by itself, of a language such as that of `html!` and `json!`.
    fn visit_pieces(&mut self, tokens: TokenStream) {
        let mut pieces = vec![TokenStream::new()];
        let mut is_after_mark = false;
        let mut is_joint = false;
        for token in tokens {
            let was_joint = std::mem::take(&mut is_joint);
            match &token {
                TokenTree::Punct(mark) => {
                    is_joint = mark.spacing() == Spacing::Joint;
                    let is_alone = !is_joint && !was_joint;
                    // `@if`, `$name`, `=>`
                    is_after_mark = matches!(mark.as_char(), '@' | '$');
                    let parts = matches!(mark.as_char(), ',' | ';' | '@')
                        || (mark.as_char() == ':' && is_alone)
                        || (mark.as_char() == '>' && was_joint);
                    if parts {
                        pieces.push(TokenStream::new());
                    } else if mark.as_char() != '$' {
                        pieces.last_mut().expect("never empty").extend([token]);
                    }
                    continue;
                }
                TokenTree::Ident(name) if is_after_mark && is_keyword(&name.to_string()) => {}
                TokenTree::Group(group) if group.delimiter() == proc_macro2::Delimiter::Brace => {
                    self.visit_tokens(group.stream());
                    pieces.push(TokenStream::new());
                }
                _ => pieces.last_mut().expect("never empty").extend([token]),
            }
            is_after_mark = false;
        }
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            if let Ok(expression) = syn::parse2::<syn::Expr>(piece.clone()) {
                self.visit_expr(&expression);
                continue;
            }
            for token in piece {
                if let TokenTree::Group(group) = token {
                    self.visit_tokens(group.stream());
                }
            }
        }
    }
}

/// Whether it is the function that makes the text of a message.
fn is_source(expression: &syn::Expr) -> bool {
    let syn::Expr::Path(it) = expression else {
        return false;
    };
    let last = it.path.segments.last();
    it.path.segments.len() > 1 && last.is_some_and(|last| SOURCES.iter().any(|it| last.ident == it))
}

/// Whether it is the message and the hint of an error as texts.
fn is_texts(expression: &syn::Expr) -> bool {
    matches!(expression, syn::Expr::MethodCall(it) if it.method == "texts" && it.args.is_empty())
}

fn is_keyword(name: &str) -> bool {
    matches!(name, "if" | "for" | "while" | "match" | "else")
}

/// The names that a pattern binds.
#[derive(Default)]
struct Bound(BTreeSet<String>);

impl<'ast> Visit<'ast> for Bound {
    fn visit_pat_ident(&mut self, name: &'ast syn::PatIdent) {
        self.0.insert(name.ident.to_string());
        visit::visit_pat_ident(self, name);
    }
}

/// Whether a text stands in it.
fn has_literal(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Group(group) => has_literal(group.stream()),
        TokenTree::Literal(literal) => matches!(syn::Lit::new(literal), syn::Lit::Str(_)),
        _ => false,
    })
}

/// Whether a pattern is or has a text.
fn compares(pattern: &syn::Pat) -> bool {
    #[derive(Default)]
    struct Literals(bool);
    impl<'ast> Visit<'ast> for Literals {
        fn visit_lit_str(&mut self, _: &'ast syn::LitStr) {
            self.0 = true;
        }
    }
    let mut literals = Literals::default();
    literals.visit_pat(pattern);
    literals.0
}

fn is_literal(expression: &syn::Expr) -> bool {
    match expression {
        syn::Expr::Lit(it) => matches!(it.lit, syn::Lit::Str(_)),
        syn::Expr::Reference(it) => is_literal(&it.expr),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Searches {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_left_out(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.within(|it| visit::visit_item_fn(it, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.within(|it| visit::visit_impl_item_fn(it, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.within(|it| visit::visit_trait_item_fn(it, item));
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        visit::visit_local(self, local);
        match &local.init {
            Some(init) => self.bind_to(&local.pat, &init.expr),
            None => self.bind(&local.pat, false),
        }
    }

    fn visit_expr_let(&mut self, it: &'ast syn::ExprLet) {
        visit::visit_expr_let(self, it);
        self.is_found |= self.is_text(&it.expr) && compares(&it.pat);
        self.bind_to(&it.pat, &it.expr);
    }

    fn visit_expr_assign(&mut self, it: &'ast syn::ExprAssign) {
        visit::visit_expr_assign(self, it);
        if let syn::Expr::Path(path) = &*it.left
            && let Some(name) = path.path.get_ident()
            && self.is_text(&it.right)
        {
            self.texts.insert(name.to_string());
        }
    }

    fn visit_expr_match(&mut self, it: &'ast syn::ExprMatch) {
        let is_text = self.is_text(&it.expr);
        self.is_found |= is_text && it.arms.iter().any(|arm| compares(&arm.pat));
        if is_text {
            it.arms.iter().for_each(|arm| self.bind(&arm.pat, true));
        }
        visit::visit_expr_match(self, it);
    }

    fn visit_expr_binary(&mut self, it: &'ast syn::ExprBinary) {
        let is_comparison = matches!(it.op, syn::BinOp::Eq(_) | syn::BinOp::Ne(_));
        let (left, right) = (&*it.left, &*it.right);
        self.is_found |= is_comparison
            && ((self.is_text(left) && is_literal(right))
                || (is_literal(left) && self.is_text(right)));
        visit::visit_expr_binary(self, it);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let method = call.method.to_string();
        let is_text = self.is_text(&call.receiver);
        self.is_found |= is_text && SEARCHES.contains(&method.as_str());
        self.is_found |=
            PATTERNS.contains(&method.as_str()) && call.args.iter().any(|it| self.is_text(it));
        // `.filter(|text| …)`
        for argument in &call.args {
            if let (true, syn::Expr::Closure(closure)) = (is_text, argument) {
                closure.inputs.iter().for_each(|it| self.bind(it, true));
            }
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_call(&mut self, call: &'ast syn::ExprCall) {
        // `str::contains(&text, "x")`
        let first = call.args.first().is_some_and(|it| self.is_text(it));
        self.is_found |= first
            && matches!(&*call.func, syn::Expr::Path(it) if it.path.segments.len() > 1
                && it.path.segments.last().is_some_and(|last| SEARCHES.iter().any(|it| last.ident == it)));
        visit::visit_expr_call(self, call);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        if item.path.is_ident("matches") {
            let parts = |input: syn::parse::ParseStream<'_>| {
                let value: syn::Expr = input.parse()?;
                input.parse::<syn::Token![,]>()?;
                Ok((value, input.parse::<TokenStream>()?))
            };
            if let Ok((value, rest)) = parts.parse2(item.tokens.clone()) {
                self.is_found |= self.is_text(&value) && has_literal(rest);
                self.visit_expr(&value);
                return;
            }
        }
        self.visit_tokens(item.tokens.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_search(body: &str, is_search: bool) {
        let text = format!("fn a() {{ {body} }}");
        let file = syn::parse_file(&text).unwrap();
        assert_eq!(has_search(&file), is_search, "{text}");
    }

    #[test]
    fn searches_in_texts_of_messages_are_found() {
        for body in [
            r#"b.message.rendered().starts_with("x");"#,
            r#"b.spelled(c).rsplit("; ").next();"#,
            r#"b.rendered().as_str().matches("x").count();"#,
            r#"b.rendered().to_lowercase().contains("x");"#,
            r#"(&b.rendered()).contains("x");"#,
            r#"b.error.texts().0.contains("x");"#,
            r#"Message::rendered(&b).contains("x");"#,
            r#"str::contains(&b.rendered(), "x");"#,
            r"pattern.is_match(&b.rendered());",
            "for line in b.rendered().lines() {}",
        ] {
            assert_search(body, true);
        }
        assert_search("b.rendered().len();", false);
        assert_search(r#"b.texts("x").contains("y");"#, false);
    }

    #[test]
    fn variables_are_followed() {
        for body in [
            r#"let t = b.rendered(); t.split("; ");"#,
            r#"let t = &b.rendered(); let u = t.trim(); u.split("; ");"#,
            r#"let (message, hint) = b.texts(); message.contains("x");"#,
            r#"if let Some(t) = b.map(|it| it.rendered()) { t.contains("x"); }"#,
            r#"if let Some(t) = b.as_ref().map(Message::rendered) { t.contains("x"); }"#,
            r#"b.map(|it| it.rendered()).filter(|it| it.contains("x"));"#,
            r#"let mut t = String::new(); t = b.rendered(); t.contains("x");"#,
        ] {
            assert_search(body, true);
        }
        assert_search(r#"let t = b.name(); t.split("; ");"#, false);
        assert_search(
            r#"let t = b.rendered(); let t = c.name(); t.split("; ");"#,
            false,
        );
        let two =
            r#"impl A { fn a() { let t = b.rendered(); } fn b(t: &str) { t.contains("x"); } }"#;
        assert!(!has_search(&syn::parse_file(two).unwrap()));
    }

    #[test]
    fn comparisons_are_found() {
        for body in [
            r#"b.rendered() == "x";"#,
            r#"let t = b.rendered(); "x" != t;"#,
            r#"match b.rendered().as_str() { "x" | "y" => 1, _ => 2 };"#,
            r#"if let "x" = b.rendered().as_str() {}"#,
            r#"matches!(b.rendered().as_str(), "x" | "y")"#,
        ] {
            assert_search(body, true);
        }
        assert_search("b.rendered() == c.rendered();", false);
        assert_search(r#"matches!(b.kind(), "x")"#, false);
    }

    #[test]
    fn macros_are_searched() {
        for body in [
            r#"format!("{}", b.rendered().contains("x"));"#,
            r#"sentence!("{name}", name = b.rendered().replace("x", "y"));"#,
            r#"vec![b.rendered().contains("x"); 2];"#,
            r#"json!({ "a": [b.rendered().contains("x")] });"#,
            r#"html! { p class="a" { @if b.rendered().contains("x") { (c) } } };"#,
            r#"html! { @for d in e { p { (b.rendered().replace("x", "y")) } } };"#,
            r#"select! { d = e => { b.rendered().contains("x"); } };"#,
            r#"macro_rules! own { ($b:ident) => { $b.rendered().contains("x") }; }"#,
            r#"let t = b.rendered(); assert!(t.contains("x"));"#,
        ] {
            assert_search(body, true);
        }
        assert_search(r#"json!({ "a": b.rendered() });"#, false);
        assert_search(r"html! { p { (b.rendered()) } };", false);
    }
}
