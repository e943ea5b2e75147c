//! The reference of the API as an HTML page, rendered from the `OpenAPI` document.
//!
//! **Invariant:** every text of the document is escaped before markup is added to it.

use api_types::ProblemKind;
use minijinja::{
    AutoEscape, Environment, UndefinedBehavior, Value as Rendered, context, value::Serde,
};
use serde::Serialize;
use serde_json::Value;

const TEMPLATE_NAME: &str = "reference.html";
const TEMPLATE: &str = include_str!("reference.html.jinja");
/// The methods of a path, in the order of the page.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The operations of one tag.
#[derive(Serialize)]
struct Group {
    name: String,
    operations: Vec<Operation>,
}

#[derive(Serialize)]
struct Operation {
    id: String,
    method: &'static str,
    path: String,
    summary: String,
    paragraphs: Vec<Rendered>,
    permission: Option<String>,
    parameters: Vec<Parameter>,
    body: Option<Rendered>,
    answers: Vec<Answer>,
}

#[derive(Serialize)]
struct Parameter {
    name: String,
    location: String,
    required: bool,
    r#type: Rendered,
    description: Rendered,
}

#[derive(Serialize)]
struct Answer {
    status: String,
    body: Rendered,
    description: String,
}

#[derive(Serialize)]
struct Schema {
    name: String,
    paragraphs: Vec<Rendered>,
    r#type: Option<Rendered>,
    fields: Vec<Field>,
}

#[derive(Serialize)]
struct Field {
    name: String,
    required: bool,
    r#type: Rendered,
    description: Rendered,
}

/// Renders the page of a document.
pub(super) fn render(document: &Value) -> Result<String, minijinja::Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template(TEMPLATE_NAME, TEMPLATE)?;
    let info = &document["info"];
    environment.get_template(TEMPLATE_NAME)?.render(context! {
        info => context! {
            title => text(&info["title"]),
            version => text(&info["version"]),
            paragraphs => paragraphs(&info["description"]),
        },
        groups => Rendered::from(Serde(groups(document))),
        problems => ProblemKind::ALL.iter().map(|kind| context! {
            kind => kind.as_str(),
            title => kind.title(),
        }).collect::<Vec<_>>(),
        schemas => Rendered::from(Serde(schemas(document))),
    })
}

/// Returns the operations by tag, the tags in the order of their first operation.
fn groups(document: &Value) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (path, item) in fields(&document["paths"]) {
        for method in METHODS {
            let described = &item[method];
            if described.is_null() {
                continue;
            }
            let tag = text(&described["tags"][0]);
            let operation = operation(path, method, described);
            match groups.iter_mut().find(|group| group.name == tag) {
                Some(group) => group.operations.push(operation),
                None => groups.push(Group {
                    name: tag,
                    operations: vec![operation],
                }),
            }
        }
    }
    groups
}

fn operation(path: &str, method: &'static str, described: &Value) -> Operation {
    let parameters = described["parameters"].as_array();
    let permission = items(&described["security"]).find_map(|way| way["token"][0].as_str());
    let answers = fields(&described["responses"]).map(|(status, answer)| Answer {
        status: status.clone(),
        body: body_types(&answer["content"]),
        description: text(&answer["description"]),
    });
    Operation {
        id: text(&described["operationId"]),
        method,
        path: path.to_owned(),
        summary: text(&described["summary"]),
        paragraphs: paragraphs(&described["description"]),
        permission: permission.map(str::to_owned),
        parameters: parameters
            .into_iter()
            .flatten()
            .map(|parameter| Parameter {
                name: text(&parameter["name"]),
                location: text(&parameter["in"]),
                required: parameter["required"] == true,
                r#type: schema_type(&parameter["schema"]),
                description: render_markup(&text(&parameter["description"])),
            })
            .collect(),
        body: described
            .get("requestBody")
            .map(|body| body_types(&body["content"])),
        answers: answers.collect(),
    }
}

fn schemas(document: &Value) -> Vec<Schema> {
    let all = fields(&document["components"]["schemas"]);
    let schema = |(name, schema): (&String, &Value)| {
        let fields = schema_fields(schema);
        Schema {
            name: name.clone(),
            paragraphs: paragraphs(&schema["description"]),
            r#type: fields.is_empty().then(|| schema_type(schema)),
            fields,
        }
    };
    all.map(schema).collect()
}

/// Returns the fields of a schema. A part of `allOf` that refers to another schema becomes one row with a link.
fn schema_fields(schema: &Value) -> Vec<Field> {
    let required: Vec<_> = items(&schema["required"]).collect();
    let own_fields = fields(&schema["properties"]).map(|(name, property)| Field {
        name: name.clone(),
        required: required.iter().any(|field| *field == name),
        r#type: schema_type(property),
        description: render_markup(&text(&property["description"])),
    });
    let parts = items(&schema["allOf"]).flat_map(|part| match part["$ref"].as_str() {
        Some(_) => vec![Field {
            name: "…".to_owned(),
            required: true,
            r#type: schema_type(part),
            description: render_markup("All fields of this schema."),
        }],
        None => schema_fields(part),
    });
    parts.chain(own_fields).collect()
}

/// Returns the type of a value as HTML, in a few words with links to schemas.
fn schema_type(schema: &Value) -> Rendered {
    Rendered::from_safe_string(type_html(schema))
}

fn type_html(schema: &Value) -> String {
    if let Some(name) = schema["$ref"]
        .as_str()
        .and_then(|path| path.rsplit('/').next())
    {
        return format!("<a href=\"#schema-{0}\">{0}</a>", escape_html(name));
    }
    let words = items(&schema["enum"]).filter_map(Value::as_str);
    let words: Vec<_> = words
        .map(|word| format!("<code>{}</code>", escape_html(word)))
        .collect();
    if !words.is_empty() {
        return words.join(" | ");
    }
    for any in ["oneOf", "anyOf", "allOf"] {
        let parts: Vec<_> = items(&schema[any])
            .filter(|part| part["type"] != "null")
            .map(type_html)
            .collect();
        if !parts.is_empty() {
            return parts.join(" | ");
        }
    }
    let type_name = match &schema["type"] {
        Value::Array(types) => types
            .iter()
            .filter_map(Value::as_str)
            .find(|name| *name != "null"),
        name => name.as_str(),
    };
    match type_name {
        Some("array") => format!("list of {}", type_html(&schema["items"])),
        Some("object") => {
            let properties: Vec<_> = fields(&schema["properties"])
                .map(|(name, property)| {
                    format!(
                        "<code>{}</code>: {}",
                        escape_html(name),
                        type_html(property)
                    )
                })
                .collect();
            if properties.is_empty() {
                "object".to_owned()
            } else {
                format!("{{ {} }}", properties.join(", "))
            }
        }
        Some(name) => match schema["format"].as_str() {
            Some("date-time") => "instant".to_owned(),
            _ => escape_html(name),
        },
        None => "anything".to_owned(),
    }
}

/// Returns the types of a body, by media type.
fn body_types(content: &Value) -> Rendered {
    let kinds: Vec<_> = fields(content)
        .map(|(media, body)| match media.as_str() {
            "application/json" | "application/problem+json" => type_html(&body["schema"]),
            media => format!("<code>{}</code>", escape_html(media)),
        })
        .collect();
    Rendered::from_safe_string(kinds.join(" | "))
}

/// Returns the paragraphs of a description as HTML.
fn paragraphs(description: &Value) -> Vec<Rendered> {
    let all = text(description);
    let parts = all.split("\n\n").filter(|part| !part.trim().is_empty());
    parts.map(render_markup).collect()
}

/// Returns a text as HTML, in which text between backquotes is code and text between double asterisks is bold.
fn render_markup(text: &str) -> Rendered {
    let mut html = escape_html(text);
    for (mark, tag) in [("`", "code"), ("**", "b")] {
        let parts: Vec<_> = html.split(mark).map(str::to_owned).collect();
        html = String::new();
        // Parts with an odd index are between two marks: an opening tag precedes them and a closing tag follows.
        for (index, part) in parts.iter().enumerate() {
            if index > 0 {
                let slash = if index % 2 == 0 { "/" } else { "" };
                for piece in ["<", slash, tag, ">"] {
                    html.push_str(piece);
                }
            }
            html.push_str(part);
        }
    }
    Rendered::from_safe_string(html)
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_reference_has_every_operation_and_schema() {
        let document = crate::document();
        let page = render(&document).unwrap();
        for (_, item) in fields(&document["paths"]) {
            for (_, operation) in fields(item).filter(|(name, _)| METHODS.contains(&&***name)) {
                let id = format!("<section id=\"{}\">", text(&operation["operationId"]));
                assert!(page.contains(&id), "{id}");
            }
        }
        for (name, _) in fields(&document["components"]["schemas"]) {
            assert!(
                page.contains(&format!("<section id=\"schema-{name}\">")),
                "{name}"
            );
        }
        assert!(page.contains("needs <code>sessions:read</code>"));
    }

    #[test]
    fn html_in_text_is_escaped() {
        assert_eq!(
            render_markup("a < `b`").to_string(),
            "a &lt; <code>b</code>"
        );
    }
}
