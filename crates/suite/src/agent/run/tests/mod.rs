mod agents;
mod budgets;
mod faults;
mod support;
mod told;
mod trouble;
