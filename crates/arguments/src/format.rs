//! One plain text for every `format`.

use super::meaning::ADDRESS;

/// A text of the format, if the format is known; variants differ where the format leaves room.
///
/// Hosts and addresses are those of this machine: no argument leads to another.
pub(super) fn write(format: &str, variant: usize) -> Option<String> {
    let number = variant % 250 + 1;
    let suffix = if variant == 0 {
        String::new()
    } else {
        variant.to_string()
    };
    Some(match format {
        "email" | "idn-email" => format!("user{suffix}@mail.localhost"),
        "uri" | "url" | "iri" | "http-url" | "any-url" => format!("{ADDRESS}{suffix}"),
        "uri-reference" | "iri-reference" => format!("path{suffix}"),
        "json-pointer" => format!("/path{suffix}"),
        "uri-template" => format!("{ADDRESS}{{id}}{suffix}"),
        "multi-host-uri" => format!("postgres://127.0.0.1:9/data{suffix}"),
        "hostname" | "idn-hostname" => format!("host{suffix}.localhost"),
        "ipv4" | "ip" | "ipvanyaddress" => format!("127.0.0.{number}"),
        "ipv6" if variant == 0 => "::1".to_owned(),
        "ipv6" => format!("::ffff:127.0.0.{number}"),
        "cidrv4" | "ipv4network" | "ipvanynetwork" => format!("127.0.0.{number}/32"),
        "cidrv6" | "ipv6network" => format!("::ffff:127.0.0.{number}/128"),
        "ipv4interface" | "ipvanyinterface" => format!("127.0.0.{number}/8"),
        "ipv6interface" => format!("::ffff:127.0.0.{number}/104"),
        "date" => format!("2025-01-{:02}", variant % 28 + 1),
        "time" => format!("12:00:{:02}Z", variant % 60),
        "date-time" | "datetime" => format!("2025-01-01T12:00:{:02}Z", variant % 60),
        "duration" => format!("P{number}D"),
        "uuid" | "uuid4" | "guid" => format!("00000000-0000-4000-8000-{variant:012x}"),
        "uuid1" => format!("00000000-0000-1000-8000-{variant:012x}"),
        "uuid3" => format!("00000000-0000-3000-8000-{variant:012x}"),
        "uuid5" => format!("00000000-0000-5000-8000-{variant:012x}"),
        "uuid7" => format!("00000000-0000-7000-8000-{variant:012x}"),
        "regex" => format!("a{suffix}"),
        "byte" | "base64" => "dGV4dA==".to_owned(),
        "base64url" => "dGV4dA".to_owned(),
        "base16" | "hex" => format!("{number:02x}"),
        "base32" => "ORSXQ5A=".to_owned(),
        "relative-json-pointer" | "json" | "json-string" | "application/json" => {
            variant.to_string()
        }
        "color" => format!("#0000{number:02x}"),
        "phone" | "e164" => format!("+1555010{:04}", variant % 10_000),
        "cuid" => format!("c{variant:024}"),
        "cuid2" => format!("a{variant:023}"),
        "ulid" => format!("{variant:026}"),
        "nanoid" => format!("{variant:021}"),
        "semver" => format!("1.0.{variant}"),
        _ => return None,
    })
}

/// A text of the format that has the token in it, where the format has room for any word.
pub(super) fn write_around(format: &str, token: &str) -> Option<String> {
    let is_word = |character: char| character.is_ascii_alphanumeric() || character == '-';
    if !token.chars().all(is_word) {
        return None;
    }
    Some(match format {
        "email" | "idn-email" => format!("{token}@mail.localhost"),
        "uri" | "url" | "iri" | "http-url" | "any-url" => format!("{ADDRESS}{token}"),
        "json-pointer" => format!("/{token}"),
        "hostname" | "idn-hostname" => format!("{token}.localhost"),
        "regex" | "uri-reference" | "iri-reference" => token.to_owned(),
        _ => return None,
    })
}
