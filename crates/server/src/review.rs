//! Questions that are asked by creating an object which is never stored: who am I, may I, may they,
//! is this token good.

use pernode_api::status::Status;
use serde_json::{Value, json};

use crate::authn::token::ISSUER;
use crate::authz::{Attributes, Rule};
use crate::call::Call;
use crate::decode;
use crate::object;
use crate::options::WriteOptions;
use crate::reply::{Failure, Response};
use crate::request::Verb;
use crate::service_account;
use crate::subresource;
use crate::user::User;

/// Answers a request about a kind that is only created; `None` if it is about another.
pub(crate) async fn answer(call: &Call) -> Option<Result<Response, Failure>> {
    let kind = call.resource.kind;
    let known = kind == "Binding" || kind.ends_with("Review");
    if !known {
        return None;
    }
    if call.request.verb != Verb::Create {
        return Some(Err(Status::method_not_allowed().into()));
    }
    if kind == "Binding" {
        return Some(subresource::bindings(call).await);
    }
    Some(review(call))
}

fn review(call: &Call) -> Result<Response, Failure> {
    let options = WriteOptions::parse("CreateOptions", &call.query, &call.headers)?;
    let decoded = decode::object(call, options.validation)?;
    let mut object = decoded.object;
    let status = match call.resource.kind {
        "SelfSubjectReview" => {
            object["metadata"]["creationTimestamp"] = format!("{:.0}", call.actor.now).into();
            json!({"userInfo": user_info(&call.actor.user)})
        }
        "TokenReview" => token(call, &object),
        "SelfSubjectRulesReview" => rules(call, &object),
        "SelfSubjectAccessReview" => access(call, &object, &call.actor.user)?,
        _ => access(call, &object, &subject(call, &object)?)?,
    };
    object["status"] = status;
    call.show(201, object::encode_as_is(&object).into(), &decoded.warnings)
}

fn user_info(user: &User) -> Value {
    let mut info = json!({"username": user.name, "groups": user.groups});
    if !user.uid.is_empty() {
        info["uid"] = user.uid.as_str().into();
    }
    if !user.extra.is_empty() {
        info["extra"] = json!(user.extra);
    }
    info
}

fn token(call: &Call, object: &Value) -> Value {
    let token = object["spec"]["token"].as_str().unwrap_or_default();
    if let Some(user) = call.api().tokens.user(token) {
        return json!({"authenticated": true, "user": user_info(user)});
    }
    let asked: Vec<String> =
        serde_json::from_value(object["spec"]["audiences"].clone()).unwrap_or_default();
    let audiences = if asked.is_empty() {
        vec![ISSUER.to_owned()]
    } else {
        asked
    };
    match service_account::user_of(call.api(), token, &audiences) {
        Ok((user, claims)) => {
            let fitting: Vec<&String> = claims
                .aud
                .iter()
                .filter(|a| audiences.contains(a))
                .collect();
            json!({"authenticated": true, "user": user_info(&user), "audiences": fitting})
        }
        Err(error) => json!({"user": {}, "error": error.to_string()}),
    }
}

/// The user that an access review asks about.
fn subject(call: &Call, object: &Value) -> Result<User, Status> {
    let spec = &object["spec"];
    let name = spec["user"].as_str().unwrap_or_default();
    let groups: Vec<String> = serde_json::from_value(spec["groups"].clone()).unwrap_or_default();
    if name.is_empty() && groups.is_empty() {
        let error = pernode_api::field_error::FieldError::invalid(
            &"spec.user",
            "",
            "at least one of user or group must be specified",
        );
        return Err(Status::invalid(call.resource, "", &[error]));
    }
    if call.resource.kind == "LocalSubjectAccessReview" {
        let namespace = spec["resourceAttributes"]["namespace"]
            .as_str()
            .unwrap_or_default();
        if Some(namespace) != call.namespace() {
            return Err(Status::bad_request(format!(
                "namespace on resource attributes ({namespace}) must match namespace of the review ({})",
                call.namespace().unwrap_or_default()
            )));
        }
    }
    // The groups are taken as they are given: the one who asks knows what the user is in.
    Ok(User {
        name: name.to_owned(),
        groups,
        ..User::default()
    })
}

fn access(call: &Call, object: &Value, user: &User) -> Result<Value, Status> {
    let spec = &object["spec"];
    let (resource, path) = (&spec["resourceAttributes"], &spec["nonResourceAttributes"]);
    if resource.is_null() == path.is_null() {
        let error = pernode_api::field_error::FieldError::invalid(
            &"spec.resourceAttributes",
            resource.clone(),
            "exactly one of nonResourceAttributes or resourceAttributes must be specified",
        );
        return Err(Status::invalid(call.resource, "", &[error]));
    }
    let text = |value: &'static str| resource[value].as_str().unwrap_or_default();
    let wanted = if path.is_null() {
        Attributes {
            verb: text("verb"),
            group: text("group"),
            resource: text("resource"),
            subresource: text("subresource"),
            namespace: text("namespace"),
            name: text("name"),
            path: "",
        }
    } else {
        Attributes {
            verb: path["verb"].as_str().unwrap_or_default(),
            path: path["path"].as_str().unwrap_or_default(),
            ..Attributes::default()
        }
    };
    let api = call.api();
    Ok(match api.authorizer.allowed(&*api.store, user, &wanted) {
        Some(reason) if reason.is_empty() => json!({"allowed": true}),
        Some(reason) => json!({"allowed": true, "reason": reason}),
        None => json!({"allowed": false}),
    })
}

fn rules(call: &Call, object: &Value) -> Value {
    let namespace = object["spec"]["namespace"].as_str().unwrap_or_default();
    let api = call.api();
    let mut rules: Vec<Rule> = Vec::new();
    for rule in api
        .authorizer
        .rules(&*api.store, &call.actor.user, namespace)
    {
        // Several bindings may give the same.
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let (paths, resources): (Vec<&Rule>, Vec<&Rule>) = rules
        .iter()
        .partition(|rule| !rule.non_resource_urls.is_empty());
    let resources: Vec<Value> = resources.into_iter().map(resource_rule).collect();
    let paths: Vec<Value> = paths
        .into_iter()
        .map(|rule| json!({"verbs": rule.verbs, "nonResourceURLs": rule.non_resource_urls}))
        .collect();
    json!({"resourceRules": resources, "nonResourceRules": paths, "incomplete": false})
}

fn resource_rule(rule: &Rule) -> Value {
    let mut value =
        json!({"verbs": rule.verbs, "apiGroups": rule.api_groups, "resources": rule.resources});
    if !rule.resource_names.is_empty() {
        value["resourceNames"] = json!(rule.resource_names);
    }
    value
}
