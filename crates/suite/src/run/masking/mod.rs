//! Reports without secrets: what came from the environment is taken out of whatever a report quotes, in every
//! form in which it may come back, and so is what shows by itself that it is a key.
/// The report with these secrets taken out of everything that it quotes.
pub fn masked(mut report: TestReport, redactor: &Redactor) -> TestReport {
    for failure in &mut report.failures {
        mask_value(&mut failure.expected, redactor);
        mask_value(&mut failure.actual, redactor);
        mask_message(&mut failure.message, redactor);
        mask_message(&mut failure.hint, redactor);
    }
    for error in &mut report.errors {
        mask_message(&mut error.message, redactor);
        mask_message(&mut error.hint, redactor);
    }
    for note in &mut report.notes {
        mask_message(note, redactor);
    }
    if let Some(text) = &mut report.skipped {
        mask(text, redactor);
    }
    for loss in &mut report.losses {
        mask(&mut loss.file, redactor);
        mask(&mut loss.reason, redactor);
    }
    for value in report.targets.values_mut() {
        mask_value(value, redactor);
    }
    report
}

pub fn mask(text: &mut String, redactor: &Redactor) {
    if let Cow::Owned(masked) = redactor.text(text) {
        *text = masked;
    }
}

pub fn mask_message(message: &mut Message, redactor: &Redactor) {
    *message = message.edited(|text| redactor.text(text).into_owned());
}

/// Takes secrets out of all texts of a value, and of the names in it.
pub fn mask_value(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => mask(text, redactor),
        Value::Array(values) => values
            .iter_mut()
            .for_each(|value| mask_value(value, redactor)),
        Value::Object(fields) => {
            for (name, mut value) in std::mem::take(fields) {
                let name = redactor.name(&name).unwrap_or(name);
                mask_value(&mut value, redactor);
                fields.insert(name, value);
            }
        }
        Value::Number(number) if redactor.has_number(&number.to_string()) => {
            *value = Value::from(REDACTED);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;

use crate::prelude::*;
