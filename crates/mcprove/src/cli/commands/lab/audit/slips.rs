//! Filters that no row can fit because of a slip of the keyboard.

use mcprove_lab::audit::{AuditError, AuditReader, CATEGORIES, Filter, NameColumn};
use mcprove_settings::registry::nearest;

use crate::terminal;

/// Tells on stderr of names in a filter that no row has, where no row was found.
pub fn tell(reader: &AuditReader, filter: &Filter) -> Result<(), AuditError> {
    let given = [
        ("tool", &filter.tool, NameColumn::Tool),
        ("category", &filter.category, NameColumn::Category),
        ("method", &filter.method, NameColumn::Method),
    ];
    for (what, name, column) in given {
        let Some(name) = name else { continue };
        let mut known = reader.names(column)?;
        if known.contains(name) {
            continue;
        }
        if column == NameColumn::Category {
            known.extend(CATEGORIES.map(str::to_owned));
        }
        if let Some(hint) = hint(what, name, &known) {
            terminal::print_error(&hint);
        }
    }
    Ok(())
}

/// What to try, as far as that can be told.
fn hint(what: &str, name: &str, known: &[String]) -> Option<String> {
    let names = || known.iter().map(String::as_str);
    if names().any(|known| known == name) {
        // There is such a thing; it did not happen.
        return None;
    }
    let start = format!("hint: no row has the {what} {name:?}");
    match nearest(names(), name) {
        Some(near) => Some(format!("{start}; did you mean {near:?}?\n")),
        None if what == "category" => {
            Some(format!("{start}; there are {}\n", CATEGORIES.join(", ")))
        }
        None => Some(format!("{start}\n")),
    }
}
