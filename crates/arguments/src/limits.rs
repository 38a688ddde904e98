//! How much work one set of arguments may cost, whatever the schema says.

/// Nesting of the schema as JSON. The validator recurses once per level.
pub const SCHEMA_DEPTH_MAX: usize = 128;
/// JSON values in the schema.
pub const SCHEMA_VALUES_MAX: usize = 50_000;
/// Nesting of the arguments.
pub const ARGUMENTS_DEPTH_MAX: usize = 32;
/// Size of the arguments as JSON text.
pub const ARGUMENTS_BYTES_MAX: usize = 256 * 1024;
pub const TEXT_CHARACTERS_MAX: usize = 16 * 1024;
/// Items in one array.
pub const ITEMS_MAX: usize = 1_000;
/// Properties in one object.
pub const PROPERTIES_MAX: usize = 1_000;
/// References and combinations followed without moving on in the arguments.
pub const IN_PLACE_DEPTH_MAX: usize = 128;
/// Schemas applied one inside the other while arguments are validated.
pub const VALIDATION_DEPTH_MAX: usize = 256;
/// Ways to combine the branches of `anyOf`, `oneOf` and `if` at one place.
pub const BRANCHES_MAX: usize = 256;
/// Whole arguments that are made and validated before giving up.
pub const ATTEMPTS_MAX: usize = 200;
/// Schemas read while arguments are made, over all attempts.
pub const MAKING_STEPS_MAX: usize = 100_000;
/// Schemas applied while arguments are validated, over all attempts.
pub const VALIDATION_STEPS_MAX: usize = 200_000;
/// Patterns in the schema; each is compiled.
pub const PATTERNS_MAX: usize = 500;
/// Values of one kind that are offered at one place.
pub const VARIANTS: usize = 8;
/// Optional properties tried as carriers of the token.
pub const TOKEN_CARRIERS_MAX: usize = 8;
