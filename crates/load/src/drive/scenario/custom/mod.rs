//! A scenario that another crate adds.

use mcprove_settings::setting;
use mcprove_settings::tree::Document;

use super::find;
use crate::drive::scenario::prelude::*;

/// A scenario of another crate, with the name that it has in files.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct CustomScenario {
    /// Its name.
    name: String,
    /// Its settings.
    settings: Map<String, Value>,
    /// What it does; unknown after it was read from a file.
    #[serde(skip, default = "unknown")]
    #[schemars(skip)]
    it: Box<dyn ScenarioType>,
}

/// A scenario that can be copied; every one that is `Clone`.
pub trait CloneScenario {
    /// A copy.
    fn boxed(&self) -> Box<dyn ScenarioType>;
}

impl<T: ScenarioType + Clone + 'static> CloneScenario for T {
    fn boxed(&self) -> Box<dyn ScenarioType> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn ScenarioType> {
    fn clone(&self) -> Self {
        self.as_ref().boxed()
    }
}

impl PartialEq for CustomScenario {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.settings) == (&other.name, &other.settings)
    }
}

impl CustomScenario {
    /// A scenario with its name.
    pub fn new(name: String, it: Box<dyn ScenarioType>) -> Self {
        let mut custom = Self {
            name,
            settings: Map::new(),
            it,
        };
        custom.keep_settings();
        custom
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn as_type(&self) -> &dyn ScenarioType {
        self.it.as_ref()
    }

    pub fn as_type_mut(&mut self) -> &mut dyn ScenarioType {
        self.it.as_mut()
    }

    /// Takes down the settings as they are now, for the files of the run.
    pub fn keep_settings(&mut self) {
        let values = setting::values(self.it.as_ref());
        let values = values.filter_map(|(setting, data)| {
            let value = Node::new(data).to_json().ok()?;
            Some((setting.name.to_owned(), value))
        });
        self.settings = values.collect();
    }

    /// What is wrong with its name.
    pub fn check(&self) -> DiagnosticResult {
        let name = &self.name;
        if name.is_empty() || find(name).is_some() {
            let message = format!("a scenario of your own cannot be called {name:?}");
            return Err(Diagnostic::new(
                message,
                "give it a name that no built-in one has",
            ));
        }
        Ok(())
    }

    /// Takes what the scenario of its name among `known` does, with the settings of this one.
    pub fn adopt(&mut self, known: &[Scenario]) -> DiagnosticResult {
        let custom = known.iter().filter_map(|scenario| match &scenario.kind {
            ScenarioKind::Custom(it) if it.name == self.name => Some(it),
            _ => None,
        });
        let found: Vec<&Self> = custom.collect();
        let found = match found[..] {
            [] => return Ok(()),
            [found] => found,
            _ => {
                return Err(Diagnostic::new(
                    format!("two scenarios are called {:?}", self.name),
                    "give one of them another name",
                ));
            }
        };
        let mut it = found.it.clone();
        let text = Value::Object(self.settings.clone()).to_string();
        let document = Document::from_json(&text, &self.name)?;
        let mut reader = Reader::new(&document);
        if let Data::Table(fields) = &document.root.data {
            for field in fields {
                if !setting::set(it.as_mut(), &mut reader, field) {
                    let name = setting(&field.name);
                    return Err(sentence!("{} has no setting {name}", self.name.clone()).into());
                }
            }
        }
        reader.finish()?;
        self.it = it;
        Ok(())
    }
}

/// What is not known of a scenario that was read from a file.
#[derive(Debug, Clone, Settings)]
struct Unknown {}

fn unknown() -> Box<dyn ScenarioType> {
    Box::new(Unknown {})
}

impl ScenarioType for Unknown {
    fn drive<'a>(&'a self, context: &'a RunContext) -> Steps<'a> {
        let name = context.scenario.kind.name();
        let message = format!("the scenario {name:?} is not known here");
        Box::pin(std::future::ready(Err(RunError::Config(message.into()))))
    }

    fn conclude(&self, facts: &RunFacts<'_>, report: &mut Report) -> FactResult {
        let name = facts.header.scenario.kind.name();
        report.warnings.push(format!(
            "the scenario {name:?} is not known here, so its conclusions are missing"
        ));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
