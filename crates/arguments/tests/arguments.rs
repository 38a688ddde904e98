//! Arguments for realistic schemas, exactly as they are expected.

#![allow(clippy::unwrap_used)]

use mcprove_arguments::{Choice, carries_token, from_schema};
use serde_json::{Value, json};

fn make(schema: &Value) -> Value {
    from_schema(schema, &Choice::default()).unwrap_or_else(|error| panic!("{schema}: {error}"))
}

fn with_token(token: &str) -> Choice {
    Choice {
        token: Some(token.to_owned()),
        ..Choice::default()
    }
}

/// The value for one required property.
fn make_one(schema: &Value) -> Value {
    let outer = json!({"type": "object", "properties": {"v": schema}, "required": ["v"]});
    make(&outer)["v"].take()
}

#[track_caller]
fn assert_made(rows: &[(Value, Value)]) {
    for (schema, expected) in rows {
        assert_eq!(make_one(schema), *expected, "{schema}");
    }
}

#[track_caller]
fn assert_valid(schema: &Value, value: &Value) {
    let validator = jsonschema::options()
        .should_validate_formats(true)
        .build(schema)
        .unwrap();
    assert!(validator.is_valid(value), "{schema}: {value}");
}

#[test]
fn nothing_asked_nothing_given() {
    for schema in [
        json!(null),
        json!({}),
        json!(true),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {}, "additionalProperties": false}),
        json!({"properties": {"optional": {"type": "string"}}}),
        json!({"type": ["object", "null"]}),
    ] {
        assert_eq!(make(&schema), json!({}), "{schema}");
    }
}

#[test]
fn smallest_texts_and_numbers() {
    assert_made(&[
        (json!({"type": "string"}), json!("text")),
        (json!({"type": "string", "minLength": 6}), json!("textxx")),
        (json!({"type": "string", "maxLength": 2}), json!("te")),
        (json!({"type": "string", "maxLength": 0}), json!("")),
        (
            json!({"type": "string", "pattern": "^[A-Z]{3}$"}),
            json!("AAA"),
        ),
        (json!({"type": "integer"}), json!(1)),
        (json!({"type": "integer", "minimum": 0}), json!(0)),
        (json!({"type": "integer", "minimum": 5}), json!(5)),
        (json!({"type": "integer", "exclusiveMinimum": 5}), json!(6)),
        (json!({"type": "integer", "maximum": -3}), json!(-3)),
        (json!({"type": "integer", "exclusiveMaximum": 0}), json!(-1)),
        (
            json!({"type": "integer", "minimum": 2, "multipleOf": 5}),
            json!(5),
        ),
        (
            json!({"type": "integer", "minimum": 1, "multipleOf": 0.5}),
            json!(1),
        ),
        (json!({"type": "integer", "minimum": 1.5}), json!(2)),
        // What zod writes for an integer without bounds.
        (
            json!({"type": "integer", "minimum": -9_007_199_254_740_991_i64,
                   "maximum": 9_007_199_254_740_991_i64}),
            json!(1),
        ),
        (
            json!({"type": "integer", "minimum": u64::MAX}),
            json!(u64::MAX),
        ),
        (json!({"type": "number"}), json!(1)),
        (
            json!({"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1}),
            json!(0.5),
        ),
        (
            json!({"type": "number", "minimum": 0.1, "maximum": 0.4, "multipleOf": 0.25}),
            json!(0.25),
        ),
    ]);
}

#[test]
fn smallest_values_of_other_kinds() {
    assert_made(&[
        (json!({"type": "boolean"}), json!(false)),
        (json!({"type": "null"}), json!(null)),
        (json!({"type": "array"}), json!([])),
        (
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 2}),
            json!([1, 1]),
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}, "minItems": 3, "uniqueItems": true}),
            json!([1, 2, 3]),
        ),
        (
            json!({"type": "array", "prefixItems": [{"type": "string"}, {"const": 7}], "minItems": 2}),
            json!(["text", 7]),
        ),
        (
            json!({"type": "array", "contains": {"const": "x"}}),
            json!(["x"]),
        ),
        (
            json!({"type": "array", "contains": {"const": 3}, "minContains": 2, "items": {"type": "integer"}}),
            json!([3, 3]),
        ),
        (json!({"type": "object"}), json!({})),
        (
            json!({"type": "object", "minProperties": 1}),
            json!({"property0": "text"}),
        ),
        (
            json!({"type": "object", "patternProperties": {"^x-": {"type": "integer"}},
                   "additionalProperties": false, "minProperties": 1}),
            json!({"x-": 1}),
        ),
        (
            json!({"type": "object", "propertyNames": {"pattern": "^[a-z]{2}$"}, "minProperties": 2,
                   "additionalProperties": {"type": "boolean"}}),
            json!({"aa": false, "ba": false}),
        ),
        (json!({"type": ["string", "null"]}), json!("text")),
        (json!({"type": ["null", "string"]}), json!(null)),
        (json!({"enum": ["b", "a"]}), json!("b")),
        (json!({"const": {"deep": [1]}}), json!({"deep": [1]})),
        (
            json!({"type": "string", "default": "given"}),
            json!("given"),
        ),
        (
            json!({"type": "string", "examples": ["first", "second"]}),
            json!("first"),
        ),
        // A suggestion that the schema itself refuses.
        (
            json!({"type": "integer", "default": "x", "examples": [0], "minimum": 3}),
            json!(3),
        ),
        (
            json!({"type": "string", "format": "date", "default": "today"}),
            json!("2025-01-01"),
        ),
        (json!({}), json!("text")),
        (json!(true), json!("text")),
        (json!({"minimum": 4}), json!(4)),
        (json!({"required": ["a"]}), json!({"a": "text"})),
        (json!({"not": {"type": "string"}}), json!(1)),
        (
            json!({"type": "string", "not": {"const": "text"}}),
            json!("textb"),
        ),
        (
            json!({"type": "integer", "not": {"enum": [1, 2]}}),
            json!(3),
        ),
        (
            json!({"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 3}]}),
            json!(3),
        ),
        (
            json!({"type": "number", "allOf": [{"type": "integer"}]}),
            json!(1),
        ),
        (json!({"anyOf": [false, {"const": 1}]}), json!(1)),
        (
            json!({"oneOf": [{"type": "integer"}, {"minimum": 0}]}),
            json!(0.5),
        ),
        (
            json!({"if": {"type": "string"}, "then": {"minLength": 5}, "else": {"const": 2}}),
            json!("textb"),
        ),
    ]);
}

#[test]
fn older_drafts() {
    let rows = [
        json!({"properties": {"v": {"type": "integer", "minimum": 3, "exclusiveMinimum": true}}}),
        json!({"properties": {"v": {"type": "number", "maximum": 3, "exclusiveMaximum": true}}}),
        json!({"properties": {"v": {"type": "array", "items": [{"const": 1}, {"const": 2}],
               "additionalItems": {"const": 3}, "minItems": 3}}}),
        json!({"properties": {"v": {"$ref": "#/definitions/v"}}, "definitions": {"v": {"const": 1}}}),
        json!({"properties": {"v": {"type": "object", "required": ["a"],
               "dependencies": {"a": ["b"], "b": {"required": ["c"]}}}}}),
    ];
    for mut schema in rows {
        schema["required"] = json!(["v"]);
        schema["$schema"] = json!("http://json-schema.org/draft-04/schema#");
        // Some of them are not draft 4: judged by the draft they were written for.
        let declared = from_schema(&schema, &Choice::default());
        schema["$schema"] = json!("https://example.com/unknown");
        let unknown = make(&schema);
        schema.as_object_mut().unwrap().remove("$schema");
        assert_eq!(make(&schema), unknown);
        if let Ok(declared) = declared {
            assert_eq!(declared.as_object().unwrap().len(), 1);
        }
    }
    let exclusive = json!({"properties": {"v":
        {"type": "integer", "minimum": 3, "exclusiveMinimum": true}}, "required": ["v"]});
    assert_eq!(make(&exclusive), json!({"v": 4}));
}

#[test]
fn formats_and_patterns_are_kept() {
    for schema in [
        json!({"type": "string", "format": "email"}),
        json!({"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083}),
        json!({"type": "string", "format": "date-time"}),
        json!({"type": "string", "format": "time"}),
        json!({"type": "string", "format": "duration"}),
        json!({"type": "string", "format": "uuid"}),
        json!({"type": "string", "format": "ipv4"}),
        json!({"type": "string", "format": "ipv6"}),
        json!({"type": "string", "format": "hostname"}),
        json!({"type": "string", "format": "regex"}),
        json!({"type": "string", "format": "something-else"}),
        json!({"type": "string", "pattern": "^#[0-9a-fA-F]{6}$"}),
        json!({"type": "string", "pattern": "foo", "minLength": 12}),
        json!({"type": "string", "pattern": "^(?=.*[A-Z])(?=.*[a-z])(?=.*\\d).{8,}$"}),
        json!({"type": "string", "pattern": "^[\\w.-]+\\/[\\w.-]+$", "minLength": 20}),
        json!({"allOf": [{"type": "string", "pattern": "^a"}, {"pattern": "[0-9]{2}"}],
               "examples": ["a12"]}),
        // zod 4: email, iso datetime, uuid, base64.
        json!({"type": "string", "format": "email",
               "pattern": "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$"}),
        json!({"type": "string", "format": "date-time",
               "pattern": "^(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))T(?:(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z))$"}),
        json!({"type": "string", "format": "uuid",
               "pattern": "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$"}),
        json!({"type": "string", "format": "base64", "contentEncoding": "base64",
               "pattern": "^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$"}),
        // pydantic: decimal as text.
        json!({"type": "string", "pattern": "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$"}),
    ] {
        let value = make_one(&schema);
        assert_valid(&schema, &value);
    }
}

#[test]
fn schemas_of_pydantic() {
    let schema = json!({
        "$defs": {
            "Address": {"properties": {
                "street": {"title": "Street", "type": "string"},
                "zip": {"anyOf": [{"pattern": "^\\d{5}$", "type": "string"}, {"type": "null"}],
                        "default": null, "title": "Zip"}
            }, "required": ["street"], "title": "Address", "type": "object"},
            "Cat": {"properties": {
                "kind": {"const": "cat", "title": "Kind", "type": "string"},
                "lives": {"maximum": 9, "minimum": 1, "title": "Lives", "type": "integer"}
            }, "required": ["kind", "lives"], "title": "Cat", "type": "object"},
            "Dog": {"properties": {"kind": {"const": "dog", "title": "Kind", "type": "string"}},
                    "required": ["kind"], "title": "Dog", "type": "object"},
            "Color": {"enum": ["red", "green"], "title": "Color", "type": "string"},
            "Node": {"properties": {
                "name": {"title": "Name", "type": "string"},
                "children": {"items": {"$ref": "#/$defs/Node"}, "title": "Children", "type": "array"},
                "parent": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}
            }, "required": ["name", "children", "parent"], "title": "Node", "type": "object"}
        },
        "properties": {
            "address": {"$ref": "#/$defs/Address"},
            "addresses": {"items": {"$ref": "#/$defs/Address"}, "minItems": 1, "type": "array"},
            "pet": {"discriminator": {"mapping": {"cat": "#/$defs/Cat", "dog": "#/$defs/Dog"},
                    "propertyName": "kind"},
                    "oneOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}], "title": "Pet"},
            "color": {"$ref": "#/$defs/Color"},
            "mode": {"enum": ["fast", "slow"], "title": "Mode", "type": "string"},
            "nickname": {"anyOf": [{"type": "string"}, {"type": "null"}], "title": "Nickname"},
            "when": {"format": "date-time", "title": "When", "type": "string"},
            "labels": {"additionalProperties": {"type": "string"}, "type": "object"},
            "pair": {"maxItems": 2, "minItems": 2, "prefixItems": [{"type": "integer"},
                     {"type": "string"}], "type": "array"},
            "tree": {"$ref": "#/$defs/Node"},
            "limit": {"default": 10, "title": "Limit", "type": "integer"}
        },
        "required": ["address", "addresses", "pet", "color", "mode", "nickname", "when", "labels",
                     "pair", "tree"],
        "title": "toolArguments",
        "type": "object"
    });
    let value = make(&schema);
    assert_eq!(
        value,
        json!({
            "address": {"street": "text"},
            "addresses": [{"street": "text"}],
            "pet": {"kind": "cat", "lives": 1},
            "color": "red",
            "mode": "fast",
            "nickname": "text",
            "when": "2025-01-01T12:00:00Z",
            "labels": {},
            "pair": [1, "text"],
            "tree": {"name": "text", "children": [], "parent": null}
        })
    );
    assert_valid(&schema, &value);
}

#[test]
fn schemas_of_zod_and_schemars() {
    let zod = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "action": {"anyOf": [
                {"type": "object", "properties": {"type": {"type": "string", "const": "create"},
                 "payload": {"type": "object", "properties": {}, "additionalProperties": {}}},
                 "required": ["type", "payload"], "additionalProperties": false},
                {"type": "object", "properties": {"type": {"type": "string", "const": "delete"}},
                 "required": ["type"], "additionalProperties": false}
            ]},
            "record": {"type": "object", "propertyNames": {"type": "string", "enum": ["a", "b"]},
                       "additionalProperties": {"type": "number"}, "required": ["a", "b"]},
            "ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
            "nullable": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
            "both": {"allOf": [
                {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]},
                {"type": "object", "properties": {"y": {"type": "number"}}, "required": ["y"]}
            ]}
        },
        "required": ["action", "record", "ratio", "nullable", "both"],
        "additionalProperties": false
    });
    assert_eq!(
        make(&zod),
        json!({"action": {"type": "create", "payload": {}}, "record": {"a": 1, "b": 1},
               "ratio": 1, "nullable": "text", "both": {"x": "text", "y": 1}})
    );
    let schemars = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Request",
        "type": "object",
        "required": ["command", "level", "size", "maybe"],
        "properties": {
            "command": {"$ref": "#/definitions/Command"},
            "level": {"allOf": [{"$ref": "#/definitions/Level"}], "description": "how loud"},
            "size": {"type": "integer", "format": "uint32", "minimum": 0.0},
            "maybe": {"anyOf": [{"$ref": "#/definitions/Level"}, {"type": "null"}]}
        },
        "definitions": {
            "Command": {"oneOf": [
                {"type": "object", "required": ["Move"], "additionalProperties": false,
                 "properties": {"Move": {"type": "object", "required": ["x"],
                 "properties": {"x": {"type": "integer", "format": "int32"}}}}},
                {"type": "string", "enum": ["Stop"]}
            ]},
            "Level": {"oneOf": [{"description": "low", "type": "string", "enum": ["low"]},
                                {"description": "high", "type": "string", "const": "high"}]}
        }
    });
    assert_eq!(
        make(&schemars),
        json!({"command": {"Move": {"x": 1}}, "level": "low", "size": 0, "maybe": "low"})
    );
}

#[test]
fn conditions_and_dependencies() {
    let rows = [
        (
            json!({"required": ["a"], "dependentRequired": {"a": ["b"], "b": ["c"]}}),
            json!({"a": "text", "b": "text", "c": "text"}),
        ),
        (
            json!({"required": ["a"], "dependentSchemas": {"a": {"properties": {"a": {"const": 5}}}}}),
            json!({"a": 5}),
        ),
        (
            json!({"properties": {"kind": {"enum": ["x", "y"]}}, "required": ["kind"],
                   "if": {"properties": {"kind": {"const": "x"}}}, "then": {"required": ["size"]}}),
            json!({"kind": "y"}),
        ),
        (
            json!({"anyOf": [{"required": ["url"]}, {"required": ["path"]}],
                   "properties": {"url": {"type": "string", "format": "uri"}, "path": {"type": "string"}}}),
            json!({"url": "http://127.0.0.1:9/"}),
        ),
        (
            json!({"properties": {"a": {"type": "integer"}}, "required": ["a"],
                   "unevaluatedProperties": false, "allOf": [{"properties": {"b": {"type": "null"}},
                   "required": ["b"]}]}),
            json!({"a": 1, "b": null}),
        ),
        (
            json!({"$ref": "#/$defs/root", "$defs": {"root": {"$anchor": "r", "properties":
                   {"again": {"anyOf": [{"$ref": "#r"}, {"type": "null"}]}}, "required": ["again"]}}}),
            json!({"again": null}),
        ),
        (
            json!({"properties": {"self": {"anyOf": [{"$ref": "#"}, {"type": "integer"}]}},
                   "required": ["self"]}),
            json!({"self": 1}),
        ),
        (json!({"allOf": [{"$ref": "#"}]}), json!({})),
        // A remote part that is not needed does no harm.
        (
            json!({"properties": {"id": {"type": "string"}, "far": {"$ref": "https://example.com/s"}},
                   "required": ["id"]}),
            json!({"id": "text"}),
        ),
    ];
    for (schema, expected) in rows {
        assert_eq!(make(&schema), expected, "{schema}");
    }
}

#[test]
fn the_token_is_carried_where_a_string_allows() {
    let carried = [
        (json!({"message": {"type": "string"}}), json!(["message"])),
        (json!({"message": {"type": "string"}}), json!([])),
        (
            json!({"a": {"type": "integer"}, "message": {"type": "string", "minLength": 30}}),
            json!(["a", "message"]),
        ),
        (
            json!({"url": {"type": "string", "format": "uri"}}),
            json!(["url"]),
        ),
        (
            json!({"mail": {"type": "string", "format": "email"}}),
            json!(["mail"]),
        ),
        (
            json!({"slug": {"type": "string", "pattern": "^[a-z0-9-]+$"}}),
            json!(["slug"]),
        ),
        (
            json!({"name": {"type": "string", "default": "x"}}),
            json!(["name"]),
        ),
        (
            json!({"list": {"type": "array", "items": {"type": "string"}, "minItems": 1}}),
            json!(["list"]),
        ),
        (json!({"any": {}}), json!(["any"])),
        (
            json!({"query": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null}}),
            json!([]),
        ),
        (
            json!({"deep": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}),
            json!(["deep"]),
        ),
    ];
    for (properties, required) in carried {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        let value = from_schema(&schema, &with_token("tok-00f1")).unwrap();
        assert!(carries_token(&value, "tok-00f1"), "{schema}: {value}");
        assert_valid(&schema, &value);
    }
    // What an optional argument does is not known; only one that asks for something is given.
    let topic = json!({"topic": {"type": "string"}, "query": {"type": "string", "description": "Deletes what matches"}});
    let schema = json!({"type": "object", "properties": topic});
    let value = from_schema(&schema, &with_token("tok-00f1")).unwrap();
    assert_eq!(value, json!({}));
    let refused = [
        json!({"n": {"type": "integer"}}),
        json!({"e": {"enum": ["a", "b"]}}),
        json!({"s": {"type": "string", "maxLength": 3}}),
        json!({"d": {"type": "string", "format": "date"}}),
    ];
    for properties in refused {
        let names: Vec<&String> = properties.as_object().unwrap().keys().collect();
        let schema = json!({"type": "object", "properties": properties, "required": names});
        let value = from_schema(&schema, &with_token("tok-00f1")).unwrap();
        assert!(!carries_token(&value, "tok-00f1"), "{schema}: {value}");
        assert_eq!(value, make(&schema));
    }
}

#[test]
fn a_seed_changes_choices_and_nothing_else() {
    let schema = json!({"properties": {
        "color": {"enum": ["a", "b", "c", "d"]}, "text": {"type": "string"},
        "one": {"oneOf": [{"const": 1}, {"const": 2}, {"const": 3}]}
    }, "required": ["color", "text", "one"]});
    let values: Vec<Value> = (0..32)
        .map(|seed| {
            from_schema(
                &schema,
                &Choice {
                    seed,
                    ..Choice::default()
                },
            )
            .unwrap()
        })
        .collect();
    assert_eq!(values[0], json!({"color": "a", "text": "text", "one": 1}));
    let mut distinct = values.clone();
    distinct.dedup();
    assert!(distinct.len() > 4, "{distinct:?}");
    for (seed, value) in (0..32).zip(values) {
        assert_valid(&schema, &value);
        assert_eq!(
            value,
            from_schema(
                &schema,
                &Choice {
                    seed,
                    ..Choice::default()
                }
            )
            .unwrap()
        );
    }
}

#[test]
fn the_tools_of_a_real_server() {
    let tools: Vec<Value> =
        serde_json::from_str(include_str!("data/server_everything_tools.json")).unwrap();
    assert!(tools.len() > 10);
    for tool in tools {
        let schema = &tool["inputSchema"];
        for choice in [
            Choice::default(),
            with_token("tok-1"),
            Choice {
                seed: 9,
                ..Choice::default()
            },
        ] {
            let value = from_schema(schema, &choice).unwrap();
            assert_valid(schema, &value);
        }
        if tool["name"] == "echo" {
            assert_eq!(
                from_schema(schema, &with_token("tok-1")).unwrap(),
                json!({"message": "tok-1"})
            );
        }
    }
}

#[test]
fn generated_arguments_do_no_harm() {
    let folder = std::env::temp_dir().join("mcprove-nowhere");
    let path = |name: &str| folder.join(name).display().to_string();
    for (name, schema, expected) in [
        (
            "pid",
            json!({"type": "integer", "default": 1}),
            json!(2_147_483_646),
        ),
        ("process_id", json!({"type": "string"}), json!("2147483646")),
        (
            "path",
            json!({"type": "string", "examples": ["/etc/passwd"]}),
            json!(path("text")),
        ),
        (
            "file_path",
            json!({"type": "string", "default": "."}),
            json!(path("text")),
        ),
        (
            "directory",
            json!({"type": "string"}),
            json!(folder.display().to_string()),
        ),
        (
            "target",
            json!({"type": "string", "description": "Absolute path to a file"}),
            json!(path("text")),
        ),
        (
            "url",
            json!({"type": "string", "examples": ["https://example.com/"]}),
            json!("http://127.0.0.1:9/"),
        ),
        (
            "url",
            json!({"type": "string", "default": "http://localhost/a"}),
            json!("http://localhost/a"),
        ),
        (
            "host",
            json!({"type": "string", "default": "example.com"}),
            json!("localhost"),
        ),
        (
            "command",
            json!({"type": "string", "examples": ["rm -rf /"]}),
            json!("text"),
        ),
        (
            "mail",
            json!({"type": "string", "format": "email"}),
            json!("user@mail.localhost"),
        ),
        (
            "topic",
            json!({"type": "string", "examples": ["weather"]}),
            json!("weather"),
        ),
    ] {
        let schema = json!({"type": "object", "properties": {name: schema}, "required": [name]});
        assert_eq!(make(&schema)[name], expected, "{schema}");
    }
    // A token does not make a path or an address of another kind.
    let schema =
        json!({"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]});
    let arguments = from_schema(&schema, &with_token("tok-1")).unwrap();
    assert_eq!(arguments["url"], "http://127.0.0.1:9/tok-1");
}
