//! The section `load`: loads on servers of the suite, with the sections of a load configuration.

use mcprove_client::server::Server;
use mcprove_load::config::sections::SECTIONS;
use mcprove_load::config::{LoadConfig, LoadParts, SessionSettings, read_parts};
use mcprove_settings::kind::Kind;
use mcprove_settings::reader::Reader;
use mcprove_settings::setting::Setting;
use mcprove_settings::table;
use mcprove_settings::tree::{Data, Field, Node};

use super::entry::{self, with_defaults};
use super::keys::{self, LOAD};
use super::servers::Servers;
use crate::plan::{LoadTestPlan, Reach};

const LABEL: &str = "a test of `load`";

/// Reads one load; none only when there were problems.
pub(super) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    defaults: &[Field],
    servers: &Servers,
) -> Option<LoadTestPlan> {
    let known = keys::names(&LOAD);
    let node = table::spelled(reader, node, LABEL, &known)?;
    let node = spelled_within(with_defaults(node, defaults, &LOAD, &[]));
    let section = table::section(reader, &node, LABEL, &known);
    let head = entry::head(reader, &section);
    let server = entry::server(reader, &section, servers);
    let plan = server.as_ref().and_then(|name| servers.plans.get(name));
    let session = plan.map_or_else(SessionSettings::default, |plan| plan.session.clone());
    let parts = read_parts(reader, &section, &session);
    let server = server?;
    let LoadParts {
        scenario,
        thresholds,
        faults,
        session,
        output,
    } = parts?;
    for fault in &faults {
        if let (Some(target), Some(field)) = (&fault.spec.target.server, section.get("faults"))
            && *target != server
        {
            let message = format!(
                "the fault {:?} is aimed at {target:?}, and the load is on {server:?}",
                fault.spec.name
            );
            reader.problem(&field.span, message, "leave out its `server`");
        }
    }
    let reached = match plan.map(|plan| &plan.reach) {
        Some(Reach::Server(server)) => server.clone(),
        // A mock is not started, so nobody looks at this.
        _ => Server::stdio(&server),
    };
    Some(LoadTestPlan {
        head: head?,
        server,
        config: LoadConfig {
            server: reached,
            scenario,
            thresholds,
            faults,
            session,
            output,
            warnings: Vec::new(),
        },
    })
}

/// The entry with the keys of its sections spelled as load configurations have them.
fn spelled_within(entry: Node) -> Node {
    let Data::Table(fields) = entry.data else {
        return entry;
    };
    let fields = fields.into_iter().map(|field| {
        match SECTIONS.iter().find(|section| section.name == field.name) {
            Some(section) => Field {
                value: spelled(field.value, &(section.settings)()),
                ..field
            },
            None => field,
        }
    });
    Node {
        data: Data::Table(fields.collect()),
        span: entry.span,
    }
}

fn spelled(node: Node, known: &[&Setting]) -> Node {
    let Data::Table(fields) = node.data else {
        return node;
    };
    let names: Vec<&str> = known.iter().flat_map(|it| it.names()).collect();
    let taken: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    let fields = fields.into_iter().map(|mut field| {
        let normal = field.name.replace('-', "_");
        // What would then be there twice stays, and is unknown.
        if names.contains(&normal.as_str()) && !taken.contains(&normal) {
            field.name = normal;
        }
        let setting = known.iter().find(|it| it.has_name(&field.name));
        field.value = match setting.map(|it| it.kind) {
            Some(Kind::Tables(table) | Kind::TablesByName(table)) => {
                each(field.value, &table().iter().collect::<Vec<_>>())
            }
            _ => field.value,
        };
        field
    });
    Node {
        data: Data::Table(fields.collect()),
        span: node.span,
    }
}

/// The tables of a list, or those of a table.
fn each(node: Node, keys: &[&Setting]) -> Node {
    let data = match node.data {
        Data::List(nodes) => {
            let nodes = nodes.into_iter().map(|node| spelled(node, keys));
            Data::List(nodes.collect())
        }
        Data::Table(fields) => {
            let fields = fields.into_iter().map(|field| Field {
                value: spelled(field.value, keys),
                name: field.name,
                span: field.span,
            });
            Data::Table(fields.collect())
        }
        other => other,
    };
    Node { data, ..node }
}
