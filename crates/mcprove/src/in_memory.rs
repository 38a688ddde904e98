//! Servers in this process, as servers under test.

use std::sync::Arc;

use mcprove_client::server::Server;
use mcprove_servers::fixture::{self, FixtureError};
use mcprove_servers::hosting::{self, Behaviour, Eras, Host, Stderr};
use mcprove_servers::mock::Mock;

/// A mock, a built-in server or a behaviour of one's own as a [`Server`], for [`Run`](crate::Run) and
/// [`Session`](crate::Session): no process and no port. Each connection has a server of its own in the runtime of
/// whoever connects; those of a mock share one count of calls.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use mcprove::{InMemory, Mock, MockOptions, MockSpec, Run, Scenario, Session, ToolSpec};
/// use serde_json::json;
/// use std::time::Duration;
///
/// let double = ToolSpec::new("double").answering_with(|arguments| {
///     let number = arguments["number"].as_i64().ok_or("number is missing")?;
///     Ok((number * 2).to_string())
/// });
/// let mock = Mock::new(MockSpec::new("demo").with_tool(double), MockOptions::default()).unwrap();
/// let server = InMemory::mock(&mock);
///
/// let session = Session::connect(&server).await.unwrap();
/// let reply = session.call_tool("double", &json!({ "number": 4 })).await.unwrap();
/// assert_eq!(reply.text(), "8");
///
/// let scenario = Scenario::sustained()
///     .duration(Duration::from_millis(200))
///     .tool("double")
///     .args(json!({ "number": 4 }));
/// let report = Run::new(server, scenario).execute().await.unwrap();
/// assert!(report.passed(), "{report:?}");
/// # });
/// ```
#[derive(Debug)]
pub struct InMemory(());

impl InMemory {
    /// A mock.
    pub fn mock(mock: &Mock) -> Server {
        let served = mock.clone();
        Server::in_memory(mock.name(), move || served.spawn_in_memory())
    }

    /// The built-in server of this name.
    pub fn fixture(name: &str) -> Result<Server, FixtureError> {
        Self::fixture_with(name, &fixture::FixtureOptions::default())
    }

    /// The built-in server of this name, with settings.
    pub fn fixture_with(
        name: &str,
        options: &fixture::FixtureOptions,
    ) -> Result<Server, FixtureError> {
        let behaviour = fixture::behaviour(name, options)?;
        Ok(Self::serve(name, behaviour, options.eras))
    }

    /// A behaviour of one's own.
    pub fn behaviour(name: &str, behaviour: impl Behaviour) -> Server {
        Self::serve(name, Arc::new(behaviour), Eras::Both)
    }

    fn serve(name: &str, behaviour: Arc<dyn Behaviour>, eras: Eras) -> Server {
        Server::in_memory(name, move || {
            let host = Host::new(Arc::clone(&behaviour), eras, Stderr::Discard);
            hosting::spawn_in_memory(host)
        })
    }
}
