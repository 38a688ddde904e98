//! What most files of this crate use: JSON, settings, and the words of faults.

pub use std::collections::{HashMap, HashSet};
pub use std::fmt;
pub use std::str::FromStr;

pub use async_trait::async_trait;
pub use bytes::Bytes;
pub use mcprove_settings::error::{ConfigError, ConfigErrors};
pub use mcprove_settings::kind::Kind;
pub use mcprove_settings::reader::Reader;
pub use mcprove_settings::setting::{Setting, SettingType, Settings};
pub use mcprove_settings::tree::{Data, Document, Field, Node};
pub use mcprove_trace::prelude::*;
pub use mcprove_trace::{FaultKind, fault_names};
pub use tokio::time::sleep;

pub use crate::call::{FaultExchange, FaultedCall};
pub use crate::kind::{DELAY, Effect, kinds, millis, settings_of};
pub use crate::spec::{FaultSpec, FaultTarget, setting_of};
