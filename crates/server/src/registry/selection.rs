//! Which objects of a collection a list, watch or deletion is about.

use std::sync::Arc;

use pernode_api::field_selector::FieldSelector;
use pernode_api::resource::Resource;
use pernode_api::status::Status;
use pernode_core::selector::Selector;
use pernode_store::{Attrs, Item, Scope};

use crate::call::Call;
use crate::events;
use crate::key;

/// A collection and its selectors.
#[derive(Debug, Clone)]
pub(crate) struct Selection {
    resource: &'static Resource,
    /// Keys of the collection begin so.
    pub(crate) prefix: String,
    /// The only key that can match, when the request is about one object.
    key: Option<String>,
    labels: Option<Selector>,
    fields: Option<FieldSelector>,
}

impl Selection {
    /// Reads namespace, name and selectors of a request.
    pub(crate) fn of(call: &Call) -> Result<Self, Status> {
        let labels = call
            .query
            .text("labelSelector")
            .map(Selector::parse)
            .transpose()
            .map_err(|error| Status::bad_request(error.to_string()))?
            .filter(|selector| !selector.is_empty());
        let fields = call
            .query
            .text("fieldSelector")
            .map(FieldSelector::parse)
            .transpose()
            .map_err(|error| Status::bad_request(error.to_string()))?;
        if let Some(fields) = &fields {
            fields
                .validate(call.resource)
                .map_err(Status::bad_request)?;
        }
        let mut selection = Self {
            resource: call.resource,
            prefix: key::prefix(call.resource, call.namespace()),
            key: None,
            labels,
            fields,
        };
        selection.key = selection.single(call);
        Ok(selection)
    }

    /// A request by name, in the path or by a field selector, looks at one key only.
    fn single(&self, call: &Call) -> Option<String> {
        let name = match call.request.name.as_deref() {
            Some(name) => name,
            None => self.fields.as_ref()?.exact("metadata.name")?,
        };
        let everywhere = call.resource.namespaced && call.namespace().is_none();
        (!everywhere).then(|| key::key(call.resource, call.namespace(), name))
    }

    /// Whether anything can be left out.
    pub(crate) fn is_everything(&self) -> bool {
        self.key.is_none() && self.labels.is_none() && self.fields.is_none()
    }

    /// The prefix of all keys that can match.
    pub(crate) fn watch_prefix(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.prefix)
    }

    /// What a watch of the store has to tell of: as little as can match.
    ///
    /// Node agents watch the pods of one node each. The store wakes only the agents of the nodes
    /// that an event is about.
    pub(crate) fn watch_scope(&self) -> Scope {
        const NODE: &str = "spec.nodeName";
        let scope = Scope::prefix(self.watch_prefix());
        let node = self.fields.as_ref().and_then(|fields| fields.exact(NODE));
        match node {
            Some(node) if !node.is_empty() => scope.with_field(NODE, node),
            _ => scope,
        }
    }

    /// Whether an object is selected.
    pub(crate) fn matches(&self, item: &Arc<Item>) -> bool {
        self.key.as_deref().is_none_or(|key| key == &*item.key) && self.matches_attrs(&item.attrs)
    }

    fn matches_attrs(&self, attrs: &Attrs) -> bool {
        let labels = self
            .labels
            .as_ref()
            .is_none_or(|selector| selector.matches_with(|key| attrs.label(key)));
        labels
            && self
                .fields
                .as_ref()
                .is_none_or(|fields| self.matches_fields(fields, attrs))
    }

    fn matches_fields(&self, fields: &FieldSelector, attrs: &Attrs) -> bool {
        if std::ptr::eq(key::stored_as(self.resource), self.resource) {
            return fields.matches(&|name| attrs.field(name));
        }
        fields.matches(&|name| attrs.field(&events::stored_field(name)))
    }
}
