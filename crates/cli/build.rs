//! Leaves the tables for unwinding out of the released program: it does not unwind (`panic = "abort"`), and
//! without symbols they show nothing in a backtrace either. They are 1.4 MB of it.

use std::env;
use std::path::PathBuf;

const SCRIPT: &str = "no_unwind_tables.ld";

fn main() {
    println!("cargo::rerun-if-changed={SCRIPT}");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // Other linkers and formats of programs have other ways; there the tables stay.
    let is_known = is("CARGO_CFG_TARGET_OS", "linux")
        && is("CARGO_CFG_TARGET_ENV", "gnu")
        && is("CARGO_CFG_TARGET_ARCH", "x86_64");
    if is_known && is("PROFILE", "release") {
        let folder = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default();
        let script = PathBuf::from(folder).join(SCRIPT);
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{}", script.display());
        println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
    }
}
