//! The least that a client on an asynchronous runtime can do and still match answers to calls: one
//! thread, one shared buffer out, a borrowed envelope, a place per call. No metrics, no deadlines,
//! no cancelling, no second thought about what the server sends.

use std::cell::RefCell;
use std::future::poll_fn;
use std::hint::black_box;
use std::io::Write;
use std::process::Stdio;
use std::rc::Rc;
use std::task::{Poll, Waker};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::Notify;
use tokio::task::{LocalSet, spawn_local};

use super::PARAMS;
use crate::{Outcome, cpu_us, runtime};

const READ_BYTES: usize = 256 * 1024;

#[derive(Deserialize)]
struct Answer<'a> {
    jsonrpc: &'a str,
    id: usize,
    #[serde(borrow)]
    result: &'a RawValue,
}

/// What the workers, the reader and the writer share.
struct Shared {
    unsent: RefCell<Vec<u8>>,
    filled: Notify,
    /// A place for each call in flight: who waits, or what came.
    places: RefCell<Vec<Place>>,
}

#[derive(Default)]
struct Place {
    waker: Option<Waker>,
    answer: Option<Box<str>>,
}

/// Microseconds of CPU per call with so many calls in flight.
pub fn lean_client(program: &str, in_flight: usize, calls: usize) -> Outcome<f64> {
    eprintln!("reference: lean client, {in_flight} in flight");
    let per_worker = calls / in_flight;
    let shared = Rc::new(Shared {
        unsent: RefCell::default(),
        filled: Notify::new(),
        places: RefCell::new((0..in_flight).map(|_| Place::default()).collect()),
    });
    LocalSet::new().block_on(&runtime()?, async {
        let mut child = Command::new(program)
            .args(["fixture", "echo"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".into());
        };
        spawn_local(write(Rc::clone(&shared), input));
        spawn_local(read(Rc::clone(&shared), output));
        work(&shared, in_flight, per_worker / 10 + 1).await?;
        let before = cpu_us();
        work(&shared, in_flight, per_worker).await?;
        #[allow(clippy::cast_precision_loss)]
        Ok((cpu_us() - before) / (per_worker * in_flight) as f64)
    })
}

async fn work(shared: &Rc<Shared>, in_flight: usize, count: usize) -> Outcome<()> {
    let workers: Vec<_> = (0..in_flight)
        .map(|place| {
            let shared = Rc::clone(shared);
            spawn_local(async move {
                for _ in 0..count {
                    black_box(call(&shared, place).await);
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await?;
    }
    Ok(())
}

async fn call(shared: &Shared, place: usize) -> Box<str> {
    {
        let mut unsent = shared.unsent.borrow_mut();
        let was_empty = unsent.is_empty();
        // Writing to a vector does not fail.
        let _ = writeln!(
            unsent,
            r#"{{"jsonrpc":"2.0","id":{place},"method":"tools/call","params":{PARAMS}}}"#
        );
        if was_empty {
            shared.filled.notify_one();
        }
    }
    poll_fn(|context| {
        let place = &mut shared.places.borrow_mut()[place];
        if let Some(answer) = place.answer.take() {
            return Poll::Ready(answer);
        }
        place.waker = Some(context.waker().clone());
        Poll::Pending
    })
    .await
}

async fn write(shared: Rc<Shared>, mut input: ChildStdin) {
    let mut batch = Vec::new();
    loop {
        std::mem::swap(&mut *shared.unsent.borrow_mut(), &mut batch);
        if batch.is_empty() {
            shared.filled.notified().await;
        } else if input.write_all(&batch).await.is_err() {
            return;
        }
        batch.clear();
    }
}

async fn read(shared: Rc<Shared>, mut output: ChildStdout) {
    let mut buffer = Vec::with_capacity(READ_BYTES);
    while let Ok(count) = output.read_buf(&mut buffer).await {
        if count == 0 {
            return;
        }
        let mut rest = buffer.as_slice();
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, after) = rest.split_at(end + 1);
            rest = after;
            settle(&shared, line);
        }
        let read = buffer.len() - rest.len();
        buffer.drain(..read);
        buffer.reserve(READ_BYTES);
    }
}

fn settle(shared: &Shared, line: &[u8]) {
    let Ok(answer) = serde_json::from_slice::<Answer>(line) else {
        return;
    };
    if answer.jsonrpc != "2.0" {
        return;
    }
    let mut places = shared.places.borrow_mut();
    let Some(place) = places.get_mut(answer.id) else {
        return;
    };
    place.answer = Some(answer.result.get().into());
    let waker = place.waker.take();
    drop(places);
    if let Some(waker) = waker {
        waker.wake();
    }
}
