//! Where objects of a kind live in the API.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::borrow::Cow;

/// What a query value may carry unescaped (RFC 3986 unreserved characters).
const QUERY: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// A kind under one group and version, as a client addresses it.
///
/// The texts are `Cow` because most kinds are constants of this project, while the garbage
/// collector and the namespace controller learn theirs from discovery.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: Cow<'static, str>,
    /// Version.
    pub version: Cow<'static, str>,
    /// Name in paths, plural and lower case.
    pub plural: Cow<'static, str>,
    /// Kind.
    pub kind: Cow<'static, str>,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
}

impl Resource {
    /// A kind whose objects live in a namespace.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        Self::constant([group, version, plural, kind], true)
    }

    /// A kind whose objects belong to the whole cluster.
    pub const fn cluster(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        kind: &'static str,
    ) -> Self {
        Self::constant([group, version, plural, kind], false)
    }

    const fn constant(texts: [&'static str; 4], namespaced: bool) -> Self {
        Self {
            group: Cow::Borrowed(texts[0]),
            version: Cow::Borrowed(texts[1]),
            plural: Cow::Borrowed(texts[2]),
            kind: Cow::Borrowed(texts[3]),
            namespaced,
        }
    }

    /// `group/version`, or only the version in the core group, as objects write it.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone().into_owned()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Path of all objects, of one namespace when it is not empty.
    pub fn collection(&self, namespace: &str) -> String {
        let root = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        if namespace.is_empty() || !self.namespaced {
            format!("{root}/{}", self.plural)
        } else {
            format!("{root}/namespaces/{namespace}/{}", self.plural)
        }
    }

    /// Path of one object.
    pub fn object(&self, namespace: &str, name: &str) -> String {
        format!("{}/{name}", self.collection(namespace))
    }
}

/// Appends `key=value` to a path, escaped.
pub(crate) fn push_query(path: &mut String, key: &str, value: &str) {
    path.push(if path.contains('?') { '&' } else { '?' });
    path.push_str(key);
    path.push('=');
    path.extend(utf8_percent_encode(value, QUERY));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_follow_group_and_scope() {
        let ds = Resource::namespaced("apps", "v1", "daemonsets", "DaemonSet");
        assert_eq!(ds.api_version(), "apps/v1");
        assert_eq!(ds.collection(""), "/apis/apps/v1/daemonsets");
        assert_eq!(
            ds.object("n", "x"),
            "/apis/apps/v1/namespaces/n/daemonsets/x"
        );
        let node = Resource::cluster("", "v1", "nodes", "Node");
        assert_eq!(node.api_version(), "v1");
        assert_eq!(node.object("ignored", "a"), "/api/v1/nodes/a");
    }

    #[test]
    fn query_values_are_escaped() {
        let mut path = "/x".to_owned();
        push_query(&mut path, "labelSelector", "a in (b,c)");
        push_query(&mut path, "watch", "true");
        assert_eq!(path, "/x?labelSelector=a%20in%20%28b%2Cc%29&watch=true");
    }
}
