//! Suites in files, and the tools files that they name.

use std::path::Path;

use mcprove_settings::tree::FILE_BYTES_MAX;

use crate::file::read;
use crate::plan::Reach;

const TOOLS: &str = "tools: [{ name: search, response: \"found ${args.query}\" }]\n";
const SUITE: &str = "servers:\n  fake: { mock: ./sub/tools.yml, fault: hang }\ntools: [{ name: t, tool: search }]\n";

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("sub")).unwrap();
    std::fs::write(folder.path().join("sub/tools.yml"), TOOLS).unwrap();
    folder
}

fn write(folder: &Path, text: &str) -> std::path::PathBuf {
    let path = folder.join("suite.yml");
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn mocks_are_read_beside_the_suite() {
    let folder = folder();
    for (fault, count) in [
        ("fault: hang", 1),
        ("fault: none", 1),
        ("faults: [hang, \"slow:5,tool=search\"]", 2),
        ("fault: { kind: recover_after, failures: 2 }", 1),
        ("fault: [{ kind: slow, target: { server: fake } }]", 1),
        ("parallel: 2", 0),
    ] {
        let plan = read(&write(folder.path(), &SUITE.replace("fault: hang", fault))).unwrap();
        let Reach::Mock { spec, faults } = &plan.servers["fake"].reach else {
            panic!("no mock");
        };
        assert_eq!((spec.tools.len(), faults.len()), (1, count), "{fault}");
    }
}

#[test]
fn problems_of_a_tools_file_have_their_own_places() {
    let folder = folder();
    let tools = folder.path().join("sub/tools.yml");
    std::fs::write(&tools, "tools:\n  - name: search\n    respones: x\n").unwrap();
    let text = format!("{SUITE}agents: [{{ name: u, modle: m, servers: [], prompt: p }}]\n");
    let errors = read(&write(folder.path(), &text)).unwrap_err().0;
    // First those of the suite, then those of the other file.
    let files: Vec<bool> = errors
        .iter()
        .map(|error| error.file.ends_with("suite.yml"))
        .collect();
    assert_eq!(files, [true, true, false], "{errors:?}");
    let last = errors[2].to_string();
    assert!(
        last.contains("tools.yml:3:5: unknown key \"respones\""),
        "{last}"
    );
    assert!(last.contains("3 |     respones: x"), "{last}");
}

#[test]
fn faults_of_a_mock_that_cannot_be() {
    let folder = folder();
    for (fault, message) in [
        ("fault: hagn", "no fault is called \"hagn\""),
        (
            "fault: hang, faults: [hang]",
            "`fault` and `faults` cannot both be given",
        ),
        ("fault: \"hang,server=other\"", "aimed at another server"),
        ("fault: 5", "must be a list of faults"),
        (
            "headers: { A: b }",
            "`headers` is for a server at an address",
        ),
        ("command: x", "`command` and `mock` cannot both be given"),
        ("transport: http", "a mock in this process has no transport"),
    ] {
        let errors = read(&write(folder.path(), &SUITE.replace("fault: hang", fault))).unwrap_err();
        assert_eq!(errors.0.len(), 1, "{errors}");
        assert!(errors.0[0].texts().0.contains(message), "{fault}: {errors}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let missing = read(&folder.path().join("suite.yml"))
        .unwrap_err()
        .to_string();
    assert!(
        missing.contains("cannot be read") && missing.contains("check the path"),
        "{missing}"
    );
    let directory = read(folder.path()).unwrap_err().to_string();
    assert!(directory.contains("cannot be read"), "{directory}");
    let path = folder.path().join("suite.yml");
    std::fs::write(&path, b"tools: []\nx: \xff\xfe\x00").unwrap();
    let binary = read(&path).unwrap_err().to_string();
    assert!(binary.contains("suite.yml:2:4: is not UTF-8"), "{binary}");
    std::fs::write(&path, vec![b'#'; FILE_BYTES_MAX + 1]).unwrap();
    let large = read(&path).unwrap_err().to_string();
    assert!(large.contains("is larger than 4 MiB"), "{large}");
    let good = "\u{feff}servers: { a: { command: x } }\r\ntools: [{ name: t, tool: x }]\r\n";
    std::fs::write(&path, good).unwrap();
    assert_eq!(read(&path).unwrap().tools.len(), 1);
}

/// Nobody learns what stands in a file by naming it in a suite.
#[test]
fn files_outside_of_the_folder_are_not_quoted() {
    let folder = folder();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    for (name, text, kind) in [
        (
            ".env",
            "PASSWORD=hunter2\nOTHER: [hunter2\n",
            "not valid YAML",
        ),
        ("keys.yml", "hunter2: hunter2\n", "an unknown key"),
        ("text.yml", "hunter2\n", ""),
        ("list.yml", "- hunter2\n", ""),
        ("a.json", "{\"hunter2\": hunter2}", "not valid JSON"),
        ("a.toml", "hunter2 = hunter2", "not valid TOML"),
        (
            "odd.yml",
            "tools: [{ name: search, response: { hunter2: 1 } }]\n",
            "",
        ),
    ] {
        std::fs::write(folder.path().join(name), text).unwrap();
        let named = |file: &str| SUITE.replace("./sub/tools.yml", file);
        let mut outside = vec![format!("../{name}"), format!("./../inner/../{name}")];
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(folder.path().join(name), inner.join(format!("link{name}")))
                .unwrap();
            outside.push(format!("link{name}"));
        }
        for file in outside {
            let errors = read(&write(&inner, &named(&file))).unwrap_err();
            let told = errors.to_string();
            assert!(!told.contains("hunter2"), "{told}");
            assert!(told.contains(kind) && told.contains("outside"), "{told}");
        }
        let _ = std::fs::remove_file(inner.join(format!("link{name}")));
        // What is inside is shown as ever.
        if name != "text.yml" {
            let inside = read(&write(folder.path(), &named(name))).unwrap_err();
            assert!(inside.to_string().contains("hunter2"), "{inside}");
        }
    }
}

#[cfg(unix)]
#[test]
fn only_regular_files_are_read() {
    let pipe = tempfile::tempdir().unwrap();
    let pipe = pipe.path().join("pipe.yml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let told = read(&pipe).unwrap_err().to_string();
    assert!(told.contains("it is not a regular file"), "{told}");
}

/// Those that come with the program.
#[test]
fn the_examples_are_taken() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let examples = root.join("examples");
    for name in [
        "fault-injection-recovery.yml",
        "offline-trace-validation.yml",
        "agent-stability.yml",
        "narrative.yml",
        "oracle.yml",
        "negative-path.yml",
        "suites/suite.yml",
        "hello.yml",
        "replay/agents.yml",
    ] {
        let plan = read(&examples.join(name)).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(plan.warnings.is_empty(), "{name}: {:?}", plan.warnings);
    }
}
