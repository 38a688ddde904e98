//! `[[faults]]`: what is injected while the load lasts.

use mcprove_fault::FaultWindow;
use mcprove_fault::file::{Item, list_schema, read_list};
use mcprove_settings::reader::{Least, Reader};
use mcprove_settings::tree::Field;
use serde_json::{Map, Value, json};

use crate::drive::Scenario;
use crate::run::{LoadFault, WITH_FAULTS, takes_faults};

/// What a fault has here besides its own keys.
const EXTRA: &[&str] = &["start", "duration", "max_recovery", "others_may_suffer"];

/// The faults of a file.
pub(super) fn read(reader: &mut Reader<'_>, field: &Field) -> Vec<LoadFault> {
    let items = read_list(reader, field, EXTRA);
    items.iter().map(|item| fault(reader, item)).collect()
}

fn fault(reader: &mut Reader<'_>, item: &Item) -> LoadFault {
    let mut fault = LoadFault::new(item.spec.clone());
    let mut window = FaultWindow::default();
    for given in &item.extra {
        let field = &as_told(given);
        match given.name.as_str() {
            "start" => window.start = reader.duration_of(field, Least::Zero),
            "duration" => window.duration = reader.duration_of(field, Least::MoreThanZero),
            "max_recovery" => fault.max_recovery = reader.duration_of(field, Least::MoreThanZero),
            _ => fault.others_may_suffer = boolean(reader, field),
        }
    }
    fault.window = window;
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
pub(super) fn schema(time: &Value, time_or_zero: &Value) -> Value {
    let mut extra = Map::new();
    let mut add = |name: &str, form: &Value, description: &str| {
        let mut schema = form.clone();
        if let Some(fields) = schema.as_object_mut() {
            fields.insert("description".to_owned(), json!(description));
        }
        extra.insert(name.to_owned(), schema);
    };
    add(
        "start",
        time_or_zero,
        "When it begins, since the start of what is measured. Default: at once",
    );
    add("duration", time, "How long it lasts. Default: to the end");
    add(
        "max_recovery",
        time,
        "Fail when p99 and errors of other calls are not back this soon after it",
    );
    add(
        "others_may_suffer",
        &json!({ "type": "boolean" }),
        "false fails the run when a tool that it is not aimed at suffers; without it that is a warning",
    );
    let mut list = list_schema(extra);
    if let Some(fields) = list.as_object_mut() {
        let description = "Faults that are injected while the load lasts";
        fields.insert("type".to_owned(), json!(["array", "null"]));
        fields.insert("description".to_owned(), json!(description));
    }
    list
}
