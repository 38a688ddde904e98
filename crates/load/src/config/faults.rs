//! `[[faults]]`: what is injected while the load lasts.

use std::time::Duration;

use mcprove_fault::file::{Item, list_schema, read_list};
use mcprove_settings::kind::properties;
use mcprove_settings::reader::{Least, Reader};
use mcprove_settings::setting::Settings;
use mcprove_settings::tree::Field;
use serde_json::{Value, json};

use crate::drive::Scenario;
use crate::run::{LoadFault, WITH_FAULTS, takes_faults};

/// What a fault has here besides its own keys.
const EXTRA: &[&str] = &["start", "duration", "max_recovery", "others_may_suffer"];

/// What a fault of a load has besides those of a file of faults.
#[derive(Debug, Settings)]
pub struct FaultTiming {
    /// When it begins, since the start of what is measured.
    #[setting(kind = TIME_OR_ZERO, otherwise = "at once")]
    start: Option<Duration>,
    /// How long it lasts.
    #[setting(otherwise = "to the end")]
    duration: Option<Duration>,
    /// Fail when p99 and errors of other calls are not back this soon after it.
    #[setting]
    max_recovery: Option<Duration>,
    /// false fails the run when a tool that it is not aimed at suffers; without it that is a warning.
    #[setting]
    others_may_suffer: Option<bool>,
}

impl FaultTiming {
    pub fn of(fault: &LoadFault) -> Self {
        Self {
            start: fault.window.start,
            duration: fault.window.duration,
            max_recovery: fault.max_recovery,
            others_may_suffer: fault.others_may_suffer,
        }
    }
}

/// The faults of a file.
pub fn read(reader: &mut Reader<'_>, field: &Field) -> Vec<LoadFault> {
    let items = read_list(reader, field, EXTRA);
    items.iter().map(|item| fault(reader, item)).collect()
}

fn fault(reader: &mut Reader<'_>, item: &Item) -> LoadFault {
    let mut fault = LoadFault::new(item.spec.clone());
    for given in &item.extra {
        let field = &as_told(given);
        match given.name.as_str() {
            "start" => fault.window.start = reader.duration_of(field, Least::Zero),
            "duration" => fault.window.duration = reader.duration_of(field, Least::MoreThanZero),
            "max_recovery" => fault.max_recovery = reader.duration_of(field, Least::MoreThanZero),
            _ => fault.others_may_suffer = boolean(reader, field),
        }
    }
    fault
}

/// A part of a line, such as `start=5s`, by a name that cannot be taken for a flag: `--duration` is that
/// of the load. Keys of a map have a place of their own.
fn as_told(field: &Field) -> Field {
    let mut told = field.clone();
    if field.span == field.value.span {
        told.name = format!("{}=", field.name.replace('_', "-"));
    }
    told
}

fn boolean(reader: &mut Reader<'_>, field: &Field) -> Option<bool> {
    if let mcprove_settings::tree::Data::Boolean(value) = field.value.data {
        return Some(value);
    }
    let hint = "write false to fail the run if a tool that the fault is not aimed at suffers";
    reader.wrong(field, "true or false", hint);
    None
}

/// A fault falls into a load in time, and within it.
pub fn check(reader: &mut Reader<'_>, field: &Field, faults: &[LoadFault], scenario: &Scenario) {
    if faults.is_empty() {
        return;
    }
    if !takes_faults(&scenario.kind) {
        let message = format!("the scenario {} takes no faults", scenario.kind.name());
        reader.problem(&field.span, message, format!("use {WITH_FAULTS}"));
        return;
    }
    let Some(duration) = scenario.kind.duration() else {
        return;
    };
    for fault in faults {
        if fault.window.start.is_some_and(|start| start >= duration) {
            let name = &fault.spec.name;
            let message = format!("the fault {name:?} starts when the load is over");
            reader.problem(&field.span, message, "let it start earlier");
        }
    }
}

/// The schema of the list.
pub fn schema() -> Value {
    let mut list = list_schema(properties(FaultTiming::declared()));
    if let Some(fields) = list.as_object_mut() {
        let description = "Faults that are injected while the load lasts";
        fields.insert("type".to_owned(), json!(["array", "null"]));
        fields.insert("description".to_owned(), json!(description));
    }
    list
}
