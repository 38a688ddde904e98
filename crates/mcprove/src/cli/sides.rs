//! Which of two servers was named first. The flags of commands and of addresses are different
//! lists, so that what stood where is known from the place on the command line only.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};
use mcprove_client::server::Server;

/// Whether an address was named before a command.
#[derive(Debug, Clone, Copy, Default)]
pub struct SideOrder {
    is_url_first: bool,
}

impl SideOrder {
    /// Puts a command and an address into the order of the command line.
    pub fn apply(self, mut servers: Vec<Server>) -> Vec<Server> {
        if self.is_url_first {
            servers.reverse();
        }
        servers
    }
}

impl FromArgMatches for SideOrder {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let place = |name: &str| {
            matches
                .indices_of(name)
                .and_then(|mut places| places.next())
        };
        let is_url_first = match (place("url"), place("server")) {
            (Some(url), Some(server)) => url < server,
            _ => false,
        };
        Ok(Self { is_url_first })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for SideOrder {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}
