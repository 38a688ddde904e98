//! The library in use: start a server, list its tools, call each with arguments that its schema
//! allows.
//!
//! ```text
//! cargo run -p mcprove --example probe -- python3 examples/hello_server.py
//! ```

use std::error::Error;
use std::time::Duration;

use mcprove::{Server, Session, SessionOptions, arguments};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let program = words.next().ok_or("usage: probe PROGRAM [ARGUMENT…]")?;
    let server = Server::stdio(program).args(words);

    let options = SessionOptions::default().with_call_timeout(Duration::from_secs(5));
    let session = Session::connect_with(&server, options).await?;
    let facts = session.facts();
    println!("{} speaks {}", facts.implementation.name, facts.revision);

    for tool in session.list_tools().await? {
        let arguments = arguments::minimal(&tool.input_schema)?;
        match session.call_tool(&tool.name, &arguments).await {
            Ok(reply) => println!("{}({arguments}) = {}", tool.name, reply.result()),
            Err(error) => println!("{}({arguments}): {}: {error}", tool.name, error.category()),
        }
    }
    session.close().await;
    Ok(())
}
