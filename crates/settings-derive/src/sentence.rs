//! `sentence!`: a template into the parts of a message.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Result, Token};

pub fn expand(arguments: Punctuated<Expr, Token![,]>) -> Result<Tokens> {
    let mut arguments = arguments.into_iter();
    let template = match arguments.next() {
        Some(Expr::Lit(ExprLit {
            lit: Lit::Str(template),
            ..
        })) => template,
        other => return Err(Error::new_spanned(other, "a sentence begins with a text")),
    };
    let literal = |text: &str| LitStr::new(text, template.span());
    let mut values = |pieces: &[&str]| -> Vec<Expr> {
        let has_no_name = |piece: &&&str| piece.starts_with("{}") || piece.starts_with("{:");
        let count = pieces.iter().filter(has_no_name).count();
        arguments.by_ref().take(count).collect()
    };
    let mut parts = Vec::new();
    let mut is_name = true;
    for stretch in template.value().split('`') {
        // As every other backtick begins a name, every other stretch is one.
        is_name = !is_name;
        let pieces = pieces(stretch);
        if is_name {
            let (form, values) = (literal(stretch), values(&pieces));
            let name = quote!(::std::format!(#form #(, #values)*));
            parts.push(quote!(::mcprove_settings::message::code(#name)));
            continue;
        }
        // Each hole is a part of its own, so that a name or another message can fill it.
        for piece in pieces.into_iter().filter(|piece| !piece.is_empty()) {
            let (form, values) = (literal(piece), values(&[piece]));
            let inside = piece.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
            parts.push(match inside {
                Some("") => quote!(#(#values)*),
                Some(name) if !name.contains(['{', ':']) => {
                    let name = Ident::new(name, template.span());
                    quote!(#name)
                }
                _ => quote!(::std::format_args!(#form #(, #values)*)),
            });
        }
    }
    if is_name {
        return Err(Error::new_spanned(template, "a name has no end"));
    }
    if let Some(unused) = arguments.next() {
        return Err(Error::new_spanned(unused, "no hole is left for this"));
    }
    Ok(quote!(::mcprove_settings::message::Message::default()#(.with(&(#parts)))*))
}

/// Words and holes by turns, as `format!` reads them.
fn pieces(mut rest: &str) -> Vec<&str> {
    let (mut pieces, mut from) = (Vec::new(), 0);
    while let Some(at) = rest[from..].find('{').map(|at| from + at) {
        if rest[at + 1..].starts_with('{') {
            from = at + 2;
            continue;
        }
        let end = rest[at..].find('}').map_or(rest.len(), |end| at + end + 1);
        pieces.extend([&rest[..at], &rest[at..end]]);
        (rest, from) = (&rest[end..], 0);
    }
    pieces.push(rest);
    pieces
}
