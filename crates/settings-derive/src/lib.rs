//! `#[derive(Settings)]`: the table of the settings of a struct, and how each is set and read, from the fields
//! themselves.
//!
//! | attribute `#[setting(…)]` | means |
//! |---|---|
//! | (none) | the field is no setting |
//! | `kind = COUNT` | what it takes; by its type unless given |
//! | `default = 10` | its value when it is not given; a text for times: `"5s"` |
//! | `otherwise = "half-way"` | what it is when it is not given, where that is no fixed value |
//! | `required = true` | it must be given |
//! | `name = "…"` | its name, where that is not the field's |
//! | `alias = "…"` | another name, repeatable |
//! | `flag = "…"`, `flag = false` | its flag, where that is not its name; none |
//! | `short = 'c'` | its short flag |
//! | `elsewhere = "ignored"` | where a scenario does not have it, it is ignored with a warning |
//! | `elsewhere = "table.name"` | where a scenario does not have it, this setting is meant |
//! | `like = Other::FIELD` | as that field of another struct is declared, but for what is said here |
//! | `flatten` | the settings of the field's type stand in its place |
//!
//! The documentation of the field is the explanation of the setting; with `like` it may be left out. Each declaration is a
//! constant of the struct, in capitals, for `like`.

use std::collections::BTreeMap;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::punctuated::Punctuated;
use syn::{
    Data, DeriveInput, Expr, ExprLit, Field, Fields, Item, ItemStruct, Lit, Meta, MetaNameValue,
    Token, Type, parse_quote,
};

mod sentence;

/// What stands between the brackets of `#[setting(…)]`.
type Attributes = Punctuated<Meta, Token![,]>;

/// Derives `mcprove_settings::setting::Settings`.
#[proc_macro_derive(Settings, attributes(setting))]
pub fn derive_settings(input: TokenStream) -> TokenStream {
    derive(input, &quote!(::mcprove_settings))
}

/// The same for crates that depend on `mcprove` alone.
#[proc_macro_derive(PublicSettings, attributes(setting))]
pub fn derive_public_settings(input: TokenStream) -> TokenStream {
    derive(input, &quote!(::mcprove::settings))
}

/// A `Message`, written as for `format!`, with its names and values as parts of their own: a name stands between
/// backticks in the template, or a hole is filled with one. The template is taken apart here, never at run time.
///
/// ```text
/// sentence!("`expect` of {} is empty", code(block))
/// ```
#[proc_macro]
pub fn sentence(input: TokenStream) -> TokenStream {
    let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
    let arguments = syn::parse_macro_input!(input with parser);
    sentence::expand(arguments)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

fn derive(input: TokenStream, root: &Tokens) -> TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input, root)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// `Debug` that says no more than the name, for what holds functions, tasks or connections.
#[proc_macro_derive(Opaque)]
pub fn derive_opaque(input: TokenStream) -> TokenStream {
    let DeriveInput {
        ident, generics, ..
    } = syn::parse_macro_input!(input);
    let (given, taken, bounds) = generics.split_for_impl();
    let name = ident.to_string();
    let debug = quote! {
        impl #given ::std::fmt::Debug for #ident #taken #bounds {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.debug_struct(#name).finish_non_exhaustive()
            }
        }
    };
    debug.into()
}

/// `Display` as the text that a method returns: `#[shown(name)]`.
#[proc_macro_derive(Shown, attributes(shown))]
pub fn derive_shown(input: TokenStream) -> TokenStream {
    let DeriveInput { ident, attrs, .. } = syn::parse_macro_input!(input);
    let mut lists = attrs.iter().filter_map(|it| it.meta.require_list().ok());
    let method = lists.find(|it| it.path.is_ident("shown"));
    let method = method.map(|it| &it.tokens);
    let display = quote! {
        impl ::std::fmt::Display for #ident {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter.write_str(&self.#method())
            }
        }
    };
    display.into()
}

/// A type that holds data: it is printed, cloned, compared, written, read back to an equal value, and has a schema.
/// What else it derives stands in brackets; `open` there means that it may grow, so that users match and build it with
/// `..` (`non_exhaustive`).
#[proc_macro_attribute]
pub fn data(more: TokenStream, item: TokenStream) -> TokenStream {
    let more = Tokens::from(more);
    let mut item = syn::parse_macro_input!(item as Item);
    if let Item::Struct(item) = &mut item {
        for field in &mut item.fields {
            let attributes = attributes(field).ok().flatten().unwrap_or_default();
            let mut values = attributes
                .iter()
                .filter_map(|it| it.require_name_value().ok());
            let like = values.find(|it| it.path.is_ident("like"));
            if let (Some(MetaNameValue { value, .. }), "") = (like, &*explanation(field)) {
                let about = parse_quote!(#[schemars(description = format!("{}.", #value.about))]);
                field.attrs.push(about);
            }
        }
    }
    stored(
        quote!(::mcprove_settings::setting::JsonSchema, #more).into(),
        quote!(#item).into(),
    )
}

/// What stands in for the schema where schemas are not built.
#[proc_macro_derive(NoSchema, attributes(schemars))]
pub fn derive_no_schema(_: TokenStream) -> TokenStream {
    TokenStream::new()
}

/// The same for a choice among names, which are written in `snake_case`.
#[proc_macro_attribute]
pub fn choice(more: TokenStream, item: TokenStream) -> TokenStream {
    let item = Tokens::from(item);
    data(
        more,
        quote!(#[serde(rename_all = "snake_case")] #item).into(),
    )
}

/// The same as `data` without a schema.
#[proc_macro_attribute]
pub fn stored(more: TokenStream, item: TokenStream) -> TokenStream {
    let parser = Punctuated::<syn::Path, Token![,]>::parse_terminated;
    let more = syn::parse_macro_input!(more with parser);
    let (open, more): (Vec<_>, Vec<_>) = more.iter().partition(|path| path.is_ident("open"));
    let open = (!open.is_empty()).then(|| quote!(#[non_exhaustive]));
    let item = Tokens::from(item);
    let derives = quote! {
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize, #(#more),*)]
    };
    quote!(#derives #open #item).into()
}

/// Has serde leave out every field of a struct that is `None`, and those marked `#[sparse]` that are empty, zero or
/// false. As `#[sparse(marked)]` it leaves out marked ones only, as `#[sparse(lists)]` also unmarked lists and maps
/// that are empty. Stands above the derives.
#[proc_macro_attribute]
pub fn sparse(which: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = syn::parse_macro_input!(item as ItemStruct);
    let which = which.to_string();
    for field in &mut item.fields {
        let count = field.attrs.len();
        field.attrs.retain(|mark| !mark.path().is_ident("sparse"));
        let Type::Path(syn::TypePath { path, .. }) = &field.ty else {
            continue;
        };
        let name = path.segments.last().map(|it| it.ident.to_string());
        let is_list = matches!(name.as_deref(), Some("Vec" | "BTreeMap"));
        let is_marked = field.attrs.len() < count || is_list && which == "lists";
        let is_absent = match name.as_deref() {
            Some("Option") => "Option::is_none",
            Some("bool") => "::core::ops::Not::not",
            Some("u64") => "::mcprove_settings::number::is_zero",
            Some("Vec") => "Vec::is_empty",
            _ => "::std::collections::BTreeMap::is_empty",
        };
        // What is missing is `None` by itself.
        if is_marked && is_absent != "Option::is_none" {
            field.attrs.push(parse_quote!(#[serde(default)]));
        }
        if is_marked || is_absent == "Option::is_none" && which != "marked" {
            let attribute = parse_quote!(#[serde(skip_serializing_if = #is_absent)]);
            field.attrs.push(attribute);
        }
    }
    quote!(#item).into()
}

/// Has serde write every `Duration` of a struct, optional ones too, in seconds, under its name with `_secs`. Stands above the derives.
#[proc_macro_attribute]
pub fn in_seconds(_: TokenStream, item: TokenStream) -> TokenStream {
    let mut item = syn::parse_macro_input!(item as ItemStruct);
    let has_schema = item.attrs.iter().any(|it| it.path().is_ident("data"));
    for field in &mut item.fields {
        let ty = &field.ty;
        let (with, number) = match quote!(#ty).to_string().as_str() {
            "Duration" => ("seconds", "f64"),
            "Option < Duration >" => ("optional_seconds", "Option<f64>"),
            _ => continue,
        };
        let name = field.ident.as_ref().map(|ident| format!("{ident}_secs"));
        let with = format!("::mcprove_settings::quantity::{with}");
        let serde = parse_quote!(#[serde(rename = #name, with = #with)]);
        field.attrs.push(serde);
        if has_schema {
            field.attrs.push(parse_quote!(#[schemars(with = #number)]));
        }
    }
    quote!(#item).into()
}

fn expand(input: &DeriveInput, root: &Tokens) -> syn::Result<Tokens> {
    let Data::Struct(data) = &input.data else {
        return Err(syn::Error::new_spanned(input, "settings are a struct"));
    };
    if let Fields::Unnamed(fields) = &data.fields {
        return Err(syn::Error::new_spanned(fields, "settings are named"));
    }
    let name = &input.ident;
    let (mut table, mut initial) = (Vec::new(), Vec::new());
    let mut constants = Vec::new();
    let (mut read, mut write) = (Vec::new(), Vec::new());
    let (mut pieces, mut inner) = (Vec::new(), Vec::new());
    for field @ Field { ident, ty, .. } in &data.fields {
        let count = table.len();
        let start = quote!(#count #(+ <#inner as Settings>::declared().len())*);
        let attributes = attributes(field)?;
        let mut all = attributes.iter().flatten();
        if all.any(|it| it.path().is_ident("flatten")) {
            let end = quote!(#start + <#ty as Settings>::declared().len());
            initial.push(quote!(#ident: Settings::initial()));
            read.push(
                quote!(_ if index < #end => self.#ident.read(index - (#start), reader, field),),
            );
            write.push(quote!(_ if index < #end => self.#ident.write(index - (#start))));
            pieces.push(quote!(<#ty as Settings>::declared()));
            inner.push(ty);
            continue;
        }
        let Some(attributes) = attributes else {
            initial.push(quote!(#ident: ::core::default::Default::default()));
            continue;
        };
        let setting = declared(field, &attributes)?;
        let constant = ident
            .as_ref()
            .map(|it| format_ident!("{}", it.to_string().to_uppercase()));
        constants.push(quote!(#[doc(hidden)] pub const #constant: Setting = #setting;));
        table.push(quote!(#name::#constant));
        pieces.push(quote!(&TABLE[#count..=#count]));
        initial.push(quote!(#ident: SettingType::initial(&TABLE[#count])));
        read.push(quote! {
            _ if index == #start => if let Some(value) = SettingType::read(reader, field, &TABLE[#count]) {
                self.#ident = value;
            }
        });
        write.push(quote!(_ if index == #start => SettingType::write(&self.#ident)));
    }
    let count = table.len();
    let declared = if inner.is_empty() {
        quote!(&TABLE)
    } else {
        quote! {
            static ALL: ::std::sync::LazyLock<Vec<Setting>> =
                ::std::sync::LazyLock::new(|| [#(#pieces),*].concat());
            &ALL
        }
    };
    Ok(quote! {
        const _: () = {
            use #root::kind::*;
            use #root::setting::{Elsewhere, Fallback, Setting, SettingType, Settings};

            impl #name {
                #(#constants)*
            }

            static TABLE: [Setting; #count] = [#(#table),*];

            impl Settings for #name {
                fn declared() -> &'static [Setting] {
                    #declared
                }
                fn initial() -> Self {
                    Self { #(#initial),* }
                }
                fn table(&self) -> &'static [Setting] {
                    Self::declared()
                }
                fn read(
                    &mut self,
                    index: usize,
                    reader: &mut #root::reader::Reader<'_>,
                    field: &#root::tree::Field,
                ) {
                    match index {
                        #(#read)*
                        _ => {}
                    }
                }
                fn write(&self, index: usize) -> Option<#root::tree::Data> {
                    match index {
                        #(#write,)*
                        _ => Option::None,
                    }
                }
            }
        };
    })
}

/// What is said of a setting; none of a field that is none.
fn attributes(field: &Field) -> syn::Result<Option<Attributes>> {
    let found = field.attrs.iter().find(|it| it.path().is_ident("setting"));
    let parsed = found.map(|it| match it.meta {
        Meta::List(_) => it.parse_args_with(Attributes::parse_terminated),
        _ => Ok(Attributes::new()),
    });
    parsed.transpose()
}

/// The entry of a setting in the table.
fn declared(field: &Field, attributes: &Attributes) -> syn::Result<Tokens> {
    let ident = field.ident.as_ref().map(ToString::to_string);
    let ty = &field.ty;
    let mut name = None;
    let (mut base, mut is_new) = (quote!(Setting::BARE), true);
    let mut aliases = Vec::new();
    // What is said here, by the fields of a `Setting`.
    let mut own = BTreeMap::new();
    for attribute in attributes {
        let MetaNameValue { path, value, .. } = attribute.require_name_value()?;
        let key = path.get_ident().map(ToString::to_string);
        let (field, said) = match key.as_deref().unwrap_or_default() {
            "like" => {
                base = quote!(#value);
                is_new = false;
                continue;
            }
            "name" => {
                name = Some(literal(value)?);
                continue;
            }
            "kind" => ("kind", quote!(#value)),
            "default" => {
                let text = literal(value)?;
                ("fallback", quote!(Fallback::Value(#text)))
            }
            "required" => ("fallback", quote!(Fallback::Required)),
            "otherwise" => ("fallback", quote!(Fallback::Words(#value))),
            "alias" => {
                aliases.push(literal(value)?);
                ("aliases", quote!(&[#(#aliases),*]))
            }
            "flag" => match literal(value)?.as_str() {
                "false" => ("flag", quote!(Option::None)),
                flag => ("flag", quote!(Some(#flag))),
            },
            "short" => ("short", quote!(Some(#value))),
            "elsewhere" => match literal(value)?.split_once('.') {
                None => ("elsewhere", quote!(Elsewhere::Ignored)),
                Some((table, name)) => ("elsewhere", quote!(Elsewhere::Instead(#table, #name))),
            },
            _ => {
                return Err(syn::Error::new_spanned(
                    path,
                    "unknown attribute of a setting",
                ));
            }
        };
        own.insert(field, said);
    }
    let about = explanation(field);
    if is_new {
        let name = name.get_or_insert(ident.unwrap_or_default());
        let flag = name.replace('_', "-");
        own.entry("flag").or_insert(quote!(Some(#flag)));
        let kind = quote!(<#ty as SettingType>::KIND);
        own.entry("kind").or_insert(kind);
    }
    own.extend(name.map(|it| ("name", quote!(#it))));
    if !about.is_empty() {
        own.insert("about", quote!(#about));
    }
    let fields = own.keys().map(|it| format_ident!("{it}"));
    let said = own.values();
    Ok(quote!(Setting { #(#fields: #said,)* ..#base }))
}

/// A literal as text: `10`, `"5s"`, `true`.
fn literal(value: &Expr) -> syn::Result<String> {
    match value {
        Expr::Lit(ExprLit { lit, .. }) => Ok(match lit {
            Lit::Str(text) => text.value(),
            Lit::Int(number) => number.base10_digits().to_owned(),
            Lit::Float(number) => number.base10_digits().to_owned(),
            Lit::Bool(value) => value.value.to_string(),
            other => return Err(syn::Error::new_spanned(other, "a text or a number")),
        }),
        other => Err(syn::Error::new_spanned(other, "a literal")),
    }
}

/// The first paragraph of the documentation on one line, without a full stop.
fn explanation(field: &Field) -> String {
    let mut lines = Vec::new();
    for attribute in field.attrs.iter().filter(|it| it.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Ok(line) = literal(&pair.value)
        {
            if line.trim().is_empty() {
                break;
            }
            lines.push(line.trim().to_owned());
        }
    }
    lines.join(" ").trim_end_matches('.').to_owned()
}
