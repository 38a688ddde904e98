//! What many files here use.

pub use std::borrow::Cow;
pub use std::collections::{BTreeMap, BTreeSet};
pub use std::fmt;
pub use std::io;
pub use std::ops::Range;
pub use std::path::{Path, PathBuf};
pub use std::sync::{Arc, LazyLock, Mutex, OnceLock};
pub use std::time::Duration;

pub use serde::{Deserialize, Deserializer, Serialize, Serializer};
pub use serde_json::{Map, Value, json};

pub use crate::error::{ConfigError, ConfigErrors, SourcePlace};
pub use crate::kind::Kind;
pub use crate::message::{Message, Part, UserError, assignment, command, sentence, setting};
pub use crate::private_file;
pub use crate::quantity::{parse_duration, parse_size, write_duration};
pub use crate::reader::{Reader, Section};
pub use crate::registry::nearest;
#[cfg(feature = "schema")]
pub use crate::schemars;
pub use crate::setting::{Fallback, JsonSchema, Setting, Settings, choice, data};
pub use crate::text::{has_word, shorten};
pub use crate::tree::{Data, Document, Field, Node};
