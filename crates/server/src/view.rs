//! How stored objects are shown: as they are, as a Table, as metadata only; in JSON or YAML.

use bytes::Bytes;
use jiff::Timestamp;
use pernode_api::resource::Resource;
use pernode_api::status::Status;
use pernode_api::table;
use serde_json::{Value, json};

use crate::events;
use crate::key;
use crate::negotiate::{Accepted, Encoding, View};
use crate::object::{self, Layout};
use crate::query::Query;
use crate::reply::{self, Response};

/// What a table's rows carry besides their cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Include {
    Nothing,
    Metadata,
    Object,
}

/// Shows the objects of one resource to one client.
#[derive(Debug, Clone)]
pub(crate) struct Viewer {
    resource: &'static Resource,
    accepted: Accepted,
    include: Include,
    now: Timestamp,
    /// How the bytes begin that this viewer works on: in the requested group's form.
    layout: Layout,
    /// Whether stored objects have to be converted first: events of `events.k8s.io`.
    converted: bool,
}

impl Viewer {
    pub(crate) fn new(
        resource: &'static Resource,
        accepted: Accepted,
        query: &Query,
        now: Timestamp,
    ) -> Result<Self, Status> {
        let include = match query.get("includeObject").unwrap_or("") {
            "" | "Metadata" => Include::Metadata,
            "None" => Include::Nothing,
            "Object" => Include::Object,
            other => {
                return Err(Status::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {other:?}: must be 'Metadata', 'Object', 'None', or empty"
                )));
            }
        };
        Ok(Self {
            resource,
            accepted,
            include,
            now,
            layout: Layout::of(resource),
            converted: !std::ptr::eq(key::stored_as(resource), resource),
        })
    }

    pub(crate) fn view(&self) -> View {
        self.accepted.view
    }

    /// The resource whose objects are shown.
    pub(crate) fn resource(&self) -> &'static Resource {
        self.resource
    }

    /// Kind and version of the objects, as the client asked for them.
    pub(crate) fn kind(&self) -> (&'static str, String) {
        (self.resource.kind, self.resource.api_version())
    }

    /// Whether objects are shown just as they are stored.
    pub(crate) fn is_plain(&self) -> bool {
        self.accepted.view == View::Object && !self.converted
    }

    /// Whether text goes out as it is assembled.
    pub(crate) fn writes_plain_json(&self) -> bool {
        self.accepted.encoding == Encoding::Json && !self.accepted.pretty
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The object in the requested group's form.
    pub(crate) fn external(&self, stored: Bytes) -> Bytes {
        if !self.converted {
            return stored;
        }
        let event = events::to_events_group(object::parse(&stored));
        object::encode_as_is(&event).into()
    }

    /// An answer with one object.
    pub(crate) fn one(&self, code: u16, stored: Bytes) -> Response {
        let shown = self.item(stored, true);
        self.respond(code, shown)
    }

    /// One object as the client wants to see it. Only the first table of a watch has columns.
    pub(crate) fn item(&self, stored: Bytes, with_columns: bool) -> Bytes {
        match self.accepted.view {
            View::Object => self.external(stored),
            View::Metadata(version) => {
                object::partial(&self.layout, &self.external(stored), version)
            }
            View::Table(version) => {
                let object = self.external(stored);
                let version_of_list = json!({
                    "resourceVersion": object::parse(self.layout.metadata(&object))["resourceVersion"],
                });
                let rows = vec![self.row(&object, version)];
                let columns = with_columns.then(|| table::columns(self.resource));
                table(version, version_of_list, columns, rows)
                    .to_string()
                    .into()
            }
        }
    }

    /// One row of a table.
    pub(crate) fn row(&self, object: &Bytes, version: &str) -> Value {
        let value = object::parse(object);
        let mut row = table::row(self.resource, &value, self.now);
        match self.include {
            Include::Nothing => {}
            Include::Metadata => {
                let metadata = &value["metadata"];
                row["object"] = json!({
                    "kind": "PartialObjectMetadata", "apiVersion": version, "metadata": metadata,
                });
            }
            Include::Object => row["object"] = value,
        }
        row
    }

    /// A whole table.
    pub(crate) fn table(&self, version: &str, metadata: Value, rows: Vec<Value>) -> Value {
        table(version, metadata, Some(table::columns(self.resource)), rows)
    }

    /// Answers with JSON text, in the form the client wants it written.
    pub(crate) fn respond(&self, code: u16, json: Bytes) -> Response {
        write(self.accepted, code, json)
    }
}

/// Answers with JSON text, indented or as YAML if the client wants that.
pub(crate) fn write(accepted: Accepted, code: u16, json: Bytes) -> Response {
    match accepted.encoding {
        Encoding::Json if !accepted.pretty => reply::bytes(code, "application/json", json),
        Encoding::Json => {
            let value = object::parse(&json);
            let mut text = serde_json::to_string_pretty(&value).unwrap_or_default();
            text.push('\n');
            reply::bytes(code, "application/json", text)
        }
        Encoding::Yaml => {
            let value = object::parse(&json);
            let text = serde_saphyr::to_string(&value).unwrap_or_default();
            reply::bytes(code, "application/yaml", text)
        }
    }
}

fn table(version: &str, metadata: Value, columns: Option<Value>, rows: Vec<Value>) -> Value {
    json!({
        "kind": "Table", "apiVersion": version, "metadata": metadata,
        "columnDefinitions": columns, "rows": rows,
    })
}
