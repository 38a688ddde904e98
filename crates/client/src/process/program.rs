//! Finding the program before it is started, so that a missing one is reported as such even when a
//! supervisor stands in between.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;

use crate::prelude::*;

/// How much of a script is read to find its interpreter; Linux reads as much.
const FIRST_LINE_BYTES: u64 = 256;
/// Where the system looks when PATH is not set.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Fails if the program of `server` cannot be executed, by the rules of `execvp`.
pub fn check_program(server: &Server) -> Result<(), SpawnError> {
    let program = &server.command;
    let mut forbidden = None;
    for candidate in candidates(server) {
        let Ok(found) = candidate.metadata() else {
            continue;
        };
        if found.is_file() && found.permissions().mode() & 0o111 != 0 {
            return check_interpreter(program, &candidate);
        }
        forbidden.get_or_insert((candidate, found.is_dir()));
    }
    let Some((candidate, is_directory)) = forbidden else {
        return Err(SpawnError::not_found(server));
    };
    let candidate = candidate.display();
    let hint = if is_directory {
        sentence!("`{candidate}` is a directory")
    } else {
        sentence!("`{candidate}` is not executable; `chmod +x` it, or start its interpreter")
    };
    Err(SpawnError::not_executable(program, hint))
}

/// The files that the program may be, in the order in which the system tries them.
fn candidates(server: &Server) -> Vec<PathBuf> {
    // Relative paths count from where the server starts.
    let base = server.working_dir.as_deref().unwrap_or(Path::new(""));
    if server.command.contains('/') {
        return vec![base.join(&server.command)];
    }
    let path = server.env.get("PATH").map(OsString::from);
    let path = path
        .or_else(|| std::env::var_os("PATH"))
        .unwrap_or_else(|| DEFAULT_PATH.into());
    std::env::split_paths(&path)
        .map(|directory| {
            let directory = if directory.as_os_str().is_empty() {
                ".".into()
            } else {
                directory
            };
            base.join(directory).join(&server.command)
        })
        .collect()
}

/// Fails if `file` is a script whose interpreter does not exist, which the system reports as if
/// the script did not.
fn check_interpreter(program: &str, file: &Path) -> Result<(), SpawnError> {
    let mut start = Vec::new();
    // A program that may be executed and not read is no script.
    let read =
        File::open(file).and_then(|file| file.take(FIRST_LINE_BYTES).read_to_end(&mut start));
    let line = start
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let (Ok(_), Some(line)) = (read, line.strip_prefix(b"#!")) else {
        return Ok(());
    };
    let line = String::from_utf8_lossy(line);
    match line.split([' ', '\t']).find(|word| !word.is_empty()) {
        Some(interpreter) if interpreter.starts_with('/') && !Path::new(interpreter).exists() => {
            // Windows line ends are the usual reason; make them visible.
            let interpreter = interpreter.escape_debug().to_string();
            Err(SpawnError::new(
                sentence!(
                    "cannot run the script `{program}`: its first line asks for `{interpreter}`, which does \
                     not exist"
                ),
                sentence!("install `{interpreter}`, or correct the first line of the script"),
            ))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script(directory: &Path, name: &str, text: &str, mode: u32) {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn programs_are_found_as_the_system_finds_them() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        script(path, "fine", "#!/bin/sh\n", 0o755);
        script(path, "plain", "#!/bin/sh\n", 0o644);
        script(path, "windows", "#!/bin/sh\r\n", 0o755);
        std::fs::create_dir(path.join("folder")).unwrap();
        let check = |server: Server| check_program(&server);
        let path_text = path.to_str().unwrap();

        check(Server::stdio("sh")).unwrap();
        check(Server::stdio("./fine").working_dir(path)).unwrap();
        check(Server::stdio("fine").env("PATH", path_text)).unwrap();
        check(
            Server::stdio("fine")
                .env("PATH", "/nowhere:")
                .working_dir(path),
        )
        .unwrap();

        let error = check(Server::stdio("fine").working_dir(path)).unwrap_err();
        assert!(
            error.hint().rendered().contains("write `./fine`"),
            "{error}"
        );
        let error = check(Server::stdio("plain").env("PATH", path_text)).unwrap_err();
        assert!(error.hint().rendered().contains("chmod +x"), "{error}");
        let error = check(Server::stdio("folder").env("PATH", path_text)).unwrap_err();
        assert!(
            error.hint().rendered().contains("is a directory"),
            "{error}"
        );
        let error = check(Server::stdio("./windows").working_dir(path)).unwrap_err();
        assert!(error.to_string().contains(r"/bin/sh\r"), "{error}");
    }
}
