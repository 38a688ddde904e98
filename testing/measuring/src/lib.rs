//! What the benchmarks of `cargo xtask bench` share: which of them are wanted, how a figure is
//! taken and told, and the references that a figure is read by.

mod clock;
mod figure;
mod listening;
mod memory;
pub mod reference;
mod selection;

pub use clock::cpu_us;
pub use figure::{Figure, median};
pub use listening::Listening;
pub use memory::peak_rss_kib;
pub use selection::{Selection, program};

/// What a benchmark does, or why it could not.
pub type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// A runtime on the thread that waits for it.
pub fn runtime() -> Outcome<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?)
}

/// How many secrets a run knows that writes a trace.
pub const SECRETS: usize = 20;

/// Made-up keys, passwords and addresses with a password, the same every time.
pub fn secrets(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| {
        // A sequence that looks like chance.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number as u64 + 1);
        let mut word = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            format!("{:010x}", state >> 24)
        };
        match number % 4 {
            0 => format!("sk-{}{}{}", word(), word(), word()),
            1 => format!("{}/{}+{}", word(), word(), word()),
            2 => format!("postgres://me:{}@db.internal:5432/x", word()),
            _ => word(),
        }
    })
}
