//! The section `load`: loads on servers of the suite, with the sections of a load configuration.

use mcprove_load::config::read_parts;
use mcprove_load::config::sections::{SECTIONS, top_names};
use mcprove_settings::kind::Kind;

use super::entry::{self, SuiteScope};
use super::settings::LoadTestSettings;
use crate::prelude::*;

/// What a load has besides its own keys: what stands at the top of a load configuration, but for the server.
pub fn parts() -> Vec<&'static str> {
    top_names().filter(|name| *name != "server").collect()
}

/// Reads one load; none only when there were problems.
pub fn read(reader: &mut Reader<'_>, node: &Node, scope: &SuiteScope<'_>) -> Option<LoadTestPlan> {
    let defaults = &mut scope.defaults.iter();
    let label = &sentence!("a test of `load`");
    let parts = parts();
    let mut node = entry::completed::<LoadTestSettings>(reader, node, label, &parts, defaults)?;
    if let Data::Table(fields) = &mut node.data {
        for field in fields {
            if let Some(section) = SECTIONS.iter().find(|section| section.name == field.name) {
                spell(&mut field.value, &(section.settings)());
            }
        }
    }
    let (given, section): (LoadTestSettings, _) = entry::settings(reader, &node, label, &parts);
    let head = entry::head(reader, &section, &given.test);
    let server = entry::server(reader, &section, given.server, scope.servers);
    let plan = server
        .as_ref()
        .and_then(|name| scope.servers.plans.get(name));
    let session = plan.map_or_else(SessionSettings::default, |plan| plan.session.clone());
    let config = read_parts(reader, &section, &session);
    let server = server?;
    let config = config?;
    for fault in &config.faults {
        if let (Some(target), Some(field)) = (&fault.spec.target.server, section.get("faults"))
            && *target != server
        {
            let message = format!(
                "the fault {:?} is aimed at {target:?}, and the load is on {server:?}",
                fault.spec.name
            );
            reader.problem(&field.span, message, sentence!("leave out its `server`"));
        }
    }
    let reached = match plan.map(|plan| &plan.reach) {
        Some(Reach::Server(server)) => server.clone(),
        // A mock is not started, so nobody looks at this.
        _ => Server::stdio(&server),
    };
    Some(LoadTestPlan {
        head,
        server,
        config: LoadConfig {
            server: reached,
            ..config
        },
    })
}

/// Spells the keys of a section as load configurations have them.
fn spell(node: &mut Node, known: &[&Setting]) {
    let Data::Table(fields) = &mut node.data else {
        return;
    };
    let taken: Vec<String> = fields.iter().map(|field| field.name.clone()).collect();
    for field in fields {
        let normal = field.name.replace('-', "_");
        let find = |name: &str| known.iter().find(|it| it.has_name(name));
        // What would then be there twice stays, and is unknown.
        if find(&normal).is_some() && !taken.contains(&normal) {
            field.name = normal;
        }
        if let Some(Kind::Tables(table) | Kind::TablesByName(table)) =
            find(&field.name).map(|it| it.kind)
        {
            let known: Vec<&Setting> = table().iter().collect();
            match &mut field.value.data {
                Data::List(nodes) => nodes.iter_mut().for_each(|node| spell(node, &known)),
                Data::Table(fields) => {
                    for field in fields {
                        spell(&mut field.value, &known);
                    }
                }
                _ => {}
            }
        }
    }
}
