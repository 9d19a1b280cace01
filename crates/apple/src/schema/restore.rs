//! Converts the arguments of a dynamic schema into those of the tool's own schema.

use super::dynamic::{DynamicSchema, Node, Presence};
use serde_json::{Number, Value};

impl DynamicSchema {
    /// Inserts the `null`s that the model can't write, removes `null`s that mean an omitted
    /// property, and restores integers.
    pub fn restore(&self, mut arguments: Value) -> Value {
        self.visit(&self.root, &mut arguments);
        arguments
    }

    /// Recurses no deeper than the value.
    fn visit(&self, node: &Node, value: &mut Value) {
        match (node, value) {
            (Node::Object { properties, .. }, Value::Object(members)) => {
                for property in properties {
                    match (property.presence, members.get_mut(&property.name)) {
                        (Presence::Nullable, None) => {
                            members.insert(property.name.clone(), Value::Null);
                        }
                        (Presence::Optional, Some(Value::Null)) => {
                            members.shift_remove(&property.name);
                        }
                        (_, Some(value)) => self.visit(&property.schema, value),
                        (_, None) => {}
                    }
                }
            }
            (Node::Array { items, .. }, Value::Array(values)) => {
                values.iter_mut().for_each(|value| self.visit(items, value));
            }
            (Node::Reference(name), value) => {
                if let Some(definition) = self.definitions.iter().find(|node| node.name() == Some(name)) {
                    self.visit(definition, value);
                }
            }
            (Node::Integer { .. }, Value::Number(number)) => {
                let whole = number.as_f64().filter(|number| number.fract() == 0.0 && number.abs() < 9e15);
                if let (true, Some(whole)) = (number.is_f64(), whole) {
                    *number = Number::from(whole as i64);
                }
            }
            // Which alternative was chosen is unknown.
            _ => {}
        }
    }
}
