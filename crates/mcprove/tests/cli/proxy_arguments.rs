//! What `mcprove proxy` may be told, and what it says to what it cannot do.

use crate::proxy::{answers, proxy};
use crate::support::{MCPROVE, assert_transcript, run};

#[test]
fn the_server_and_the_address_are_named_as_elsewhere() {
    let text = format!("{MCPROVE} fixture normal");
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let (code, out, err) = proxy(&["-s", &text], &format!("{ping}\n"));
    assert_eq!((code, answers(&out).len()), (Some(0), 1), "{err}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for address in [
        format!("localhost:{port}"),
        format!(":{port}"),
        port.to_string(),
    ] {
        let output = run(&[
            "proxy",
            "--listen",
            &address,
            "--url",
            "http://127.0.0.1:9/mcp",
        ]);
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(
            output.stderr.contains(&format!("127.0.0.1:{port}")),
            "{output:?}"
        );
    }
}

#[test]
fn what_cannot_be_done_is_told_with_a_hint() {
    let place = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken_addr = taken.local_addr().unwrap().to_string();
    let bad = place.path().join("bad.yml");
    std::fs::write(&bad, "faults:\n  - { kind: slwo }\n").unwrap();
    let bad = bad.display().to_string();
    let nowhere = place
        .path()
        .join("no/such/folder/r.jsonl")
        .display()
        .to_string();
    let url = "http://127.0.0.1:9/mcp";
    let outputs = [
        &["--", "no-such-program"][..],
        &[],
        &["--fault", "slwo", "--", "cat"],
        &["--fault", "slow:x", "--", "cat"],
        &[
            "--fault",
            "hang,name=late",
            "--fault",
            "slow,name=late",
            "--",
            "cat",
        ],
        &["--faults", &bad, "--", "cat"],
        &["--record", &nowhere, "--", "cat"],
        &["--listen", &taken_addr, "--url", url],
        &["--listen", "127.0.0.1:0", "--url", "ftp://x"],
        &[
            "--listen",
            "127.0.0.1:0",
            "--url",
            url,
            "--header",
            "nonsense",
        ],
    ]
    .map(|arguments| run(&[&["proxy"], arguments].concat()));
    assert!(outputs.iter().all(|output| output.code == Some(2)));
    assert_transcript!("proxy_refused", &outputs);
}

#[test]
fn the_help_lists_every_kind_of_fault() {
    let output = run(&["proxy", "--help"]);
    for kind in mcprove_fault::kinds() {
        let name = kind.name().replace('_', "-");
        assert!(output.stdout.contains(&name), "{name}");
    }
}

/// What was recorded and told before is worth more than a start that fails.
#[test]
fn a_start_that_fails_leaves_files_as_they_were() {
    let place = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let listening = ["--listen", &address, "--url", "http://127.0.0.1:9/mcp"];
    let no_program = ["--", "no-such-program"];
    for start in [&listening[..], &no_program] {
        for is_there in [false, true] {
            let [record, summary] = ["record.jsonl", "summary.json"].map(|name| {
                let path = place.path().join(name);
                if is_there {
                    std::fs::write(&path, "mine").unwrap();
                }
                path.display().to_string()
            });
            let files = ["proxy", "--record", &record, "--summary", &summary];
            let output = run(&[&files, start].concat());
            assert_eq!(output.code, Some(2), "{output:?}");
            for path in [record, summary] {
                let text = std::fs::read_to_string(&path).ok();
                let expected = is_there.then_some("mine");
                assert_eq!(text.as_deref(), expected, "{start:?}");
                let _ = std::fs::remove_file(path);
            }
        }
    }
}

#[test]
fn no_file_is_written_over_another_that_is_named() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("faults.yml");
    let faults = "faults:\n  - { kind: slow }\n";
    std::fs::write(&path, faults).unwrap();
    let path = path.display().to_string();
    let outputs = [
        ("--record", "--faults"),
        ("--summary", "--faults"),
        ("--record", "--summary"),
    ]
    .map(|(one, other)| run(&["proxy", one, &path, other, &path, "--", "cat"]));
    assert_transcript!("proxy_spared_files", &outputs);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), faults);
}
