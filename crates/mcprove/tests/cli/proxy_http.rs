//! `mcprove proxy` between HTTP peers, and real servers behind it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command};

use mcprove_client::server::Server;
use mcprove_client::session::{Session, SessionOptions};
use mcprove_trace::stream::EventStream;
use serde_json::Value;

use crate::proxy::start;
use crate::support::{MCPROVE, mcprove, run, wait};

/// A proxy over HTTP, until it is dropped.
struct HttpProxy {
    child: Child,
    url: String,
    stderr: BufReader<std::process::ChildStderr>,
}

impl HttpProxy {
    fn start(url: &str, arguments: &[&str]) -> Self {
        let all = [
            &["proxy", "--listen", "127.0.0.1:0", "--url", url],
            arguments,
        ]
        .concat();
        let mut child = start(&mut mcprove(&all));
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let url = line.trim_end().strip_prefix("listening on ").unwrap();
        Self {
            url: url.to_owned(),
            child,
            stderr,
        }
    }

    #[cfg(unix)]
    fn stop(mut self) -> String {
        let id = self.child.id().to_string();
        Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert_eq!(wait(&mut self.child).unwrap().code(), Some(130));
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        rest
    }
}

impl Drop for HttpProxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Lists the tools of a server and calls one: what our own client sees.
#[cfg(unix)]
async fn visit(server: &Server) -> (Vec<String>, String) {
    let recorder = EventStream::unobserved().recorder();
    let options = SessionOptions::default();
    let session = Session::connect_recorded(server, options, recorder)
        .await
        .unwrap();
    let tools = session.list_tools().await.unwrap();
    let arguments = serde_json::json!({ "message": "hello" });
    let reply = session.call_tool("echo", &arguments).await.unwrap();
    let result = reply.result().to_owned();
    session.close().await;
    (tools.iter().map(|tool| tool.name.clone()).collect(), result)
}

#[cfg(unix)]
#[test]
fn real_servers_work_behind_it() {
    use harness::{RealServers, ServerKind};
    let servers = RealServers::locate();
    if !harness::require("real servers", servers.is_some()) {
        return;
    }
    let Some(servers) = servers else { return };
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let place = tempfile::tempdir().unwrap();
    let record = place.path().join("record.jsonl").display().to_string();
    let real = servers.stdio(ServerKind::Everything);
    let direct = Server::stdio(real.program.display().to_string()).args(real.args.clone());
    let through = Server::stdio(MCPROVE)
        .args(["proxy", "--record", &record, "--"])
        .arg(real.program.display().to_string())
        .args(real.args);
    let seen = runtime.block_on(visit(&through));
    assert_eq!(seen, runtime.block_on(visit(&direct)));
    let report = run(&["report", "--json", &record]);
    let report: Value = serde_json::from_str(&report.stdout).unwrap();
    assert_eq!(report["tools"]["echo"]["succeeded"], 1, "{report}");

    let running = servers.start_http(ServerKind::Everything, &[]).unwrap();
    let proxy = HttpProxy::start(running.url(), &["--fault", "slow:30,tool=echo"]);
    let seen = runtime.block_on(visit(&Server::http(&proxy.url)));
    assert_eq!(seen, runtime.block_on(visit(&Server::http(running.url()))));
    let summary = proxy.stop();
    assert!(summary.contains("slow"), "{summary}");
}
