use proptest::prelude::*;

use super::*;
use crate::secret::REDACTED;

const PEM: &str = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nq83j\n-----END KEY-----";

/// What a stream of these pieces becomes.
fn streamed(redactor: &Redactor, pieces: &[&[u8]]) -> String {
    let mut stream = StreamRedactor::new(redactor.clone());
    let mut written = Vec::new();
    for piece in pieces {
        written.extend(stream.push(piece));
    }
    written.extend(stream.finish());
    String::from_utf8_lossy(&written).into_owned()
}

/// Four characters of a secret that are left in a text.
fn left_of(secret: &str, text: &str) -> Option<String> {
    let text = text.replace(REDACTED, "\u{0}");
    let letters: Vec<char> = secret.chars().collect();
    let mut parts = letters.windows(4).map(String::from_iter);
    parts.find(|part| text.contains(part.as_str()))
}

#[test]
fn halves_with_a_pause_between_are_one_secret() {
    let redactor = Redactor::new(["k3y-of-the-server".to_owned()]);
    let text = streamed(
        &redactor,
        &[b"key: k3y-of-", b"the-server\nnext k3y-", b"of\n"],
    );
    assert_eq!(text, "key: <redacted>\nnext k3y-of\n");
    let mut stream = StreamRedactor::new(redactor);
    assert_eq!(stream.push(b"ready\nkey: k3y-of-"), b"ready\n");
    assert_eq!(stream.rest(), b"key: <redacted>");
    assert_eq!(stream.push(b"xy\n"), b"key: k3y-of-xy\n");
}

#[test]
fn several_lines_are_one_secret() {
    let redactor = Redactor::new([PEM.to_owned()]);
    let text = format!("a\n{PEM}\nb\n");
    for length in 1..text.len() {
        let (begin, end) = text.split_at(length);
        let written = streamed(&redactor, &[begin.as_bytes(), end.as_bytes()]);
        assert_eq!(written, "a\n<redacted>\nb\n", "cut at {length}");
        // The server died within it.
        let written = streamed(&redactor, &[begin.as_bytes()]);
        assert_eq!(left_of("q83j", &written), None, "{written}");
    }
}

#[test]
fn long_lines_are_passed_on_without_what_looks_like_a_key() {
    let redactor = Redactor::new(["hunter22hunter".to_owned()]);
    let filling = "x ".repeat(LINE_BYTES_MAX / 2 - 4);
    let text = format!("{filling}sk-abcdef0123456789 {filling}hunter22hunter{filling}");
    let pieces: Vec<&[u8]> = text.as_bytes().chunks(4093).collect();
    let mut stream = StreamRedactor::new(redactor.clone());
    let first: usize = pieces.iter().map(|piece| stream.push(piece).len()).sum();
    assert!(first > LINE_BYTES_MAX, "{first}");
    let written = streamed(&redactor, &pieces);
    assert_eq!(
        written,
        format!("{filling}<redacted> {filling}<redacted>{filling}")
    );
}

#[test]
fn bytes_that_are_no_text_stay() {
    let redactor = Redactor::new(["hunter22".to_owned()]);
    let mut stream = StreamRedactor::new(redactor);
    let written = stream.push(b"\xff\xfehunter22\xff sk-abcdef0123456789\n");
    assert_eq!(written, b"\xff\xfe<redacted>\xff <redacted>\n");
}

proptest! {
    #[test]
    fn no_part_of_a_secret_is_left_however_a_stream_is_cut(
        secrets in prop::collection::vec("[a-z0-9/+\"\\\\ü\n-]{6,40}[0-9][A-Z]{3}", 1..5),
        words in prop::collection::vec((any::<prop::sample::Index>(), "[ a-z\n\\\\]{0,12}"), 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        end in any::<prop::sample::Index>(),
    ) {
        let redactor = Redactor::new(secrets.iter().cloned());
        let mut text = String::new();
        for (index, word) in &words {
            text.push_str(word);
            text.push_str("~~");
            text.push_str(&secrets[index.index(secrets.len())]);
        }
        // It breaks off anywhere.
        let bytes = &text.as_bytes()[..end.index(text.len() + 1)];
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        places.extend([0, bytes.len()]);
        places.sort_unstable();
        let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let written = streamed(&redactor, &pieces);
        let rest: String = words.iter().map(|(_, word)| word.as_str()).collect();
        for secret in &secrets {
            let left = left_of(secret, &written);
            prop_assert!(left.as_ref().is_none_or(|part| rest.contains(part.as_str())), "{left:?} of {secret:?} in {written:?}");
        }
        // The same for a text that is cut.
        let cut = redactor.cut(&text, end.index(text.len() + 1));
        for secret in &secrets {
            let left = left_of(secret, &cut);
            prop_assert!(left.as_ref().is_none_or(|part| rest.contains(part.as_str())), "{left:?} of {secret:?} in {cut:?}");
        }
    }

    #[test]
    fn a_stream_without_secrets_stays_as_it_is(
        text in prop::collection::vec(any::<u8>(), 0..400),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        // No byte of it is one of theirs.
        let secrets = ["\u{1}\u{2}\u{3}\u{4}", "\u{5}\u{6}\u{7}\u{4}\u{3}"].map(str::to_owned);
        let redactor = Redactor::new(secrets);
        let text: Vec<u8> = text.into_iter().filter(|byte| !matches!(*byte, 1..=7 | b'\\' | b'%' | b'&' | b' ' | b'=')).collect();
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let mut stream = StreamRedactor::new(redactor);
        let mut written = Vec::new();
        for pair in places.windows(2) {
            written.extend(stream.push(&text[pair[0]..pair[1]]));
        }
        written.extend(stream.finish());
        prop_assert_eq!(written, text);
    }
}
