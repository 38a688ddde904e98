//! One POST on a connection of its own, for those who want neither sessions nor streams: model providers.

use http::header::{DATE, HOST, RETRY_AFTER};

use super::exchange::unasked_encoding;
use super::prelude::*;

/// Some providers tell it in milliseconds.
pub const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// Where something is posted to.
pub struct Post {
    address: Address,
    headers: HeaderMap,
    options: HttpOptions,
}

/// What came back.
#[derive(Debug)]
pub struct Posted {
    pub status: u16,
    /// How long to wait before another try, if the server says so.
    pub retry_after: Option<Duration>,
    pub body: Vec<u8>,
}

impl Post {
    /// To this address, with these headers. A body of the response is refused beyond `max_body`.
    pub fn new(
        url: &str,
        headers: &[(&'static str, String)],
        max_body: usize,
    ) -> Result<Self, Failure> {
        let options = HttpOptions {
            max_frame: max_body,
            ..HttpOptions::default()
        };
        let address = Address::parse(url, ("http", "https"), &options)?;
        let mut all = HeaderMap::new();
        all.insert(HOST, address.host_header.clone());
        for (name, value) in headers {
            // The value may be a secret, so it is not told.
            let value = HeaderValue::from_str(value).map_err(|_| {
                let message = format!("the value of the header {name} cannot be sent");
                Failure::disconnected(message)
            })?;
            all.insert(HeaderName::from_static(name), value);
        }
        Ok(Self {
            address,
            headers: all,
            options,
        })
    }

    /// A header that is sent with it.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Sends it, once.
    pub async fn send(&self, body: &[u8]) -> Result<Posted, Failure> {
        let mut connection = Connection::open(&self.address, &self.options).await?;
        let request = Request {
            body,
            ..Request::new(&Method::POST, &self.address.path, &self.headers)
        };
        let head = connection.send(&request).await?;
        if unasked_encoding(&head.headers).is_some() {
            let message = "the answer is compressed, which was not requested";
            return Err(Failure::malformed(message));
        }
        let body = read_body(&mut connection, self.options.max_frame).await?;
        Ok(Posted {
            status: head.status.as_u16(),
            retry_after: retry_after(&head.headers),
            body: body.to_vec(),
        })
    }
}

/// Seconds, with or without a fraction, milliseconds, or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &HeaderName| -> Option<f64> {
        let number: f64 = headers.get(name)?.to_str().ok()?.trim().parse().ok()?;
        number.is_finite().then_some(number)
    };
    let millis = number(&RETRY_AFTER_MS).map(|millis| millis / 1_000.0);
    match millis.or_else(|| number(&RETRY_AFTER)) {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => until_date(headers),
    }
}

/// How long it is until the date that a server names, by its own clock where it tells that, for ours need not be the
/// same. One that has passed is no wait at all.
fn until_date(headers: &HeaderMap) -> Option<Duration> {
    let date =
        |name: &HeaderName| httpdate::parse_http_date(headers.get(name)?.to_str().ok()?).ok();
    let until = date(&RETRY_AFTER)?;
    let now = date(&DATE).unwrap_or_else(SystemTime::now);
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_read_as_far_as_they_are_numbers() {
        let wait = |name: HeaderName, value: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, HeaderValue::from_static(value));
            retry_after(&headers)
        };
        assert_eq!(wait(RETRY_AFTER, "2"), Some(Duration::from_secs(2)));
        assert_eq!(wait(RETRY_AFTER, "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(
            wait(RETRY_AFTER_MS, "250"),
            Some(Duration::from_millis(250))
        );
        for odd in ["-1", "NaN", "Wed, 41 Oct 2026 07:28:00 GMT", "1e300", ""] {
            assert_eq!(wait(RETRY_AFTER, odd), None, "{odd}");
        }
    }

    #[test]
    fn a_wait_until_a_date_is_told_by_the_clock_of_the_server() {
        let mut headers = HeaderMap::new();
        let mut wait = |name: HeaderName, value: &'static str| {
            headers.insert(name, HeaderValue::from_static(value));
            retry_after(&headers)
        };
        // Our clock is far beyond that.
        let until = "Wed, 21 Oct 2015 07:28:07 GMT";
        assert_eq!(wait(RETRY_AFTER, until), Some(Duration::ZERO));
        let now = "Wed, 21 Oct 2015 07:28:00 GMT";
        assert_eq!(wait(DATE, now), Some(Duration::from_secs(7)));
    }
}
