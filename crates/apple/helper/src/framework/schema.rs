//! Converts between our dynamic schemas and those of the framework.

use foundation_models::{
    DynamicGenerationProperty, DynamicGenerationSchema, FMError, GenerationGuide, GenerationSchema,
};
use openagents_apple::{
    adapter::Parameters,
    schema::{DynamicSchema, Node, Presence},
};

pub(super) fn to_framework(schema: &DynamicSchema) -> Result<GenerationSchema, FMError> {
    GenerationSchema::from_dynamic(node(&schema.root), schema.definitions.iter().map(node))
}

pub(super) fn from_framework(schema: &GenerationSchema) -> Parameters {
    // An unparseable schema of the framework allows any arguments.
    Parameters::Guided(serde_json::from_str(schema.json_schema()).unwrap_or_default())
}

fn node(schema: &Node) -> DynamicGenerationSchema {
    use DynamicGenerationSchema as Theirs;
    match schema {
        Node::Object { name, description, properties } => {
            let object = properties.iter().fold(Theirs::object(name), |object, property| {
                let optional = property.presence != Presence::Required;
                let mut theirs = DynamicGenerationProperty::new(node(&property.schema)).optional(optional);
                if let Some(text) = &property.description {
                    theirs = theirs.with_description(text);
                }
                object.with_property(&property.name, theirs)
            });
            described(object, description.as_deref())
        }
        Node::AnyOf { name, description, choices } => {
            described(Theirs::any_of(name, choices.iter().map(node).collect()), description.as_deref())
        }
        Node::Enum { name, choices } => Theirs::any_of_strings(name, choices),
        Node::String => Theirs::string(),
        Node::Boolean => Theirs::boolean(),
        Node::Integer { minimum, maximum } => {
            let guides =
                [minimum.map(GenerationGuide::minimum_i64), maximum.map(GenerationGuide::maximum_i64)];
            Theirs::integer().with_guides(guides.into_iter().flatten())
        }
        Node::Number { minimum, maximum } => {
            let guides =
                [minimum.map(GenerationGuide::minimum_f64), maximum.map(GenerationGuide::maximum_f64)];
            Theirs::number().with_guides(guides.into_iter().flatten())
        }
        Node::Array { items, minimum, maximum } => {
            Theirs::array_of(node(items)).with_element_bounds(*minimum, *maximum)
        }
        Node::Reference(name) => Theirs::reference(name),
    }
}

fn described(schema: DynamicGenerationSchema, description: Option<&str>) -> DynamicGenerationSchema {
    match description {
        Some(text) => schema.with_description(text),
        None => schema,
    }
}
