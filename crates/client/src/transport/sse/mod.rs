//! HTTP+SSE, the transport of revision 2024-11-05: one event stream for all that the server
//! says, and an endpoint, named in its first event, that takes what we say.
//!
//! The stream is read here; the POSTs go through the pool of streamable HTTP, which only has to
//! know that their responses carry no answers.

use super::http::HttpChannel;
use super::http::prelude::*;
use super::http::stream::{EventReader, refusal};

/// The event that names the endpoint.
const ENDPOINT: &[u8] = b"endpoint";

/// Opens the stream at `url` and waits until the server has named its endpoint, all within
/// the connect timeout.
///
/// Must be called within a tokio runtime, which then runs the channel's tasks.
pub async fn connect(
    url: &str,
    headers: &BTreeMap<String, String>,
    options: HttpOptions,
    inbox: Arc<dyn Inbox>,
) -> Result<Arc<HttpChannel>, Failure> {
    let address = Address::parse(url, ("http", "https"), &options)?;
    let headers = Headers::new(&address.host_header, headers)?;
    let opening = open(&address, &headers, &options);
    let (stream, endpoint) = address
        .within(&options, "no endpoint event", opening)
        .await?;
    let pool = Pool::new(endpoint, options, Answers::OnStream, headers, inbox);
    let reader = tokio::spawn(read(Arc::clone(&pool), stream)).abort_handle();
    Ok(HttpChannel::new(pool, Some(reader)))
}

/// The stream that carries every answer.
type Stream = (Connection, EventReader);

async fn open(
    address: &Address,
    headers: &Headers,
    options: &HttpOptions,
) -> Result<(Stream, Address), Failure> {
    let mut connection = Connection::open(address, options).await?;
    let headers = headers.get();
    let request = Request::new(&Method::GET, &address.path, &headers);
    let head = connection.send(&request).await?;
    if let Some(mut failure) = refusal(&mut connection, &head).await {
        failure.message = format!("there is no event stream at this address: {failure}");
        return Err(failure);
    }
    let mut events = EventReader::new(options.max_frame);
    while let Some(event) = events.next(&mut connection).await? {
        if event.event == ENDPOINT {
            let endpoint = address.join(String::from_utf8_lossy(&event.data).trim())?;
            return Ok(((connection, events), endpoint));
        }
    }
    let message = "the server closed the event stream before it named its endpoint";
    Err(Failure::disconnected(message))
}

/// Delivers what arrives until the stream ends, and with it the channel.
async fn read(pool: Arc<Pool>, (mut connection, mut events): Stream) {
    let end = loop {
        match events.next(&mut connection).await {
            Ok(Some(event)) if event.is_message() && !event.data.is_empty() => {
                pool.inbox.deliver(event.data);
            }
            Ok(Some(_)) => {}
            Ok(None) => {
                let message = "the server closed the event stream";
                break Failure::disconnected(message);
            }
            Err(failure) if failure.category == ErrorCategory::Malformed => {
                let message = format!("the event stream cannot be read on: {failure}");
                pool.inbox.fail(None, failure);
                break Failure::disconnected(message);
            }
            Err(failure) => break failure,
        }
    };
    pool.close();
    pool.inbox.closed(end);
}

#[cfg(test)]
mod tests;
