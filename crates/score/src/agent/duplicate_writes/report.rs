//! What was found of the writes of a run, for programs and in words.

use crate::prelude::*;

/// Duplicates that a report and a message tell; the rest is only counted.
pub const DUPLICATES_KEPT: usize = 20;

/// The writes of a run that were made twice, or may have been.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateWritesReport {
    /// Repeated writes after an attempt that may have been executed.
    pub at_risk: u64,
    /// Repeated writes after an attempt that was certainly executed.
    pub confirmed: u64,
    /// The first [`DUPLICATES_KEPT`] of both.
    pub writes: Vec<DuplicateWrite>,
    /// Repeated writes that do no harm: with the same idempotency key, or of an idempotent tool.
    #[serde(default)]
    pub protected: u64,
    /// Writes that a fault kept from being made, and that no other attempt made; `None` where nobody
    /// can tell.
    #[serde(default)]
    pub lost: Option<u64>,
    /// The first [`DUPLICATES_KEPT`] of those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost_writes: Vec<LostWrite>,
    /// The first write of which nobody can tell whether it is one more: both counts are what is
    /// certain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undecided: Option<UndecidedWrite>,
}

impl Default for DuplicateWritesReport {
    /// Nothing repeated, and nothing lost.
    fn default() -> Self {
        Self {
            at_risk: 0,
            confirmed: 0,
            writes: Vec::new(),
            protected: 0,
            lost: Some(0),
            lost_writes: Vec::new(),
            undecided: None,
        }
    }
}

/// A write that was never made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostWrite {
    /// The place of the last attempt in `tool_calls`.
    pub call_index: usize,
    /// The tool.
    pub name: String,
    /// The fault that kept it from being executed.
    pub fault: FaultKind,
}

impl LostWrite {
    pub(super) fn describe(&self) -> Message {
        sentence!(
            "call {}, {}, met the fault {} and was never executed, nor was it made again with success",
            self.call_index,
            quoted(&self.name),
            self.fault.name()
        )
    }
}

/// A write that may repeat another one: the trace does not have the arguments of one of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndecidedWrite {
    /// The place of the call in `tool_calls`.
    pub call_index: usize,
    /// The place of the attempt that it may repeat.
    pub repeats: usize,
    /// The tool.
    pub name: String,
}

/// A write that was repeated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DuplicateWrite {
    /// The place of the call in `tool_calls`.
    pub call_index: usize,
    /// The place of the attempt that it repeats.
    pub repeats: usize,
    /// The tool.
    pub name: String,
    /// Whether it certainly happened twice.
    pub is_confirmed: bool,
    /// What is known of the earlier attempt: `had succeeded`.
    pub reason: String,
}

impl DuplicateWrite {
    pub(super) fn describe(&self) -> Message {
        sentence!(
            "call {}, {}, repeats call {}, which {}",
            self.call_index,
            quoted(&self.name),
            self.repeats,
            self.reason
        )
    }
}

impl DuplicateWritesReport {
    /// Both together.
    pub fn count(&self) -> u64 {
        self.at_risk.saturating_add(self.confirmed)
    }

    pub(super) fn explain(&self) -> Message {
        let writes = self.writes.iter().map(DuplicateWrite::describe);
        sentence!(
            "{} certainly made twice, {} perhaps: {}; before trying again, an agent should look \
             whether the write was made, or send an idempotency key",
            counted(self.confirmed, "write"),
            whole(self.at_risk),
            first_of(self.count(), writes)
        )
    }
}
