//! The lines of a watch.

use std::sync::Arc;

use bytes::{BufMut as _, Bytes, BytesMut};
use pernode_api::decode::check_value;
use pernode_api::schema::Schema;
use pernode_api::status::Status;
use pernode_store::{Event, EventKind, Item};
use serde_json::{Value, json};

use crate::negotiate::View;
use crate::object::{self, Object as _};
use crate::registry::selection::Selection;
use crate::view::Viewer;

/// Turns events into lines for one client.
pub(super) struct Lines {
    viewer: Viewer,
    selection: Selection,
    schema: Arc<Schema>,
    /// Whether the columns of a table have been sent.
    columns_sent: bool,
}

impl Lines {
    pub(super) fn new(schema: Arc<Schema>, viewer: Viewer, selection: Selection) -> Self {
        Self {
            viewer,
            selection,
            schema,
            columns_sent: false,
        }
    }

    pub(super) fn selection(&self) -> &Selection {
        &self.selection
    }

    /// An object that is there when the watch begins.
    pub(super) fn added(&mut self, out: &mut BytesMut, item: &Arc<Item>) {
        self.line(out, "ADDED", item.bytes.clone());
    }

    /// What happened, as far as the selection sees it: an object that begins to match is added, one
    /// that no longer does is deleted.
    pub(super) fn event(&mut self, out: &mut BytesMut, event: &Event) {
        let is = event.kind != EventKind::Deleted && self.selection.matches(&event.item);
        let was = event
            .previous
            .as_ref()
            .is_some_and(|item| self.selection.matches(item));
        match (was, is) {
            (false, true) => self.line(out, "ADDED", event.item.bytes.clone()),
            (true, true) => self.line(out, "MODIFIED", event.item.bytes.clone()),
            (true, false) if event.kind == EventKind::Deleted => {
                self.line(out, "DELETED", event.item.bytes.clone());
            }
            (true, false) => {
                if let Some(previous) = &event.previous {
                    self.line(out, "DELETED", at_revision(previous, event.revision));
                }
            }
            (false, false) => {}
        }
    }

    fn line(&mut self, out: &mut BytesMut, kind: &str, stored: Bytes) {
        let shown = if self.viewer.is_plain() {
            stored
        } else {
            self.viewer.item(stored, !self.columns_sent)
        };
        self.columns_sent = true;
        put(out, kind, &shown);
    }

    /// A bookmark: everything up to a revision has been sent.
    pub(super) fn bookmark(&mut self, revision: u64, initial_end: bool) -> Bytes {
        let mut metadata =
            json!({"resourceVersion": revision.to_string(), "creationTimestamp": null});
        if initial_end {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let (kind, version) = self.viewer.kind();
        let object = match self.viewer.view() {
            View::Object => {
                let object = json!({"kind": kind, "apiVersion": version, "metadata": metadata});
                self.complete(object)
            }
            View::Metadata(version) => partial(version, &metadata),
            View::Table(version) => {
                let row = json!({"cells": [], "object": partial(version, &metadata)});
                let of_list = json!({"resourceVersion": revision.to_string()});
                let mut table = self.viewer.table(version, of_list, vec![row]);
                if self.columns_sent {
                    table["columnDefinitions"] = Value::Null;
                }
                self.columns_sent = true;
                table
            }
        };
        let mut out = BytesMut::new();
        put(&mut out, "BOOKMARK", object.to_string().as_bytes());
        out.freeze()
    }

    /// Gives an object the fields that every object of its kind has, even an empty one.
    fn complete(&self, object: Value) -> Value {
        let mut complete = object.clone();
        match check_value(
            &self.schema,
            self.schema.type_of(self.viewer.resource()),
            &mut complete,
        ) {
            Ok(_) => complete,
            Err(_) => object,
        }
    }

    /// The line that ends a watch that cannot go on.
    pub(super) fn error(status: &Status) -> Bytes {
        let mut out = BytesMut::new();
        put(&mut out, "ERROR", status.to_value().to_string().as_bytes());
        out.freeze()
    }
}

fn partial(version: &str, metadata: &Value) -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": version, "metadata": metadata})
}

fn put(out: &mut BytesMut, kind: &str, object: &[u8]) {
    out.reserve(object.len() + 40);
    out.put_slice(b"{\"type\":\"");
    out.put_slice(kind.as_bytes());
    out.put_slice(b"\",\"object\":");
    out.put_slice(object);
    out.put_slice(b"}\n");
}

/// The last state that a selection matched, with the revision of the change that ended this.
fn at_revision(item: &Item, revision: u64) -> Bytes {
    let mut object = object::parse(&item.bytes);
    object.set_meta("resourceVersion", &revision.to_string());
    object::encode_as_is(&object).into()
}
