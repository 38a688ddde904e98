//! The published schemas, by revision and definition.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;

use jsonschema::Validator;
use serde_json::{Value, json};

pub fn spec_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testing/spec")
}

/// The schema of one revision.
pub struct Schema {
    whole: Value,
    /// `$defs` or `definitions`.
    key: &'static str,
    validators: RefCell<HashMap<String, Rc<Validator>>>,
}

impl Schema {
    pub fn load(revision: &str) -> Self {
        let path = spec_folder().join(format!("mcp-{revision}.schema.json"));
        let text = std::fs::read_to_string(path).unwrap();
        let whole: Value = serde_json::from_str(&text).unwrap();
        let key = if whole.get("$defs").is_some() {
            "$defs"
        } else {
            "definitions"
        };
        Self {
            whole,
            key,
            validators: RefCell::default(),
        }
    }

    pub fn has(&self, definition: &str) -> bool {
        self.whole[self.key].get(definition).is_some()
    }

    fn validator(&self, definition: &str) -> Rc<Validator> {
        assert!(self.has(definition), "the schema has no {definition}");
        let mut validators = self.validators.borrow_mut();
        let validator = validators.entry(definition.to_owned()).or_insert_with(|| {
            let mut wanted = self.whole.clone();
            wanted["$ref"] = json!(format!("#/{}/{definition}", self.key));
            Rc::new(jsonschema::validator_for(&wanted).unwrap())
        });
        Rc::clone(validator)
    }

    pub fn accepts(&self, definition: &str, value: &Value) -> bool {
        self.validator(definition).is_valid(value)
    }

    #[track_caller]
    pub fn assert_valid(&self, definition: &str, value: &Value) {
        if let Err(error) = self.validator(definition).validate(value) {
            panic!("{definition}: {error} in {value}");
        }
    }

    #[track_caller]
    pub fn assert_invalid(&self, definition: &str, value: &Value) {
        assert!(
            !self.accepts(definition, value),
            "{definition} accepts {value}"
        );
    }
}
