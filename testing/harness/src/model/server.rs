//! The server of the model: one thread to listen, one for each connection, one request on each.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::scripts::Script;
use super::{Asked, Said, Shape};

/// The largest request that is read.
const BODY_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long a client may take to say something.
const READ_TIMEOUT: Duration = Duration::from_mins(1);

/// A model behind an address. It ends when it is dropped.
pub struct FakeModel {
    address: SocketAddr,
    state: Arc<State>,
    listener: Option<JoinHandle<()>>,
}

struct State {
    script: Script,
    asked: Mutex<Vec<Asked>>,
    is_over: AtomicBool,
}

impl FakeModel {
    /// Starts a model that answers by this script.
    ///
    /// # Panics
    ///
    /// When no port can be had.
    pub fn start(script: impl Fn(&Asked) -> Said + Send + Sync + 'static) -> Self {
        Self::start_at(0, Arc::new(script)).expect("no port for the fake model")
    }

    /// The same at this port; 0 for any.
    pub fn start_at(port: u16, script: Script) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            script,
            asked: Mutex::default(),
            is_over: AtomicBool::new(false),
        });
        let shared = Arc::clone(&state);
        let listener = std::thread::spawn(move || listen(&listener, &shared));
        Ok(Self {
            address,
            state,
            listener: Some(listener),
        })
    }

    /// The address, without a path: a base for both providers.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests so far, in the order of their arrival.
    pub fn asked(&self) -> Vec<Asked> {
        self.state.asked().clone()
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.state.is_over.store(true, Ordering::SeqCst);
        // Wakes the listener up.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl State {
    fn asked(&self) -> MutexGuard<'_, Vec<Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn listen(listener: &TcpListener, state: &Arc<State>) {
    for stream in listener.incoming() {
        if state.is_over.load(Ordering::SeqCst) {
            return;
        }
        if let Ok(stream) = stream {
            let state = Arc::clone(state);
            std::thread::spawn(move || {
                // A client that leaves has all that it wants.
                let _ = serve(stream, &state);
            });
        }
    }
}

fn serve(stream: TcpStream, state: &State) -> io::Result<()> {
    stream.set_read_timeout(Some(READ_TIMEOUT))?;
    let mut reader = BufReader::new(stream);
    let Some(mut asked) = read(&mut reader)? else {
        return respond(
            reader.into_inner(),
            404,
            None,
            "{\"error\":\"no such path\"}",
        );
    };
    {
        let mut before = state.asked();
        let same = before.iter().filter(|other| other.raw == asked.raw);
        asked.repetition = same.count();
        before.push(asked.clone());
    }
    let said = (state.script)(&asked);
    let retry_after = match said {
        Said::Silence => return Ok(()),
        Said::Status { retry_after, .. } => retry_after,
        Said::Speech(_) | Said::Raw(_) => None,
    };
    let (status, body) = said.respond(&asked);
    respond(reader.into_inner(), status, retry_after, &body)
}

/// A request; none where the path is of no provider.
fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Asked>> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let path = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length: usize = length
        .and_then(|(_, value)| value.parse().ok())
        .unwrap_or(0);
    let mut raw = vec![0; length.min(BODY_BYTES_MAX)];
    reader.read_exact(&mut raw)?;
    let shape = if path.ends_with("/v1/messages") {
        Shape::Anthropic
    } else if path.ends_with("/chat/completions") {
        Shape::OpenAi
    } else {
        return Ok(None);
    };
    Ok(Some(Asked {
        shape,
        path,
        headers,
        body: serde_json::from_slice(&raw).unwrap_or_default(),
        raw,
        repetition: 0,
    }))
}

fn respond(
    mut stream: TcpStream,
    status: u16,
    retry_after: Option<&str>,
    body: &str,
) -> io::Result<()> {
    let retry_after = retry_after.map(|value| format!("retry-after: {value}\r\n"));
    let head = format!(
        "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n{}\r\n",
        body.len(),
        retry_after.unwrap_or_default()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}
