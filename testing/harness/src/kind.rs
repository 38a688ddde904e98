//! The real servers by name.

/// One of the pinned real servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ServerKind {
    /// `@modelcontextprotocol/server-everything`, the reference server; session era.
    Everything,
    /// Version 1 of the official Python SDK; session era.
    Mcp1,
    /// Version 2 of the official Python SDK; both eras.
    Mcp2,
    /// The `fastmcp` package; both eras.
    Fastmcp,
    /// `rmcp`, the official Rust SDK; both eras.
    Rmcp,
}

impl ServerKind {
    /// Every server.
    pub const ALL: [Self; 5] = [
        Self::Everything,
        Self::Mcp1,
        Self::Mcp2,
        Self::Fastmcp,
        Self::Rmcp,
    ];

    /// The name, as in the names of lock files and folders.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Everything => "everything",
            Self::Mcp1 => "mcp1",
            Self::Mcp2 => "mcp2",
            Self::Fastmcp => "fastmcp",
            Self::Rmcp => "rmcp",
        }
    }

    /// Whether it serves the older HTTP+SSE transport.
    pub const fn has_sse(self) -> bool {
        matches!(self, Self::Everything | Self::Mcp1)
    }

    /// Whether it speaks the stateless era next to the session era.
    pub const fn has_stateless_era(self) -> bool {
        matches!(self, Self::Mcp2 | Self::Fastmcp | Self::Rmcp)
    }
}
