//! What a proxy is told that an agent starts: in a file, so that the agent's configuration names neither the
//! server's command nor its secrets, and clients that pass no environment on make no difference.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What `mcprove proxy --setup FILE` reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProxySetup {
    /// The name of the server, at which faults can be aimed.
    pub server_name: String,
    /// The program of the server.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to the environment.
    pub env: BTreeMap<String, String>,
    /// The folder that it starts in.
    pub working_dir: Option<PathBuf>,
    /// How long it may take to exit, in milliseconds.
    pub shutdown_timeout_ms: u64,
    /// The faults, as after `--fault`.
    pub faults: Vec<String>,
    /// What decides for faults that have no seed of their own.
    pub seed: u64,
    /// Where the traffic is written down; what is there is gone on with.
    pub record: PathBuf,
}
