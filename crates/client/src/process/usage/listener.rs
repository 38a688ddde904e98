//! Who listens on an address of this machine: the sockets of `/proc/net`, and the processes that
//! have them open.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::prelude::*;
use crate::process::stat::{Stat, processes};

/// How much of a list of sockets is read; that is half a million of them.
const LIST_BYTES_MAX: u64 = 100 * 1024 * 1024;
/// The state LISTEN, as the lists have it.
const LISTENING: &str = "0A";
/// The process that listens on behalf of others, unless nobody else does.
const FIRST_PROCESS: u32 = 1;

/// How well a socket fits an address; connections go to the best.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// It listens on that very address.
    Exact,
    /// It listens on all addresses of the same kind.
    All,
    /// It listens on all IPv6 addresses, which may include those of IPv4.
    AllOfBothKinds,
}

/// The process that accepts connections at `address`, if that is a loopback address.
pub fn find(address: SocketAddr) -> Option<u32> {
    let wanted = SocketAddr::new(address.ip().to_canonical(), address.port());
    if !wanted.ip().is_loopback() {
        return None;
    }
    let mut sockets: Vec<(Fit, String)> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .flat_map(|list| listening_sockets(list, wanted))
        .collect();
    sockets.sort_unstable();
    let (best, _) = *sockets.first()?;
    let links: Vec<String> = sockets
        .into_iter()
        .filter(|(fit, _)| *fit == best)
        .map(|(_, inode)| format!("socket:[{inode}]"))
        .collect();
    processes()
        .map(|(pid, _)| pid)
        .filter(|pid| has_open(*pid, &links))
        .filter_map(|pid| Some(Stat::read(pid)?.identity))
        .min_by_key(|identity| (identity.pid == FIRST_PROCESS, identity.start, identity.pid))
        .map(|identity| identity.pid)
}

/// The sockets in `list` that listen on `wanted`, by inode.
fn listening_sockets(list: &str, wanted: SocketAddr) -> Vec<(Fit, String)> {
    let Ok(file) = File::open(list) else {
        return Vec::new();
    };
    BufReader::new(file.take(LIST_BYTES_MAX))
        .lines()
        .map_while(Result::ok)
        .filter_map(|line| listening_socket(&line, wanted))
        .collect()
}

/// Reads `SLOT: LOCAL REMOTE STATE QUEUES TIMER RETRANSMITS USER TIMEOUT INODE …`.
fn listening_socket(line: &str, wanted: SocketAddr) -> Option<(Fit, String)> {
    let mut fields = line.split_ascii_whitespace();
    let local = fields.nth(1)?;
    if fields.nth(1)? != LISTENING {
        return None;
    }
    let inode = fields.nth(5)?;
    let (ip, port) = local.split_once(':')?;
    if u16::from_str_radix(port, 16) != Ok(wanted.port()) {
        return None;
    }
    let fit = match (parse_ip(ip)?, wanted.ip()) {
        (local, wanted) if local.to_canonical() == wanted => Fit::Exact,
        (IpAddr::V4(local), IpAddr::V4(_)) if local.is_unspecified() => Fit::All,
        (IpAddr::V6(local), IpAddr::V6(_)) if local.is_unspecified() => Fit::All,
        (IpAddr::V6(local), IpAddr::V4(_)) if local.is_unspecified() => Fit::AllOfBothKinds,
        _ => return None,
    };
    Some((fit, inode.to_owned()))
}

/// Reads an address from hexadecimal words in the byte order of the machine.
fn parse_ip(text: &str) -> Option<IpAddr> {
    let word = |index: usize| {
        let digits = text.get(index * 8..index * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(1)?, word(2)?, word(3)?];
            let octets: [u8; 16] = words.concat().try_into().ok()?;
            Some(Ipv6Addr::from(octets).into())
        }
        _ => None,
    }
}

/// Whether a process has one of `links` open, as far as we may see.
fn has_open(pid: u32, links: &[String]) -> bool {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"));
    entries.into_iter().flatten().flatten().any(|entry| {
        fs::read_link(entry.path())
            .is_ok_and(|target| links.iter().any(|link| target.as_os_str() == link.as_str()))
    })
}

#[cfg(test)]
#[cfg(target_endian = "little")]
mod tests {
    use super::*;

    fn fit(local: &str, wanted: &str) -> Option<Fit> {
        let rest = "00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0";
        let line = format!("   0: {local} 00000000:0000 0A {rest}");
        let (fit, inode) = listening_socket(&line, wanted.parse().unwrap())?;
        assert_eq!(inode, "4711");
        Some(fit)
    }

    #[test]
    fn sockets_fit_addresses() {
        let everywhere = "00000000000000000000000000000000:1F90";
        let loopback = "00000000000000000000000001000000:1F90";
        let mapped = "0000000000000000FFFF00000100007F:1F90";
        for (local, wanted, expected) in [
            ("0100007F:1F90", "127.0.0.1:8080", Some(Fit::Exact)),
            (mapped, "127.0.0.1:8080", Some(Fit::Exact)),
            (loopback, "[::1]:8080", Some(Fit::Exact)),
            ("00000000:1F90", "127.0.0.1:8080", Some(Fit::All)),
            (everywhere, "[::1]:8080", Some(Fit::All)),
            (everywhere, "127.0.0.1:8080", Some(Fit::AllOfBothKinds)),
            ("0100007F:1F90", "127.0.0.1:8081", None),
            ("0200007F:1F90", "127.0.0.1:8080", None),
            ("00000000:1F90", "[::1]:8080", None),
            ("0100007F", "127.0.0.1:8080", None),
            ("01é0007F:1F90", "127.0.0.1:8080", None),
        ] {
            assert_eq!(fit(local, wanted), expected, "{local} {wanted}");
        }
    }

    #[test]
    fn other_lines_are_none() {
        let wanted = "127.0.0.1:8080".parse().unwrap();
        for line in [
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid",
            "   0: 0100007F:1F90 0100007F:9999 01 0:0 00:0 0  1000 0 4711 1 0",
            "",
        ] {
            assert_eq!(listening_socket(line, wanted), None, "{line}");
        }
    }
}
