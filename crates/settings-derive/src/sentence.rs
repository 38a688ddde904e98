//! `sentence!`: a template into the parts of a message.

use proc_macro2::{Span, TokenStream as Tokens};
use quote::{quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Result, Token};

/// A piece of a template.
enum Piece {
    Text(String),
    /// What fills a hole, and how it is written, as `format!` has it.
    Hole(Tokens, String),
}

pub fn expand(arguments: Punctuated<Expr, Token![,]>) -> Result<Tokens> {
    let mut arguments = arguments.into_iter();
    let template = match arguments.next() {
        Some(Expr::Lit(ExprLit {
            lit: Lit::Str(template),
            ..
        })) => template,
        other => return Err(Error::new_spanned(other, "a sentence begins with a text")),
    };
    let message = Ident::new("sentence", Span::mixed_site());
    let mut parts = Tokens::new();
    let value = template.value();
    let stretches: Vec<&str> = value.split('`').collect();
    if stretches.len() % 2 == 0 {
        return Err(Error::new_spanned(template, "a name has no end"));
    }
    for (place, stretch) in stretches.into_iter().enumerate() {
        let pieces = pieces(stretch, &template, &mut arguments)?;
        // As every other backtick begins a name, every other stretch is one.
        parts.extend(if place % 2 == 0 {
            words(&pieces, &message)
        } else {
            name(&pieces, &message)
        });
    }
    if let Some(unused) = arguments.next() {
        return Err(Error::new_spanned(unused, "no hole is left for this"));
    }
    Ok(quote! {{
        #[allow(unused_imports, reason = "not every sentence has a hole")]
        use ::mcprove_settings::message::Fill as _;
        let mut #message = ::mcprove_settings::message::Message::default();
        #parts
        #message
    }})
}

/// Each hole is a part of its own, so that a name or another message can fill it.
fn words(pieces: &[Piece], message: &Ident) -> Tokens {
    let parts = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => quote!(#message.push(#text);),
        Piece::Hole(value, form) if form == "{}" => quote!((&#value).fill(&mut #message);),
        Piece::Hole(value, form) => quote!(#message.push(::std::format!(#form, #value));),
    });
    parts.collect()
}

/// All of it is one part.
fn name(pieces: &[Piece], message: &Ident) -> Tokens {
    let code = quote!(::mcprove_settings::message::code);
    if let [Piece::Text(text)] = pieces {
        return quote!(#message.push(#code(#text)););
    }
    let mut form = String::new();
    let mut values = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => form.push_str(&text.replace('{', "{{").replace('}', "}}")),
            Piece::Hole(value, hole) => {
                form.push_str(hole);
                values.push(value);
            }
        }
    }
    quote!(#message.push(#code(::std::format!(#form #(, #values)*)));)
}

/// Texts and holes, `{{` and `}}` being braces.
fn pieces(
    template: &str,
    whole: &LitStr,
    arguments: &mut impl Iterator<Item = Expr>,
) -> Result<Vec<Piece>> {
    let (mut pieces, mut text) = (Vec::new(), String::new());
    let mut rest = template.chars().peekable();
    while let Some(letter) = rest.next() {
        if !matches!(letter, '{' | '}') || rest.next_if_eq(&letter).is_some() {
            text.push(letter);
            continue;
        }
        let hole: String = rest.by_ref().take_while(|letter| *letter != '}').collect();
        let (value, form) = hole.split_once(':').unwrap_or((&hole, ""));
        let value = match value {
            "" => match arguments.next() {
                Some(value) => quote!(#value),
                None => return Err(Error::new_spanned(whole, "nothing fills a hole")),
            },
            name => {
                let name = Ident::new(name, whole.span());
                quote_spanned!(whole.span()=> #name)
            }
        };
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        let form = match form {
            "" => "{}".to_owned(),
            form => format!("{{:{form}}}"),
        };
        pieces.push(Piece::Hole(value, form));
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}
