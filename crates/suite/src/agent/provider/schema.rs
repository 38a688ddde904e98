//! The schema of a tool, in the form that every provider takes: of an object, with its properties.

use crate::prelude::*;

/// The schema, completed. What is no schema of an object stays as it is: the provider says so.
pub(super) fn of_object(schema: &Value) -> Value {
    let mut fields = match schema {
        Value::Object(fields) => fields.clone(),
        Value::Null | Value::Bool(true) => Map::new(),
        other => return other.clone(),
    };
    fields.entry("type").or_insert_with(|| json!("object"));
    if fields.get("type") == Some(&json!("object")) {
        fields.entry("properties").or_insert_with(|| json!({}));
    }
    Value::Object(fields)
}

/// A tool as it is offered, with its schema under this key.
pub(super) fn of_tool((name, tool): (&str, &OfferedTool), key: &str) -> Value {
    let mut fields = Map::new();
    fields.insert("name".to_owned(), name.into());
    fields.insert(key.to_owned(), of_object(&tool.input_schema));
    let description = tool.description.clone();
    fields.extend(description.map(|text| ("description".to_owned(), text.into())));
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_is_completed() {
        let empty = json!({ "type": "object", "properties": {} });
        assert_eq!(of_object(&json!({})), empty);
        assert_eq!(of_object(&Value::Null), empty);
        let whole = json!({ "type": "object", "properties": { "q": {} }, "required": ["q"] });
        assert_eq!(of_object(&whole), whole);
        assert_eq!(of_object(&json!("x")), json!("x"));
    }
}
