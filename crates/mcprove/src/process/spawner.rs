//! The one thread that starts processes.
//!
//! The kernel sends the parent-death signal when the *thread* that started a process ends, not
//! the whole program. The threads of a runtime come and go; this one stays.

use std::io;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread;

use super::lock;

struct Request {
    command: Command,
    answer: SyncSender<io::Result<Child>>,
}

static SPAWNER: Mutex<Option<Sender<Request>>> = Mutex::new(None);

/// Starts `command` on the spawner thread and waits until it runs.
pub(super) fn spawn(command: Command) -> io::Result<Child> {
    let (answer, answered) = sync_channel(1);
    let gone = || io::Error::other("the thread that starts processes is gone");
    spawner()?
        .send(Request { command, answer })
        .map_err(|_| gone())?;
    answered.recv().map_err(|_| gone())?
}

fn spawner() -> io::Result<Sender<Request>> {
    let mut spawner = lock(&SPAWNER);
    if let Some(spawner) = &*spawner {
        return Ok(spawner.clone());
    }
    let (sender, requests) = channel();
    thread::Builder::new()
        .name("mcprove-spawner".to_owned())
        .spawn(move || serve(&requests))?;
    *spawner = Some(sender.clone());
    Ok(sender)
}

fn serve(requests: &Receiver<Request>) {
    for mut request in requests {
        // Who asked waits for the answer, so it is taken.
        let _ = request.answer.send(request.command.spawn());
    }
}
