//! A mock of a suite: a tools file, and what its calls meet.

use std::path::Path;

use mcprove_fault::FaultSpec;
use mcprove_fault::file::read_list;
use mcprove_servers::tools_file as mock;
use mcprove_settings::outside;
use mcprove_settings::reader::{Reader, Section};
use mcprove_settings::tree::{Data, Field, Node};

use crate::plan::Reach;

/// Reads a mock; the problems of its tools file are told with their own places.
pub(super) fn read(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    field: &Field,
    name: &str,
    folder: &Path,
) -> Option<Reach> {
    let faults = read_faults(reader, section, name);
    let path = folder.join(reader.text(section, "mock")?);
    if !path.is_file() {
        let message = format!("there is no tools file {}", path.display());
        let hint = "give its path as seen from the folder of the suite";
        reader.problem(&field.value.span, message, hint);
        return None;
    }
    let is_inside = outside::is_inside(folder, &path);
    match mock::read(&path) {
        Ok(file) => {
            if is_inside {
                reader.adopt_warnings(file.warnings);
            } else if !file.warnings.is_empty() {
                reader.adopt_warnings(vec![outside::warning(&path)]);
            }
            Some(Reach::Mock {
                spec: Box::new(file.spec),
                faults,
            })
        }
        Err(errors) => {
            reader.adopt(if is_inside {
                errors
            } else {
                outside::without_words(errors)
            });
            None
        }
    }
}

/// What the calls of a mock meet: one fault, or a list.
fn read_faults(reader: &mut Reader<'_>, section: &Section<'_>, name: &str) -> Vec<FaultSpec> {
    let (one, other) = (section.get("fault"), section.get("faults"));
    if let (Some(_), Some(second)) = (one, other) {
        let message = "`fault` and `faults` are the same".to_owned();
        reader.problem(&second.span, message, "leave one of them out");
    }
    let Some(field) = one.or(other) else {
        return Vec::new();
    };
    let items = read_list(reader, &as_list(field), &[]);
    for item in &items {
        let target = item.spec.target.server.as_deref();
        if target.is_some_and(|target| target != name) {
            let message = "a fault of a mock is aimed at another server".to_owned();
            let hint = "leave out `server`: it strikes the calls of this mock";
            reader.problem(&item.name_span, message, hint);
        }
    }
    items.into_iter().map(|item| item.spec).collect()
}

/// A list with one fault in it, where it is no list.
fn as_list(field: &Field) -> Field {
    let mut field = field.clone();
    if matches!(field.value.data, Data::Text(_) | Data::Table(_)) {
        let span = field.value.span.clone();
        let one = std::mem::replace(
            &mut field.value,
            Node {
                data: Data::Null,
                span,
            },
        );
        field.value.data = Data::List(vec![one]);
    }
    field
}
