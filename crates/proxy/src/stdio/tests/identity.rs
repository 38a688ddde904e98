//! What passes is what was sent.

use proptest::prelude::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::rig::{DEADLINE, PING, Peer, Rig, call, cancel, watching};
use crate::LOOK_BYTES_MAX;
use crate::watch::Settings;

/// Sends bytes in both directions at once and gives back what arrived.
async fn through(settings: Settings, up: &[u8], down: &[u8], chunk: usize) -> (Vec<u8>, Vec<u8>) {
    let rig = Rig::new(settings);
    let Rig {
        client,
        server,
        process: _process,
        ..
    } = rig;
    let send = |peer: Peer, bytes: Vec<u8>| async move {
        let Peer { mut reader, writer } = peer;
        let mut writer = writer.unwrap();
        let writing = async move {
            for piece in bytes.chunks(chunk.max(1)) {
                writer.write_all(piece).await.unwrap();
            }
            writer.shutdown().await.unwrap();
        };
        let mut heard = Vec::new();
        let reading = async {
            reader.read_to_end(&mut heard).await.unwrap();
        };
        tokio::join!(writing, reading);
        heard
    };
    let both = async { tokio::join!(send(server, down.to_vec()), send(client, up.to_vec())) };
    timeout(DEADLINE, both).await.unwrap()
}

fn traffic() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..200),
        Just(b"\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n\n  \n".to_vec()),
        "[a-z]{0,3}".prop_map(|id| format!("{}\n", call(&format!("\"{id}\""), "echo")).into_bytes()),
        (0_u8..4).prop_map(|id| format!("{}\r\n", call(&id.to_string(), "echo")).into_bytes()),
        (0_u8..4).prop_map(|id| format!("{}\n", cancel(&id.to_string())).into_bytes()),
        (0_u8..4).prop_map(|id| {
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/list\"}}\n").into_bytes()
        }),
        (0_u8..4).prop_map(|id| {
            format!(
                "{{\"id\":{id}, \"jsonrpc\":\"2.0\",\"result\":{{\"tools\":[{{\"name\":\"echo\"}}]}}}}\n"
            )
            .into_bytes()
        }),
        (0_u8..4).prop_map(|id| {
            format!("[{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}]\n").into_bytes()
        }),
        Just(vec![b'x'; 5_000]),
    ];
    proptest::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn bytes_pass_as_they_are_in_both_directions(
        up in traffic(),
        down in traffic(),
        chunk in 1_usize..3_000,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        for settings in watching() {
            let (to_server, to_client) = runtime.block_on(through(settings, &up, &down, chunk));
            prop_assert!(to_server == up, "to the server: {:?}", String::from_utf8_lossy(&to_server));
            prop_assert!(to_client == down, "to the client: {:?}", String::from_utf8_lossy(&to_client));
        }
    }
}

#[tokio::test]
async fn lines_over_the_limit_pass_in_pieces_and_what_follows_is_seen_again() {
    let mut up = vec![b'a'; LOOK_BYTES_MAX + 70_000];
    up.extend_from_slice(format!("\n{PING}\n").as_bytes());
    for settings in watching() {
        let (to_server, to_client) = through(settings, &up, &up, 60_000).await;
        assert!(to_server == up && to_client == up);
    }
}
