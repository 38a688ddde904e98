//! A scripted model to try agent tests with, without a key: `cargo run -p harness --example fake_model -- honest 8099`.

use std::process::ExitCode;

use harness::model::{FakeModel, scripts};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_else(|| "honest".to_owned());
    let port = arguments.next().and_then(|port| port.parse().ok());
    let Some(script) = scripts::find(&name) else {
        let names: Vec<&str> = scripts::ALL.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "no script is called {name:?}; there are {}",
            names.join(", ")
        );
        return ExitCode::from(2);
    };
    let model = match FakeModel::start_at(port.unwrap_or(0), script) {
        Ok(model) => model,
        Err(error) => {
            eprintln!("cannot listen: {error}");
            return ExitCode::from(2);
        }
    };
    println!("{}", model.url());
    loop {
        std::thread::park();
    }
}
