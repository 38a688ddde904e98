//! What is asked of a server, prepared once and sent as often as needed.

use crate::prelude::*;

/// Called with the parameters of each progress notification of a request.
pub type ProgressHandler = Arc<dyn Fn(&Value) + Send + Sync>;

/// A request, ready to be sent any number of times.
///
/// ```
/// use mcprove_client::session::Request;
/// use serde_json::json;
///
/// let request = Request::tool("echo", &json!({ "message": "hi" }));
/// assert_eq!(request.method(), "tools/call");
/// assert_eq!(request.tool_name(), Some("echo"));
/// ```
#[derive(Clone)]
#[must_use]
pub struct Request {
    label: Arc<Label>,
    pub params: String,
    pub headers: Vec<(String, String)>,
    /// How long the answer may take, instead of the session's call timeout.
    pub timeout: Option<Duration>,
    pub progress: Option<ProgressHandler>,
}

/// The names of a request, shared by every call made from it.
#[derive(Debug, PartialEq, Eq)]
pub struct Label {
    pub method: String,
    pub name: Option<String>,
    /// Why the arguments are not those that the tool takes, if that is known.
    pub misfit: Option<String>,
}

impl Label {
    /// The tool, for `tools/call`.
    pub fn tool(&self) -> Option<&str> {
        if self.method == "tools/call" {
            self.name.as_deref()
        } else {
            None
        }
    }
}

impl Request {
    /// A request without parameters.
    pub fn new(method: impl Into<String>) -> Self {
        Self::named(method.into(), None)
    }

    fn named(method: String, name: Option<String>) -> Self {
        Self {
            label: Arc::new(Label {
                method,
                name,
                misfit: None,
            }),
            params: String::new(),
            headers: Vec::new(),
            timeout: None,
            progress: None,
        }
    }

    /// A call of `tool`.
    pub fn tool(tool: &str, arguments: &Value) -> Self {
        let mut request = Self::named("tools/call".into(), Some(tool.to_owned()));
        request.params = tool_call_params(tool, arguments);
        request
    }

    /// Sets the parameters: an object without `_meta`, which the session adds. The name of a
    /// tool, prompt, resource or task in them goes into the `Mcp-Name` header.
    pub fn params(mut self, params: &Value) -> Self {
        let key = match self.method() {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
            _ => "",
        };
        if let Some(name) = params[key].as_str() {
            let method = self.method().to_owned();
            self.label = Arc::new(Label {
                method,
                name: Some(name.to_owned()),
                misfit: self.label.misfit.clone(),
            });
        }
        self.params = params.to_string();
        self
    }

    /// Says why its arguments are not those that the tool takes: an answer to it is a `ProtocolError`, whatever it is.
    pub fn with_misfit(mut self, misfit: String) -> Self {
        self.label = Arc::new(Label {
            method: self.label.method.clone(),
            name: self.label.name.clone(),
            misfit: Some(misfit),
        });
        self
    }

    /// Sets how long the answer may take, instead of the session's call timeout.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Lets the request wait for ever: a subscription.
    pub fn without_timeout(self) -> Self {
        self.timeout(Duration::MAX)
    }

    /// Asks for progress notifications and sets who gets them.
    pub fn on_progress(mut self, handler: ProgressHandler) -> Self {
        self.progress = Some(handler);
        self
    }

    /// The JSON-RPC method.
    pub fn method(&self) -> &str {
        &self.label.method
    }

    /// The tool, for `tools/call`.
    pub fn tool_name(&self) -> Option<&str> {
        self.label.tool()
    }

    pub fn label(&self) -> &Arc<Label> {
        &self.label
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Request")
            .field("label", &self.label)
            .field("params", &self.params)
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}
