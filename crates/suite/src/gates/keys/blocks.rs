//! The blocks, each with its keys and its default gate.

use mcprove_score::agent::golden_path::GoldenPathBlock;
use mcprove_score::agent::loops::LoopsBlock;
use mcprove_score::agent::narrative::NarrativeBlock;
use mcprove_score::agent::recovery::RecoveryBlock;
use mcprove_score::agent::trajectory::Mode;

use super::parts::{CALL, DEPENDENCY, EMPTY, EXPECT, MUTATING, ORDER, READONLY, RULE, key, needed};
use super::{Block, Contents, Fallback, Form};
use crate::gates::{conduct, limits, outcome, path};

/// Every block, in the order of the metrics, and `expect` for whatever they are not about.
pub const BLOCKS: &[Block] = &[
    Block {
        name: "trajectory",
        default_gate: "`trajectory.passed` is 1",
        keys: &[
            key(
                "mode",
                Form::Mode,
                Fallback::Value(|| Mode::default().name().into()),
                "how the expected calls line up with those that were made",
            ),
            key(
                "calls",
                Form::NamesOrMaps(CALL),
                Fallback::None,
                "the expected calls, in order",
            ),
            EXPECT,
        ],
        needs: &[needed("calls", true)],
        contents: Contents::Map(path::trajectory),
    },
    Block {
        name: "trajectory_axes",
        default_gate: "both are 100",
        keys: &[
            key(
                "dependencies",
                Form::Maps(DEPENDENCY),
                EMPTY,
                "a consumer must come after its producer",
            ),
            key(
                "order",
                Form::Maps(ORDER),
                EMPTY,
                "a first call must come before a second",
            ),
            EXPECT,
        ],
        needs: &[needed("dependencies", false), needed("order", false)],
        contents: Contents::Map(path::trajectory_axes),
    },
    Block {
        name: "golden_path",
        default_gate: "`golden_path.passed` is 1",
        keys: &[
            key(
                "calls",
                Form::Names,
                Fallback::None,
                "the shortest way, tool by tool",
            ),
            key(
                "allow_extra_steps",
                Form::Boolean,
                Fallback::Value(|| GoldenPathBlock::default().allow_extra_steps.into()),
                "whether more calls than those are no waste",
            ),
            key(
                "penalize_backtracking",
                Form::Boolean,
                Fallback::Value(|| GoldenPathBlock::default().penalize_backtracking.into()),
                "whether a return to an earlier tool is waste",
            ),
            key(
                "penalize_repeated_tools",
                Form::Boolean,
                Fallback::Value(|| GoldenPathBlock::default().penalize_repeated_tools.into()),
                "whether the same tool twice in a row is waste",
            ),
            EXPECT,
        ],
        needs: &[needed("calls", true)],
        contents: Contents::Map(path::golden_path),
    },
    Block {
        name: "stability",
        default_gate: "`stability.weakest_score` is at least 0.5; needs two runs",
        keys: &[EXPECT],
        needs: &[],
        contents: Contents::Map(outcome::stability),
    },
    Block {
        name: "reliability",
        default_gate: "none; every run must tell whether it `passed`",
        keys: &[EXPECT],
        needs: &[],
        contents: Contents::Map(outcome::reliability),
    },
    Block {
        name: "recovery",
        default_gate: "every run recovered, within the times below",
        keys: &[
            key(
                "max_detection_ms",
                Form::Milliseconds(1),
                Fallback::Value(|| RecoveryBlock::default().max_detection_ms.into()),
                "the timeout of one call",
            ),
            key(
                "max_recovery_ms",
                Form::Milliseconds(0),
                Fallback::Words("no limit"),
                "how long recovery may take in all",
            ),
            key(
                "require_clean_timeout",
                Form::Boolean,
                Fallback::Value(|| RecoveryBlock::default().require_clean_timeout.into()),
                "whether the fault must be noticed within `max_detection_ms`",
            ),
            EXPECT,
        ],
        needs: &[],
        contents: Contents::Map(outcome::recovery),
    },
    Block {
        name: "narrative",
        default_gate: "no write is claimed that no call made",
        keys: &[
            MUTATING,
            READONLY,
            key(
                "max_divergence_score",
                Form::Share,
                Fallback::Words("no limit"),
                "the highest `narrative.divergence_score` allowed, whatever `expect` says",
            ),
            key(
                "llm_assisted",
                Form::Boolean,
                Fallback::Value(|| NarrativeBlock::default().llm_assisted.into()),
                "accepted, and changes nothing: no model decides a gate",
            ),
            EXPECT,
        ],
        needs: &[],
        contents: Contents::Map(conduct::narrative),
    },
    Block {
        name: "orchestration",
        default_gate: "`orchestration.error_recovery` is 1",
        keys: &[EXPECT],
        needs: &[],
        contents: Contents::Map(outcome::orchestration),
    },
    Block {
        name: "loops",
        default_gate: "no limit below is exceeded",
        keys: &[
            key(
                "max_repeats",
                Form::Count(1),
                Fallback::Value(|| LoopsBlock::default().max_repeats.into()),
                "how often the same call may come in a row",
            ),
            key(
                "max_cycle_repeats",
                Form::Count(0),
                Fallback::Value(|| LoopsBlock::default().max_cycle_repeats.into()),
                "how often the same cycle of calls may come in a row",
            ),
            key(
                "max_stagnation",
                Form::Count(0),
                Fallback::Value(|| LoopsBlock::default().max_stagnation.into()),
                "how many calls in a row may bring nothing new",
            ),
            EXPECT,
        ],
        needs: &[],
        contents: Contents::Map(conduct::loops),
    },
    Block {
        name: "permissions",
        default_gate: "no call is denied or not allowed",
        keys: &[
            key(
                "allow",
                Form::NamesOrMaps(RULE),
                Fallback::Words("everything"),
                "what may be called; everything else may not",
            ),
            key(
                "deny",
                Form::NamesOrMaps(RULE),
                EMPTY,
                "what must not be called, even if allowed",
            ),
            EXPECT,
        ],
        needs: &[needed("allow", true), needed("deny", false)],
        contents: Contents::Map(limits::permissions),
    },
    Block {
        name: "call_limits",
        default_gate: "no limit below is broken",
        keys: &[
            key(
                "total",
                Form::Limit,
                Fallback::Words("no limit"),
                "calls of a run",
            ),
            key(
                "tools",
                Form::Limits,
                Fallback::Words("no limits"),
                "calls of each tool",
            ),
            EXPECT,
        ],
        needs: &[
            needed("total", true),
            needed("tools", false),
            needed("expect", true),
        ],
        contents: Contents::Map(limits::call_limits),
    },
    Block {
        name: "duplicate_writes",
        default_gate: "no write may have happened twice",
        keys: &[
            MUTATING,
            READONLY,
            key(
                "idempotent_tools",
                Form::Names,
                EMPTY,
                "tools that may write twice without harm",
            ),
            EXPECT,
        ],
        needs: &[],
        contents: Contents::Map(conduct::duplicate_writes),
    },
    Block {
        name: "expect",
        default_gate: "",
        keys: &[],
        needs: &[],
        contents: Contents::Expectations,
    },
];
