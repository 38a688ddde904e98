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
