//! The way to a model provider over the network.
//!
//! One request is one connection and is sent once: whoever wants another try asks again, and says so in
//! the trace. Keys travel in headers and nowhere else.

use mcprove_client::transport::http::post::Post;

use super::provider::Entry;
use crate::prelude::*;

/// The largest answer of a model that is read.
const ANSWER_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Where a server listens whose address names no port.
const HTTPS_PORT: u16 = 443;
/// Who we say we are.
const USER_AGENT: &str = concat!("mcprove/", env!("CARGO_PKG_VERSION"));

/// A provider, over the network.
pub struct LiveWire {
    post: Post,
    path: &'static str,
}

impl LiveWire {
    /// The way to this model. Nothing is sent yet. What is taken from the environment is a secret from now on.
    pub fn new(plan: &ModelPlan, environment: &Environment) -> DiagnosticResult<Self> {
        let entry = plan.provider;
        let told = match &plan.base_url {
            Some(base) => Some(environment.fill(base).map_err(|error| {
                let model = &plan.model;
                error.of(format!("the base_url of the model {model} cannot be used"))
            })?),
            None => environment.get(entry.base_url_env),
        };
        let told = told.filter(|base| !base.trim().is_empty());
        let is_own = told.as_deref().is_none_or(|base| is_own(entry, base));
        let key = key(plan, entry, environment, is_own)?;
        let base = told.unwrap_or_else(|| entry.base_url.to_owned());
        let mut headers = vec![
            ("content-type", "application/json".to_owned()),
            ("accept", "application/json".to_owned()),
            ("user-agent", USER_AGENT.to_owned()),
        ];
        headers.extend((entry.headers)(key.as_deref()));
        let post =
            Post::new(&url(entry, &base), &headers, ANSWER_BYTES_MAX).map_err(|failure| {
                Diagnostic::new(
                    failure.to_string(),
                    "give base_url as in http://127.0.0.1:11434/v1, without a key in it",
                )
            })?;
        Ok(Self {
            post,
            path: entry.path,
        })
    }

    async fn ask(&self, request: &ModelRequest) -> Result<ModelReply, WireError> {
        let began = Instant::now();
        debug_assert_eq!(request.path, self.path, "one wire is for one provider");
        let sent = tokio::time::timeout(request.timeout, self.post.send(&request.body)).await;
        let duration = began.elapsed();
        let (kind, duration) = match sent {
            Ok(Ok(posted)) => {
                return Ok(ModelReply {
                    status: posted.status,
                    retry_after: posted.retry_after,
                    body: posted.body,
                    duration,
                });
            }
            Ok(Err(failure)) => (failed(&failure), duration),
            // A whole number of it, so that the clock does not depend on when we woke up.
            Err(_) => (WireErrorKind::Timeout, request.timeout),
        };
        Err(WireError { kind, duration })
    }
}

fn failed(failure: &Failure) -> WireErrorKind {
    match failure.detail {
        Detail::Oversized { .. } => WireErrorKind::Final(Diagnostic::new(
            format!(
                "the answer of the model provider is larger than {ANSWER_BYTES_MAX} bytes, and more is not read"
            ),
            "check that base_url is of a model provider, or lower max_tokens",
        )),
        Detail::Refused => WireErrorKind::Refused(failure.to_string()),
        _ => WireErrorKind::Unreachable(failure.to_string()),
    }
}

/// Whether an address is of the provider itself, and safe from others on the way.
fn is_own(entry: &Entry, base: &str) -> bool {
    let origin = |url: &str| -> Option<(String, String, u16)> {
        let url: http::Uri = url.trim().parse().ok()?;
        let scheme = url.scheme_str()?.to_ascii_lowercase();
        let port = url
            .port_u16()
            .or_else(|| (scheme == "https").then_some(HTTPS_PORT))?;
        Some((scheme, url.host()?.to_ascii_lowercase(), port))
    };
    origin(base).is_some_and(|own| Some(own) == origin(entry.base_url))
}

/// The key. A server that is not the provider's own, such as Ollama, may want none; and a file alone does not
/// decide that it gets the key that was meant for the provider.
fn key(
    plan: &ModelPlan,
    entry: &Entry,
    environment: &Environment,
    is_own: bool,
) -> DiagnosticResult<Option<String>> {
    let variable = plan.api_key_env.as_deref();
    if variable.is_none() && !is_own && plan.base_url.is_some() {
        return Ok(None);
    }
    let name = variable.unwrap_or(entry.api_key_env);
    let key = environment.get(name).filter(|key| !key.trim().is_empty());
    if key.is_none() && (variable.is_some() || is_own) {
        return Err(Diagnostic::new(
            format!(
                "there is no key for the model {}: {name} is not set",
                plan.model
            ),
            format!(
                "set {name}, name another variable with provider: {{ api_key_env: … }}, or replay a recording"
            ),
        ));
    }
    Ok(key.map(|key| key.trim().to_owned()))
}

/// The whole address. By custom the base of one provider has the version in it and that of the other has
/// not; either way it stands there once.
fn url(entry: &Entry, base: &str) -> String {
    const VERSION: &str = "/v1";
    let base = base.trim().trim_end_matches('/');
    let has_path = base
        .split_once("://")
        .map_or(base, |(_, rest)| rest)
        .contains('/');
    let is_told = base.ends_with(VERSION) || (entry.is_version_in_base && has_path);
    let path = if is_told {
        entry.path.strip_prefix(VERSION).unwrap_or(entry.path)
    } else {
        entry.path
    };
    format!("{base}{path}")
}

impl ModelWire for LiveWire {
    fn send<'a>(
        &'a self,
        request: &'a ModelRequest,
    ) -> BoxFuture<'a, Result<ModelReply, WireError>> {
        Box::pin(self.ask(request))
    }

    fn wait(&self, duration: Duration) -> BoxFuture<'_, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(provider: &'static crate::agent::provider::Entry) -> ModelPlan {
        ModelPlan {
            model: "m".to_owned(),
            provider,
            base_url: None,
            api_key_env: None,
            temperature: None,
            max_tokens: 100,
        }
    }

    #[test]
    fn the_version_stands_in_an_address_once() {
        let open_ai = &provider::open_ai::ENTRY;
        let anthropic = &provider::anthropic::ENTRY;
        for (entry, base, expected) in [
            (
                open_ai,
                "https://api.openai.com/v1",
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                open_ai,
                "http://localhost:11434/v1/",
                "http://localhost:11434/v1/chat/completions",
            ),
            (
                open_ai,
                "http://localhost:11434",
                "http://localhost:11434/v1/chat/completions",
            ),
            (
                open_ai,
                "https://h/v1beta/openai",
                "https://h/v1beta/openai/chat/completions",
            ),
            (
                anthropic,
                "https://api.anthropic.com",
                "https://api.anthropic.com/v1/messages",
            ),
            (anthropic, "https://h/v1", "https://h/v1/messages"),
            (
                anthropic,
                "https://h/anthropic/",
                "https://h/anthropic/v1/messages",
            ),
        ] {
            assert_eq!(url(entry, base), expected);
        }
    }

    #[test]
    fn a_key_is_needed_where_the_provider_is_the_real_one() {
        let none = Environment::new(|_| None);
        let error = LiveWire::new(&plan(&crate::agent::provider::anthropic::ENTRY), &none)
            .err()
            .unwrap();
        assert!(
            error.to_string().contains("ANTHROPIC_API_KEY is not set"),
            "{error}"
        );
        assert!(error.hint.rendered().contains("api_key_env"));
        let elsewhere = ModelPlan {
            base_url: Some("http://127.0.0.1:1".to_owned()),
            ..plan(&crate::agent::provider::open_ai::ENTRY)
        };
        assert!(LiveWire::new(&elsewhere, &none).is_ok());
        let named = ModelPlan {
            api_key_env: Some("MY_KEY".to_owned()),
            ..elsewhere
        };
        let error = LiveWire::new(&named, &none).err().unwrap();
        assert!(error.to_string().contains("MY_KEY"), "{error}");
        let environment = Environment::new(|name| (name == "MY_KEY").then(|| "hunter2".to_owned()));
        assert!(LiveWire::new(&named, &environment).is_ok());
        assert!(environment.secrets().contains("hunter2"));
    }

    #[test]
    fn a_file_does_not_send_a_key_elsewhere() {
        let key_at = |base: Option<&str>, variable: Option<&str>, told: Option<&'static str>| {
            let environment = Environment::new(move |name| match name {
                "OPENAI_API_KEY" => Some("the-own".to_owned()),
                "MY_KEY" => Some("the-other".to_owned()),
                "OPENAI_BASE_URL" => told.map(str::to_owned),
                _ => None,
            });
            let plan = ModelPlan {
                base_url: base.map(str::to_owned),
                api_key_env: variable.map(str::to_owned),
                ..plan(&crate::agent::provider::open_ai::ENTRY)
            };
            let wire = LiveWire::new(&plan, &environment)
                .unwrap_or_else(|error| panic!("{base:?}: {error}"));
            let header = wire.post.header("authorization").map(str::to_owned);
            header.map(|header| header.trim_start_matches("Bearer ").to_owned())
        };
        let own = Some("the-own".to_owned());
        for elsewhere in [
            "http://127.0.0.1:1/v1",
            "https://api.openai.com.evil.example/v1",
            "https://evil.example/api.openai.com",
            "https://api.openai.com:444/v1",
            // Whoever listens on the way would have it.
            "http://api.openai.com/v1",
        ] {
            assert_eq!(key_at(Some(elsewhere), None, None), None, "{elsewhere}");
            let named = key_at(Some(elsewhere), Some("MY_KEY"), None);
            assert_eq!(named.as_deref(), Some("the-other"), "{elsewhere}");
        }
        for its_own in ["https://api.openai.com/v1", "https://API.openai.com:443"] {
            assert_eq!(key_at(Some(its_own), None, None), own, "{its_own}");
        }
        assert_eq!(key_at(None, None, None), own);
        assert_eq!(key_at(None, None, Some("http://127.0.0.1:1")), own);
        // The file has the last word, so it is the file's.
        let both = key_at(Some("http://h"), None, Some("https://api.openai.com"));
        assert_eq!(both, None);
    }

    #[test]
    fn an_address_that_cannot_be_used_is_told_without_its_secrets() {
        let none = Environment::new(|_| None);
        for base in ["ftp://h", "http://user:hunter2@h/v1", "http://${GONE}/v1"] {
            let plan = ModelPlan {
                base_url: Some(base.to_owned()),
                ..plan(&crate::agent::provider::open_ai::ENTRY)
            };
            let error = LiveWire::new(&plan, &none).err().unwrap();
            assert!(!error.to_string().contains("hunter2"), "{error}");
            assert!(!error.hint.rendered().is_empty());
        }
    }
}
