//! Why a mock cannot be made.

/// What is wrong with a mock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MockError {
    /// A JSON Schema of a tool does not compile.
    #[error(
        "`{schema}` of tool {tool:?} is not a JSON Schema{}: {problem}",
        at(place)
    )]
    Schema {
        /// The tool.
        tool: String,
        /// Which schema: `inputSchema` or `outputSchema`.
        schema: &'static str,
        /// Where in the schema, as a JSON pointer.
        place: String,
        /// What is wrong.
        problem: String,
    },
    /// Two tools have the same name.
    #[error("two tools are called {0:?}")]
    SameTool(String),
}

fn at(place: &str) -> String {
    match place {
        "" => String::new(),
        place => format!(", at {place}"),
    }
}
