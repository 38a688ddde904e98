//! Newline-delimited messages over a pair of streams: stdio, or a pipe in memory.

use tokio::io::{AsyncBufReadExt, BufReader};

use crate::prelude::*;

/// How long requests may still be worked on after the client closed our input.
pub const DRAIN_TIME: Duration = Duration::from_millis(500);
/// How often to look whether they are done.
const DRAIN_STEP: Duration = Duration::from_millis(5);
/// How long the last answers may take to be written, if nobody reads them.
const FLUSH_TIME: Duration = Duration::from_secs(1);
/// How much is read at a time.
const READ_BYTES: usize = 64 * 1024;
/// An answer of more is not copied to be written together with others.
const COPIED_BYTES_MAX: usize = 64 * 1024;
/// How many answers are written at a time.
const WRITE_BATCH: usize = 256;

/// Serves until the client closes our input or no longer reads our output, or the mode ends; returns the exit status.
pub async fn run(
    host: Arc<Host>,
    input: impl AsyncRead + Unpin + Send,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> u8 {
    if host.behaviour.is_lean() {
        return tokio::select! {
            status = host.ended() => status,
            () = lean::run(Arc::clone(&host), input, output) => 0,
        };
    }
    let (peer, answers) = Peer::connect(&host, &Arc::default());
    let session = &peer.session;
    let (stop, stopped) = oneshot::channel();
    let mut writer = tokio::spawn(write(Arc::clone(&host), answers, output, stopped));
    let status = tokio::select! {
        biased;
        status = host.ended() => status,
        () = read(&peer, input) => 0,
        _ = &mut writer => {
            // Nobody reads what we say: the client is gone, whatever it left open.
            host.behaviour.left(session);
            tokio::time::sleep(host.behaviour.linger()).await;
            0
        }
    };
    session.close(host.why_closed());
    host.settled().await;
    // The writer may be gone already, with the client.
    let _ = stop.send(());
    if !writer.is_finished() {
        let _ = tokio::time::timeout(FLUSH_TIME, writer).await;
    }
    status
}

/// Serves the lean mode on the stdio of this process, without a task hop between reading and
/// writing.
pub async fn run_lean(host: Arc<Host>) -> u8 {
    let served = tokio::task::spawn_blocking(move || {
        lean::run_blocking(host, std::io::stdin().lock(), std::io::stdout().lock());
    });
    u8::from(served.await.is_err())
}

async fn read(peer: &Peer, input: impl AsyncRead + Unpin) {
    let host = &peer.host;
    host.behaviour.start(host).await;
    let mut input = BufReader::with_capacity(READ_BYTES, input);
    let mut line = Vec::new();
    loop {
        match read_line(&mut input, &mut line).await {
            Ok(Line::Whole) if line.trim_ascii().is_empty() => {}
            Ok(Line::Whole) => dispatch::receive(peer, &line).await,
            Ok(Line::TooLong) => {
                let refusal = Refusal::new(INVALID_REQUEST, "Invalid request: too long");
                dispatch::refuse(peer, &[], &Value::Null, &refusal).await;
            }
            Ok(Line::End) | Err(_) => break,
        }
    }
    host.behaviour.left(&peer.session);
    // Quick work may finish, so that `printf … | mcprove fixture normal` is answered. What takes longer is given up.
    let is_idle = || !peer.session.in_flight.is_busy();
    wait_until(is_idle, DRAIN_STEP, DRAIN_TIME).await;
    tokio::time::sleep(host.behaviour.linger()).await;
}

#[derive(Clone, Copy, PartialEq)]
enum Line {
    Whole,
    TooLong,
    End,
}

/// Reads the next line into `line`, of which no more than [`FRAME_BYTES_MAX`] is kept.
async fn read_line(
    input: &mut (impl AsyncBufReadExt + Unpin),
    line: &mut Vec<u8>,
) -> std::io::Result<Line> {
    line.clear();
    let mut found = Line::Whole;
    loop {
        let chunk = input.fill_buf().await?;
        if chunk.is_empty() {
            let is_end = line.is_empty() && found == Line::Whole;
            return Ok(if is_end { Line::End } else { found });
        }
        let newline = memchr::memchr(b'\n', chunk);
        let length = newline.unwrap_or(chunk.len());
        if line.len() + length > FRAME_BYTES_MAX {
            found = Line::TooLong;
            line.clear();
        }
        if found == Line::Whole {
            line.extend_from_slice(chunk.get(..length).unwrap_or_default());
        }
        input.consume(newline.map_or(length, |newline| newline + 1));
        if newline.is_some() {
            return Ok(found);
        }
    }
}

/// Writes answers as they come, many at once, until told to stop; then what is left of them.
async fn write(
    host: Arc<Host>,
    mut answers: Answers,
    mut output: impl AsyncWrite + Unpin,
    mut stopped: oneshot::Receiver<()>,
) {
    let mut batch = Vec::with_capacity(WRITE_BATCH);
    loop {
        let count = tokio::select! {
            biased;
            count = answers.recv_many(&mut batch, WRITE_BATCH) => count,
            _ = &mut stopped => 0,
        };
        if count == 0 {
            break;
        }
        let mut bytes = Vec::new();
        let mut is_cut = false;
        for outgoing in batch.drain(..) {
            if outgoing.bytes.len() > COPIED_BYTES_MAX {
                if output.write_all(&bytes).await.is_err()
                    || output.write_all(&outgoing.bytes).await.is_err()
                {
                    break;
                }
                bytes.clear();
            } else {
                bytes.extend_from_slice(&outgoing.bytes);
            }
            if outgoing.ending.is_whole() {
                bytes.push(b'\n');
            }
            is_cut = outgoing.ending == Ending::Cut;
            if is_cut {
                break;
            }
        }
        if output.write_all(&bytes).await.is_err() || output.flush().await.is_err() {
            break;
        }
        if is_cut {
            host.end(0);
            break;
        }
    }
    // The client learns that nothing more comes; it may have left before us.
    let _ = output.shutdown().await;
}
