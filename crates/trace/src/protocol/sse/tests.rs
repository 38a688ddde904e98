use std::convert::Infallible;

use futures_util::{FutureExt, StreamExt};
use proptest::prelude::*;

use super::*;

const LIMIT: usize = 1 << 16;

fn parse(chunks: &[&[u8]]) -> Vec<Event> {
    parse_within(LIMIT, chunks).unwrap()
}

fn parse_within(limit: usize, chunks: &[&[u8]]) -> Result<Vec<Event>, EventTooLarge> {
    let mut parser = EventParser::new(limit);
    let mut events = Vec::new();
    for chunk in chunks {
        parser.push(Bytes::copy_from_slice(chunk));
        while let Some(event) = parser.next_event()? {
            events.push(event);
        }
    }
    Ok(events)
}

fn data(stream: &[u8]) -> Vec<String> {
    parse(&[stream])
        .into_iter()
        .map(|event| String::from_utf8_lossy(&event.data).into_owned())
        .collect()
}

#[test]
fn every_line_ending_ends_a_line() {
    assert_eq!(
        data(b"data: a\n\ndata: b\r\rdata: c\r\n\r\ndata: d\r\n\n"),
        ["a", "b", "c", "d"]
    );
}

#[test]
fn a_line_feed_after_a_return_in_the_next_chunk_is_no_line_of_its_own() {
    let events = parse(&[b"data: a\r", b"\ndata: b\r", b"\n\r", b"\ndata: c\n\n"]);
    assert_eq!(events.len(), 2);
    assert_eq!(&events[0].data[..], b"a\nb");
}

#[test]
fn one_leading_space_is_dropped_and_data_lines_are_joined() {
    assert_eq!(data(b"data:a\ndata:  b\ndata\ndata: c\n\n"), ["a\n b\n\nc"]);
}

#[test]
fn comments_and_unknown_fields_are_no_events() {
    assert_eq!(
        data(b": ping\n\n:\r\nother: 1\n\nevent: only\n\ndata: a\n: b\n\n"),
        ["a"]
    );
}

#[test]
fn a_byte_order_mark_is_dropped_at_the_start_only() {
    assert_eq!(
        data(b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n"),
        ["a"]
    );
    assert_eq!(parse(&[b"\xef", b"\xbb", b"\xbf", b"data: a\n\n"]).len(), 1);
}

#[test]
fn an_id_with_nul_and_a_retry_that_is_no_number_are_ignored() {
    let events = parse(&[b"id: a\0b\nretry: 1x\nretry: +1\ndata: a\n\nid: 5\nretry: 250\n\n"]);
    assert_eq!((events[0].id.as_ref(), events[0].retry_ms), (None, None));
    assert_eq!(
        (events[1].id.as_deref(), events[1].retry_ms),
        (Some(&b"5"[..]), Some(250))
    );
    assert!(events[1].data.is_empty());
}

#[test]
fn a_priming_event_has_an_id_and_empty_data() {
    let events = parse(&[b"id: 1\ndata:\n\n"]);
    assert_eq!(
        (&events[0].data[..], events[0].id.as_deref()),
        (&b""[..], Some(&b"1"[..]))
    );
}

#[test]
fn only_the_default_type_is_a_message() {
    let events = parse(&[b"data: 1\n\nevent: message\ndata: 2\n\nevent: ping\ndata: 3\n\n"]);
    let messages: Vec<bool> = events.iter().map(Event::is_message).collect();
    assert_eq!(messages, [true, true, false]);
}

#[test]
fn an_unfinished_event_is_not_given() {
    assert!(data(b"data: a\n").is_empty());
}

#[test]
fn an_event_that_never_ends_is_an_error_with_its_beginning() {
    let mut parser = EventParser::new(10_000);
    parser.push("data: {\"id\":7,".into());
    assert_eq!(parser.next_event(), Ok(None));
    let error = loop {
        parser.push(Bytes::from(vec![b'x'; 512]));
        if let Err(error) = parser.next_event() {
            break error;
        }
    };
    assert!((10_000..11_000).contains(&error.size), "{}", error.size);
    assert!(error.head.starts_with(b"{\"id\":7,") && error.head.len() == HEAD_LENGTH);
    parser.push("\n\ndata: a\n\n".into());
    assert_eq!(parser.next_event(), Err(error));
}

#[test]
fn an_event_of_many_lines_is_bounded_too() {
    let stream = b"data: 12345678\n".repeat(3);
    let error = parse_within(20, &[&stream]).unwrap_err();
    assert!(error.head.starts_with(b"12345678"));
    assert!(parse_within(40, &[&stream, b"\n"]).is_ok());
    let error = parse_within(20, &[b"data: 123456789012345678\n\n"]).unwrap_err();
    assert_eq!(&error.head[..], b"123456789012345678");
}

#[test]
fn a_single_line_in_a_single_chunk_is_not_copied() {
    let chunk = Bytes::from_static(b"data: abc\n\n");
    let mut parser = EventParser::new(LIMIT);
    parser.push(chunk.clone());
    let event = parser.next_event().unwrap().unwrap();
    assert_eq!(event.data.as_ptr(), chunk[6..].as_ptr());
}

fn oracle(stream: &[u8]) -> Vec<Event> {
    let chunks = futures_util::stream::iter([Ok::<_, Infallible>(Bytes::copy_from_slice(stream))]);
    let events: Vec<_> = sse_stream::SseByteStream::new(chunks)
        .collect()
        .now_or_never()
        .unwrap();
    let to_bytes = |text: Option<String>| text.map(Bytes::from);
    events
        .into_iter()
        .map(Result::unwrap)
        .filter(|event| event.data.is_some() || event.id.is_some() || event.retry.is_some())
        .map(|event| Event {
            event: to_bytes(event.event).unwrap_or_default(),
            data: to_bytes(event.data).unwrap_or_default(),
            id: to_bytes(event.id),
            retry_ms: event.retry,
        })
        .collect()
}

fn line() -> impl Strategy<Value = String> {
    let ending = prop::sample::select(vec!["\n", "\r", "\r\n"]);
    let content = prop_oneof![
        3 => Just(String::new()),
        4 => "data: ?[^\r\n]{0,12}",
        1 => "event: ?[a-z]{0,8}",
        1 => "id: ?[a-z0-9\u{0}]{0,4}",
        1 => "retry: ?[0-9a-c]{0,4}",
        1 => ":[^\r\n]{0,6}",
        1 => "[a-z]{1,5}(: [a-z]{1,3})?",
        1 => Just("data".to_owned()),
    ];
    (content, ending).prop_map(|(content, ending)| content + ending)
}

fn stream() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(line(), 0..40).prop_map(|lines| lines.concat().into_bytes())
}

fn split<'a>(mut bytes: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut chunks = Vec::new();
    for size in sizes {
        let (chunk, rest) = bytes.split_at(*size.min(&bytes.len()));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks.push(bytes);
    chunks
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..512),
        sizes in prop::collection::vec(0_usize..16, 0..64),
        limit in 0_usize..256,
    ) {
        let _ = parse_within(limit, &split(&bytes, &sizes));
    }

    #[test]
    fn chunking_changes_nothing(
        bytes in stream(),
        sizes in prop::collection::vec(0_usize..8, 0..64),
        limit in 0_usize..64,
    ) {
        prop_assert_eq!(parse(&split(&bytes, &sizes)), parse(&[&bytes]));
        let whole = parse_within(limit, &[&bytes]).is_ok();
        prop_assert_eq!(parse_within(limit, &split(&bytes, &sizes)).is_ok(), whole);
    }

    #[test]
    fn another_parser_agrees(bytes in stream()) {
        prop_assert_eq!(parse(&[&bytes]), oracle(&bytes));
    }
}
