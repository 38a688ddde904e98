//! How words are spelt: letters, numbers, identifiers, and contractions taken apart.

use super::token::Kind;

/// What a word is written like.
pub fn kind_of(lower: &str) -> Kind {
    if matches!(lower, "and/or" | "e.g" | "i.e") {
        return Kind::Word;
    }
    let is_letter = |c: char| c.is_alphabetic() || matches!(c, '\'' | '-');
    if lower.chars().all(is_letter) && lower.chars().next().is_some_and(char::is_alphabetic) {
        return Kind::Word;
    }
    let number = lower.trim_start_matches(['#', '$', '€', '£', '¥', '-']);
    let number = number.trim_end_matches('%');
    let ordinal = ["st", "nd", "rd", "th"]
        .iter()
        .find_map(|ending| number.strip_suffix(ending));
    let number = ordinal.unwrap_or(number);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        && number
            .chars()
            .all(|c| c.is_ascii_digit() || matches!(c, ',' | '.'))
        && number.matches('.').count() < 2;
    if is_number { Kind::Number } else { Kind::Name }
}

/// `I've` is `i have`, `won't` is `will not`, `it's` is `it 's`: `is`, `has` or a possessive.
pub fn contraction(lower: &str) -> Option<(String, String)> {
    let pair = |first: &str, second: &str| Some((first.to_owned(), second.to_owned()));
    match lower {
        "won't" | "wont" => return pair("will", "not"),
        "can't" | "cannot" | "cant" => return pair("can", "not"),
        "shan't" => return pair("shall", "not"),
        "ain't" => return pair("is", "not"),
        "ive" => return pair("i", "have"),
        "im" => return pair("i", "am"),
        "didnt" | "dont" | "doesnt" | "hasnt" | "havent" | "wasnt" | "werent" | "isnt"
        | "couldnt" | "wouldnt" | "shouldnt" => {
            return pair(lower.trim_end_matches("nt"), "not");
        }
        _ => {}
    }
    if let Some(first) = lower.strip_suffix("n't") {
        return pair(first, "not");
    }
    let (first, ending) = lower.rsplit_once('\'')?;
    let second = match ending {
        "ve" => "have",
        "re" => "are",
        "m" => "am",
        "ll" => "will",
        "d" => "'d",
        "s" => "'s",
        _ => return None,
    };
    pair(first, second)
}
