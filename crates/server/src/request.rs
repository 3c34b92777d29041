//! What a request is about: verb, group, version, namespace, resource, name, subresource.
//!
//! One parser for all paths, so that routing, authorization and metrics cannot disagree.

use http::Method;
use percent_encoding::percent_decode_str;

use crate::query::Query;

/// A verb as authorization and discovery name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    /// Read one object.
    Get,
    /// Read a collection.
    List,
    /// Follow a collection or one object.
    Watch,
    /// Create an object.
    Create,
    /// Replace an object.
    Update,
    /// Change a part of an object.
    Patch,
    /// Delete one object.
    Delete,
    /// Delete what a selector matches.
    DeleteCollection,
    /// `HEAD`, `OPTIONS` and whatever else no resource answers.
    Other,
}

impl Verb {
    /// The verb in lower case, as RBAC rules write it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Patch => "patch",
            Self::Delete => "delete",
            Self::DeleteCollection => "deletecollection",
            Self::Other => "",
        }
    }

    /// Whether the request has a body that is read before it is handled.
    pub(crate) fn has_body(self) -> bool {
        !matches!(self, Self::Get | Self::List | Self::Watch | Self::Other)
    }
}

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RequestInfo {
    /// A path that names no resource: discovery, health, version, metrics.
    NonResource {
        /// The path without a trailing slash (`/` stays).
        path: String,
        /// The method in lower case, which is the verb of such a path.
        verb: String,
    },
    /// A path below `/api/v1` or `/apis/GROUP/VERSION`.
    Resource(ResourceRequest),
}

/// The parts of a resource path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ResourceRequest {
    /// What to do.
    pub(crate) verb: Verb,
    /// API group; empty for the core group.
    pub(crate) group: String,
    /// Version.
    pub(crate) version: String,
    /// Namespace, if the path has one.
    pub(crate) namespace: Option<String>,
    /// Plural name.
    pub(crate) resource: String,
    /// Object name, if the path has one.
    pub(crate) name: Option<String>,
    /// Subresource, if the path has one.
    pub(crate) subresource: Option<String>,
    /// What follows the subresource; only proxies have such paths.
    pub(crate) rest: Vec<String>,
}

impl RequestInfo {
    /// Parses method, path and query.
    pub(crate) fn parse(method: &Method, path: &str, query: &Query) -> Self {
        let parts: Vec<String> = path
            .split('/')
            .filter(|part| !part.is_empty())
            .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
            .collect();
        parse_resource(method, &parts, query).map_or_else(
            || Self::NonResource {
                path: format!("/{}", parts.join("/")),
                verb: method.as_str().to_ascii_lowercase(),
            },
            Self::Resource,
        )
    }
}

fn parse_resource(method: &Method, parts: &[String], query: &Query) -> Option<ResourceRequest> {
    let (group, version, mut rest) = match parts {
        [api, version, rest @ ..] if api == "api" => (String::new(), version.clone(), rest),
        [apis, group, version, rest @ ..] if apis == "apis" => {
            (group.clone(), version.clone(), rest)
        }
        _ => return None,
    };
    // The old form `/api/v1/watch/pods` means the same as `?watch=true`.
    let old_watch = rest.len() > 1 && rest[0] == "watch";
    if old_watch {
        rest = &rest[1..];
    }
    let (namespace, rest) = split_namespace(rest);
    let (resource, rest) = rest.split_first()?;
    let name = rest.first().cloned();
    let subresource = rest.get(1).cloned();
    let mut request = ResourceRequest {
        verb: Verb::Other,
        group,
        version,
        namespace,
        resource: resource.clone(),
        name,
        subresource,
        rest: rest.get(2..).unwrap_or_default().to_vec(),
    };
    request.verb = verb(method, &request, old_watch || query.flag("watch"));
    Some(request)
}

/// Splits `namespaces/NS/…` off. `namespaces/NS`, `…/status` and `…/finalize` are about the
/// namespace itself, which is then also the namespace that RBAC looks at, as upstream does.
fn split_namespace(rest: &[String]) -> (Option<String>, &[String]) {
    if rest.first().map(String::as_str) != Some("namespaces") {
        return (None, rest);
    }
    match rest {
        [_, namespace, third, ..] if !matches!(third.as_str(), "status" | "finalize") => {
            (Some(namespace.clone()), &rest[2..])
        }
        _ => (None, rest),
    }
}

fn verb(method: &Method, request: &ResourceRequest, watch: bool) -> Verb {
    match *method {
        Method::GET if request.subresource.is_some() => Verb::Get,
        Method::GET if watch => Verb::Watch,
        Method::GET if request.name.is_some() => Verb::Get,
        Method::GET => Verb::List,
        Method::POST => Verb::Create,
        Method::PUT => Verb::Update,
        Method::PATCH => Verb::Patch,
        Method::DELETE if request.name.is_some() => Verb::Delete,
        Method::DELETE => Verb::DeleteCollection,
        _ => Verb::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &str) {
        let (method, target) = line.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let info = RequestInfo::parse(
            &Method::from_bytes(method.as_bytes()).unwrap(),
            path,
            &Query::parse(query),
        );
        let text = match info {
            RequestInfo::NonResource { path, verb } => format!("{verb} {path}"),
            RequestInfo::Resource(r) => format!(
                "{} {}/{} ns={} {} name={} sub={}",
                r.verb.as_str(),
                r.group,
                r.version,
                r.namespace.unwrap_or_default(),
                r.resource,
                r.name.unwrap_or_default(),
                r.subresource.unwrap_or_default()
            ),
        };
        assert_eq!(text, expected, "{line}");
    }

    #[test]
    fn resource_paths() {
        check("GET /api/v1/pods", "list /v1 ns= pods name= sub=");
        check(
            "GET /api/v1/namespaces/a/pods?watch=1",
            "watch /v1 ns=a pods name= sub=",
        );
        check(
            "GET /api/v1/watch/namespaces/a/pods/p",
            "watch /v1 ns=a pods name=p sub=",
        );
        check(
            "POST /apis/apps/v1/namespaces/a/daemonsets",
            "create apps/v1 ns=a daemonsets name= sub=",
        );
        check(
            "PUT /apis/apps/v1/namespaces/a/daemonsets/web/status",
            "update apps/v1 ns=a daemonsets name=web sub=status",
        );
        check(
            "DELETE /api/v1/nodes/n%201/",
            "delete /v1 ns= nodes name=n 1 sub=",
        );
        check(
            "DELETE /api/v1/nodes",
            "deletecollection /v1 ns= nodes name= sub=",
        );
    }

    #[test]
    fn namespaces_are_a_resource_and_a_scope() {
        check(
            "GET /api/v1/namespaces",
            "list /v1 ns= namespaces name= sub=",
        );
        check(
            "GET /api/v1/namespaces/a",
            "get /v1 ns= namespaces name=a sub=",
        );
        check(
            "PUT /api/v1/namespaces/a/finalize",
            "update /v1 ns= namespaces name=a sub=finalize",
        );
        check(
            "GET /api/v1/namespaces/a/status",
            "get /v1 ns= namespaces name=a sub=status",
        );
    }

    #[test]
    fn other_paths() {
        check("GET /api", "get /api");
        check("GET /apis/apps/v1/", "get /apis/apps/v1");
        check("GET /", "get /");
        check("HEAD /healthz", "head /healthz");
        check("GET /api/v1?watch=1", "get /api/v1");
    }
}
