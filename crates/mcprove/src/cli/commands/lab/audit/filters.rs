//! The flags that say which rows are wanted.

use mcprove_lab::audit::{ArgumentFilter, parse_time};

use crate::prelude::*;

/// Which rows are wanted. Every condition that is given must hold.
#[derive(Debug, Args)]
#[command(next_help_heading = "Rows")]
pub struct FilterArguments {
    /// Requests that came at this time or later: 2026-01-31T12:00:00Z, 2026-01-31 (UTC), or so long
    /// ago: 10m, 2h, 7d
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub since: Option<SystemTime>,

    /// Requests that came at this time or before it; a date means its midnight
    #[arg(long, value_name = "TIME", value_parser = parse_moment)]
    pub until: Option<SystemTime>,

    /// Calls of this tool
    #[arg(long, value_name = "NAME")]
    pub tool: Option<String>,

    /// Successful requests (true) or failed ones (false)
    #[arg(long, value_name = "true|false", action = ArgAction::Set, conflicts_with = "failed")]
    pub success: Option<bool>,

    /// Failed requests
    #[arg(long)]
    pub failed: bool,

    /// Errors of this category
    #[arg(long, value_name = "NAME")]
    pub category: Option<String>,

    /// Requests of this session
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,

    /// Requests with this method, such as tools/call
    #[arg(long, value_name = "NAME")]
    pub method: Option<String>,

    /// Requests with this value of a parameter; deeper ones as options.retries[0]=3; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub argument: Vec<ArgumentFilter>,

    /// At most this many rows [default: 50; with --follow 10 before it waits; with --export all]
    #[arg(long, value_name = "COUNT", value_parser = reads::<u64>("limit", kind::WHOLE))]
    pub limit: Option<u64>,

    /// Which rows come first [default: newest; with --export oldest]
    #[arg(long, value_enum)]
    pub order: Option<OrderName>,
}

/// Which rows come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum OrderName {
    /// The latest
    Newest,
    /// The earliest
    Oldest,
}

impl FilterArguments {
    /// The filter, with what holds where nothing was given.
    pub fn filter(&self, limit: Option<u64>, order: Order) -> Filter {
        Filter {
            since: self.since,
            until: self.until,
            tool: self.tool.clone(),
            success: self.success.or(self.failed.then_some(false)),
            category: self.category.clone(),
            session: self.session.clone(),
            method: self.method.clone(),
            arguments: self.argument.clone(),
            after: None,
            limit: self.limit.or(limit),
            order: match self.order {
                None => order,
                Some(OrderName::Newest) => Order::NewestFirst,
                Some(OrderName::Oldest) => Order::OldestFirst,
            },
        }
    }

    /// Whether anything was given.
    pub fn is_given(&self) -> bool {
        let is_plain = Filter::default() == self.filter(None, Order::default());
        !is_plain || self.order.is_some()
    }
}

fn parse_moment(text: &str) -> DiagnosticResult<SystemTime> {
    parse_time(text, SystemTime::now())
}
