//! Where mcprove itself connects to, by `strace`. The server is a child of it, and is not judged.

use std::collections::{BTreeMap, BTreeSet};

/// What `strace` is told: follow threads, and write down how they begin and what they connect to.
pub const TRACER: [&str; 5] = [
    "strace",
    "-f",
    "--seccomp-bpf",
    "--trace=connect,clone,clone3,fork,vfork",
    "-o",
];

/// The connections to other machines in the output of `strace`, of the first process and its threads.
pub fn foreign(trace: &str) -> BTreeSet<String> {
    let mut ours = BTreeSet::new();
    let mut unfinished = BTreeMap::new();
    let mut found = BTreeSet::new();
    for line in trace.lines() {
        let Some((process, call)) = line.split_once(' ') else {
            continue;
        };
        let call = call.trim_start();
        if ours.is_empty() {
            ours.insert(process);
        }
        if !ours.contains(process) {
            continue;
        }
        if call.starts_with("connect(") && call.contains("sa_family=AF_INET") && !is_local(call) {
            found.insert(call.to_owned());
        }
        if call.contains("<unfinished") {
            unfinished.insert(process, call);
        }
        let start = if call.starts_with("<... ") {
            unfinished.remove(process).unwrap_or(call)
        } else {
            call
        };
        if let Some((_, child)) = call.rsplit_once(" = ")
            && start.contains("CLONE_THREAD")
        {
            ours.insert(child.trim());
        }
    }
    found
}

fn is_local(call: &str) -> bool {
    ["\"127.", "\"::1\"", "\"::ffff:127."]
        .iter()
        .any(|address| call.contains(address))
}

#[cfg(test)]
mod tests {
    use super::foreign;

    #[test]
    fn threads_are_judged_and_children_are_not() {
        let trace = r#"
7 clone3({flags=CLONE_VM|CLONE_THREAD, stack=1} => {parent_tid=[8]}, 88) = 8
7 clone3({flags=CLONE_VM|CLONE_THREAD, stack=2} <unfinished ...>
8 connect(9, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("127.0.0.1")}, 16) = 0
7 <... clone3 resumed> => {parent_tid=[9]}, 88) = 9
9 connect(9, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("192.0.2.1")}, 16 <unfinished ...>
8 clone3({flags=CLONE_VFORK, exit_signal=SIGCHLD}, 88) = 10
10 connect(9, {sa_family=AF_INET, sin_port=htons(80), sin_addr=inet_addr("192.0.2.2")}, 16) = 0
7 connect(9, {sa_family=AF_UNIX, sun_path="/run/x"}, 16) = 0
"#;
        let found = foreign(trace.trim());
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found.iter().all(|call| call.contains("192.0.2.1")),
            "{found:?}"
        );
    }
}
