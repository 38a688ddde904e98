//! The bad requests for one tool of a server, from connecting to the report.

use super::{Examination, NegativePathReport, Probe, Sessions, Subject, examine};
use crate::health::ProbeError;
use crate::prelude::*;
use crate::pulse::Pulse;

/// Sends every bad request that applies to a tool, in sessions with these options. A session that hangs or dies over
/// one is replaced.
pub async fn negative_path(
    server: &Server,
    tool: &str,
    options: SessionOptions,
) -> Result<NegativePathReport, ProbeError> {
    let mut sessions = OwnSessions::new(server, options);
    let session = Arc::clone(sessions.connect().await?);
    let tools = session.list_tools().await;
    let tools = tools.map_err(|error| ProbeError::List {
        error,
        stderr: session.stderr_tail(),
    })?;
    let names = || tools.iter().map(|tool| tool.name.as_str());
    let Some(found) = tools.iter().find(|it| it.name == tool) else {
        return Err(ProbeError::Tool(Diagnostic::new(
            format!("the server has no tool {tool:?}"),
            meant(nearest(names(), tool), sentence!("name one of its tools")),
        )));
    };
    let schema = &found.input_schema;
    let arguments = arguments::minimal(schema).unwrap_or_else(|_| json!({}));
    let subject = Subject::new(tool, names(), schema, &arguments).unwrap_or_else(|error| {
        let known = (!error.is_invalid_schema()).then_some(schema);
        Subject::unreadable(tool, names(), known, &arguments, error.to_string())
    });
    let examination = Examination {
        subject: &subject,
        probes: &Probe::ALL,
        timeout: sessions.options.call_timeout(),
    };
    drop(session);
    let report = examine(&examination, &mut sessions).await;
    sessions.end().await;
    Ok(report)
}

/// Sessions that nothing else uses: a bad request may break the server.
#[derive(Opaque)]
pub struct OwnSessions<'a> {
    server: &'a Server,
    options: SessionOptions,
    session: Option<Arc<Session>>,
    pulse: Arc<Pulse>,
}

impl<'a> OwnSessions<'a> {
    /// None yet.
    pub fn new(server: &'a Server, options: SessionOptions) -> Self {
        Self {
            server,
            options,
            session: None,
            pulse: Arc::default(),
        }
    }

    /// Ends the one that is open.
    pub async fn end(self) {
        if let Some(session) = self.session {
            session.end().await;
        }
    }

    /// Opens one.
    pub async fn connect(&mut self) -> Result<&Arc<Session>, ConnectError> {
        let session = Session::connect_with(self.server, self.options.clone()).await?;
        Ok(self.session.insert(Arc::new(session)))
    }
}

impl Sessions for OwnSessions<'_> {
    fn session(&mut self) -> BoxFuture<'_, Result<Arc<Session>, String>> {
        Box::pin(async {
            let open = self.session.take();
            if let Some(session) = open.filter(|session| session.closed().is_none()) {
                return Ok(Arc::clone(self.session.insert(session)));
            }
            let session = self.connect().await.map_err(|error| error.to_string())?;
            // The list says how the tools want to be called.
            let _ = session.list_tools().await;
            Ok(Arc::clone(session))
        })
    }

    fn replace(&mut self) {
        self.session = None;
    }

    fn pulse(&self) -> Arc<Pulse> {
        Arc::clone(&self.pulse)
    }
}
