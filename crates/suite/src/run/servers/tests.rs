use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use mcprove_load::drive::Stop;

use super::*;
use crate::file::parse_yaml;
use crate::plan::Environment;
use crate::run::CassetteMode;

fn options() -> SuiteOptions {
    let values = BTreeMap::from([("WORD", "filled")]);
    SuiteOptions {
        jobs: 4,
        cassettes: CassetteMode::Live,
        environment: Environment::new(move |name| {
            values.get(name).map(|value| (*value).to_owned())
        }),
        seed: 0,
        output_dir: PathBuf::new(),
        is_output_dir_given: false,
        proxy_program: None,
        supervisor: None,
        stop: Stop::new(),
    }
}

fn mock_servers(settings: &str) -> Servers {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(
        folder.path().join("t.yml"),
        "tools: [{ name: look, response: x }]",
    )
    .unwrap();
    let text =
        format!("servers:\n  m: {{ mock: t.yml{settings} }}\ntools: [{{ name: t, tool: look }}]\n");
    let plan = parse_yaml(&text, "s.yml", folder.path()).unwrap();
    Servers::new(&plan, &options())
}

#[tokio::test]
async fn tests_share_a_session_until_it_is_spoilt() {
    let servers = mock_servers("");
    let turn = servers.turn("m", Duration::MAX).await.unwrap();
    let other = servers.turn("m", Duration::MAX).await.unwrap();
    let first = turn.session().await.unwrap();
    assert!(!first.had_company());
    let second = other.session().await.unwrap();
    assert!(Arc::ptr_eq(first.session(), second.session()));
    assert!(first.had_company() && second.had_company());
    assert_eq!(first.tool("look").unwrap().name, "look");
    let own = other.own_session().await.unwrap();
    assert!(!Arc::ptr_eq(first.session(), own.session()));
    let kept = Arc::clone(own.session());
    own.done().await;
    let again = other.own_session().await.unwrap();
    assert!(
        Arc::ptr_eq(&kept, again.session()),
        "it was kept for the next"
    );
    first.spoil();
    let replaced = turn.session().await.unwrap();
    assert!(!Arc::ptr_eq(first.session(), replaced.session()));
    // Those who had it keep it.
    assert!(second.session().closed().is_none());
    assert!(servers.turn("n", Duration::MAX).await.is_none());
    servers.close(Duration::from_secs(5)).await;
}

#[tokio::test]
async fn a_fresh_server_is_nobody_elses() {
    let servers = mock_servers(", fresh: true");
    let turn = servers.turn("m", Duration::MAX).await.unwrap();
    let (one, two) = (turn.session().await.unwrap(), turn.session().await.unwrap());
    assert!(!Arc::ptr_eq(one.session(), two.session()));
    let session = Arc::clone(one.session());
    one.done().await;
    assert!(session.closed().is_some(), "it ends with its test");
}

#[tokio::test]
async fn no_more_tests_use_a_server_at_once_than_it_allows() {
    let servers = mock_servers(", parallel: 2");
    let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let test = async || {
        let turn = servers.turn("m", Duration::MAX).await.unwrap();
        let lease = turn.session().await.unwrap();
        let count = now.fetch_add(1, Ordering::SeqCst) + 1;
        most.fetch_max(count, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(5)).await;
        now.fetch_sub(1, Ordering::SeqCst);
        lease.done().await;
    };
    tokio::join!(test(), test(), test(), test(), test());
    assert_eq!(most.load(Ordering::SeqCst), 2);
    servers.close(Duration::from_secs(5)).await;
}

#[cfg(unix)]
#[tokio::test]
async fn variables_are_filled_in_and_every_process_ends() {
    let script = r#"read line
while [ -n "$line" ]; do
  id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
  case "$line" in
    *initialize\"*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"%s","version":"1"}}}\n' "$id" "$1-$WORD2" ;;
    *tools/list*) printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}\n' "$id" ;;
  esac
  line=
  read line
done"#;
    let text = format!(
        "servers:\n  s: {{ command: [sh, -c, {}, sh, \"${{WORD}}\"], env: {{ WORD2: \"${{WORD}}2\" }}, protocol: \"2025-06-18\" }}\n  t: {{ command: [sh, -c, exit, \"${{NONE}}\"] }}\ntools: [{{ name: t, server: s, tool: x }}]\n",
        serde_json::json!(script).to_string().replace("${", "$${")
    );
    let plan = parse_yaml(&text, "s.yml", Path::new("")).unwrap();
    let servers = Servers::new(&plan, &options());
    let turn = servers.turn("s", Duration::MAX).await.unwrap();
    let lease = turn.session().await.unwrap();
    assert_eq!(
        lease.session().facts().implementation.name,
        "filled-filled2"
    );
    let process = lease.session().process().unwrap();
    lease.done().await;
    servers.close(Duration::from_secs(5)).await;
    let is_gone = || !Path::new(&format!("/proc/{process}/stat")).exists();
    for _ in 0..200 {
        if is_gone() || !Path::new("/proc").exists() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(is_gone());
    let error = servers
        .turn("t", Duration::MAX)
        .await
        .unwrap()
        .session()
        .await
        .err()
        .unwrap();
    assert!(
        error.message.rendered().contains("NONE is not set"),
        "{:?}",
        error.message
    );
    assert!(
        error.hint.rendered().contains("set NONE"),
        "{:?}",
        error.hint
    );
}
