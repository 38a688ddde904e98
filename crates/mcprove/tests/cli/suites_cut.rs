//! Where the text of a server is cut, no part of a secret is left: not in reports, not in the files of a load.

#![cfg(unix)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use crate::suites::Place;
use crate::support::{finish, mcprove};

const SECRET: &str = "hdr2S3cretValue66";

/// Refuses every request, and repeats in its body what the header `x-custom` has, behind as many characters as the
/// address says.
fn refuse(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let (mut line, mut before, mut length, mut said) = (String::new(), 0, 0, String::new());
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if let Some((_, rest)) = line.split_once("?p=") {
            before = rest.split(' ').next().unwrap().parse().unwrap();
        }
        loop {
            line.clear();
            reader.read_line(&mut line)?;
            match line.trim().split_once(": ") {
                None => break,
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.parse().unwrap();
                }
                Some((name, value)) if name.eq_ignore_ascii_case("x-custom") => {
                    value.clone_into(&mut said);
                }
                Some(_) => {}
            }
        }
        reader.read_exact(&mut vec![0; length])?;
        let body = format!("{}{said}{}", "x".repeat(before), "y".repeat(500));
        write!(
            reader.get_mut(),
            "HTTP/1.1 500 Oh\r\ncontent-type: text/plain\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )?;
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn no_part_of_a_secret_is_left_at_a_cut() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || refuse(stream.unwrap()));
        }
    });
    let places = [184, 188, 192, 196];
    let servers = places.map(|before| {
        format!(
            "  s{before}: {{ url: \"http://{address}/mcp?p={before}\", transport: http, headers: {{ X-Custom: \"${{HIDDEN}}\" }} }}\n"
        )
    });
    let tools =
        places.map(|before| format!("  - {{ name: t{before}, server: s{before}, tool: x }}\n"));
    let (servers, tools) = (servers.concat(), tools.concat());
    let load = "load: [{ name: l, server: s192, scenario: { type: sustained, concurrent: 1, duration: 200ms } }]\n";
    let place = Place::new(&[&format!("servers:\n{servers}tools:\n{tools}{load}")]);
    let mut command = mcprove(&["run", "suite.yml", "--report", "json=r.json"]);
    command.current_dir(place.path(".")).env("HIDDEN", SECRET);
    let output = finish(command);
    assert_eq!(output.code, Some(2), "{output:?}");
    assert!(output.stdout.contains("HTTP 500"), "{output:?}");
    let mut texts = vec![output.stdout, output.stderr];
    for path in files(&place.path(".")) {
        texts.push(String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned());
    }
    for text in &texts {
        assert!(!text.contains("hdr2"), "{text}");
    }
    assert!(
        texts.iter().any(|text| text.contains("x<redacted>…")),
        "{texts:?}"
    );
}
