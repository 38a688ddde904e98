//! Where the commands of a document run: a folder with the examples in it, `mcprove` first on
//! `PATH`, and a free port instead of 8080.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The port that documents name.
const PORT: &str = "8080";
/// How long a server may take to listen.
const START_TIMEOUT: Duration = Duration::from_secs(30);

pub struct Place {
    folder: tempfile::TempDir,
    port: String,
}

/// A server that a document starts in the background; ended when dropped.
pub struct Background(Child);

/// Where a program is on `PATH`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let binaries = folder.path().join("bin");
        std::fs::create_dir(&binaries).unwrap();
        symlink(env!("CARGO_BIN_EXE_mcprove"), binaries.join("mcprove")).unwrap();
        // `doctor` tells where it found these; here it is the same place on every machine.
        for name in ["python3", "node"] {
            let script = match find_program(name) {
                Some(program) => format!("#!/bin/sh\nexec {} \"$@\"\n", program.display()),
                None => "#!/bin/sh\nexit 1\n".into(),
            };
            let file = binaries.join(name);
            std::fs::write(&file, script).unwrap();
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let work = folder.path().join("work");
        std::fs::create_dir(&work).unwrap();
        symlink(
            super::root().canonicalize().unwrap().join("examples"),
            work.join("examples"),
        )
        .unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        Self { folder, port }
    }

    fn binaries(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    fn shell(&self, text: &str) -> Command {
        let inherited = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.binaries()).chain(std::env::split_paths(&inherited));
        let mut command = Command::new("sh");
        command
            .args(["-c", &text.replace(PORT, &self.port)])
            .current_dir(self.folder.path().join("work"))
            .env("PATH", std::env::join_paths(folders).unwrap())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("COLUMNS", "80")
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end: what it prints, and its exit code.
    pub fn run(&self, text: &str) -> (String, i32) {
        let output = self.shell(&format!("exec 2>&1; {text}")).output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let printed = printed
            .replace(&self.binaries().display().to_string(), "/usr/bin")
            .replace(&format!(":{}", self.port), &format!(":{PORT}"));
        (printed, output.status.code().unwrap_or(-1))
    }

    /// Starts a server and waits until it listens.
    pub fn start(&self, text: &str) -> Background {
        let child = self
            .shell(text)
            .process_group(0)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let server = Background(child);
        let address = (Ipv4Addr::LOCALHOST, self.port.parse().unwrap());
        let began = Instant::now();
        while TcpStream::connect(address).is_err() {
            assert!(began.elapsed() < START_TIMEOUT, "does not listen: {text}");
            std::thread::sleep(Duration::from_millis(20));
        }
        server
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // The shell and the server that it started are a group.
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.0.wait();
    }
}

#[test]
fn programs_are_found_on_path() {
    assert!(find_program("sh").is_some_and(|path| Path::new(&path).is_file()));
    assert_eq!(find_program("no such program"), None);
}
