//! Lines from one side to the other: as they are, unless the hub says otherwise.
//!
//! Lines that arrive together leave together. A line is held until it is whole, so that nothing else gets
//! into it; one longer than [`LOOK_BYTES_MAX`] goes on in pieces, unseen, and holds the way out until it
//! ends.

use bytes::Buf;

use super::prelude::*;

/// How much is read at once.
const READ_BYTES: usize = 64 * 1024;
/// How much of a line that is too long is shown.
const HEAD_BYTES: usize = 4096;

/// Passes lines on until `input` ends. What nobody takes any more is read all the same.
pub async fn pump(input: &mut (impl AsyncRead + Unpin), hub: &Arc<Hub>, from: Peer) {
    let lane = match from {
        Peer::Client => &hub.to_server,
        Peer::Server => &hub.to_client,
    };
    let mut buffer = BytesMut::with_capacity(READ_BYTES);
    // Bytes at the start of the buffer that are known to hold no line break.
    let mut searched = 0;
    while read(input, &mut buffer).await {
        let unsearched = buffer.get(searched..).unwrap_or_default();
        if let Some(last) = memchr::memrchr(b'\n', unsearched) {
            let whole = searched + last + 1;
            pass(buffer.get(..whole).unwrap_or_default(), lane, hub, from).await;
            buffer.advance(whole);
        }
        searched = buffer.len();
        if searched > LOOK_BYTES_MAX {
            hub.skip(from, buffer.get(..HEAD_BYTES).unwrap_or_default());
            stream(input, &mut buffer, lane).await;
            searched = 0;
        }
    }
    pass(&buffer, lane, hub, from).await;
}

/// Reads some more; `false` at the end.
async fn read(input: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut) -> bool {
    if buffer.capacity() - buffer.len() < READ_BYTES / 4 {
        buffer.reserve(READ_BYTES);
    }
    matches!(input.read_buf(buffer).await, Ok(1..))
}

/// Passes whole lines on, and a last one without a line break.
async fn pass(lines: &[u8], lane: &Lane, hub: &Arc<Hub>, from: Peer) {
    if !hub.is_looking(from) {
        lane.write(lines).await;
        return;
    }
    let mut rest = lines;
    // How much of `rest` goes on as it is.
    let mut passing = 0;
    while passing < rest.len() {
        let ahead = rest.get(passing..).unwrap_or_default();
        let length = memchr::memchr(b'\n', ahead).map_or(ahead.len(), |newline| newline + 1);
        let verdict = hub.look(from, ahead.get(..length).unwrap_or_default());
        if matches!(verdict, Passage::Pass) {
            passing += length;
            continue;
        }
        lane.write(rest.get(..passing).unwrap_or_default()).await;
        if let Passage::Replace(line) = verdict {
            lane.write(&line).await;
        }
        rest = rest.get(passing + length..).unwrap_or_default();
        passing = 0;
    }
    lane.write(rest).await;
}

/// Passes a line on whose end is not here yet, in pieces; leaves in the buffer what comes after it.
async fn stream(input: &mut (impl AsyncRead + Unpin), buffer: &mut BytesMut, lane: &Lane) {
    let mut held = lane.hold().await;
    held.write(buffer).await;
    // It has grown large, and is not needed that large again.
    *buffer = BytesMut::with_capacity(READ_BYTES);
    while read(input, buffer).await {
        let newline = memchr::memchr(b'\n', buffer);
        let length = newline.map_or(buffer.len(), |newline| newline + 1);
        held.write(buffer.get(..length).unwrap_or_default()).await;
        buffer.advance(length);
        if newline.is_some() {
            return;
        }
    }
}
