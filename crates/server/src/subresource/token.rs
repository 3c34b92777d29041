//! Tokens of service accounts.

use jiff::SignedDuration;
use pernode_api::field_error::FieldError;
use pernode_api::resource::{Resource, find};
use pernode_api::status::Status;
use serde_json::{Value, json};

use crate::authn::token::{Bound, Claims, ISSUER, Reference};
use crate::call::Call;
use crate::decode;
use crate::key;
use crate::object::{self, Object as _};
use crate::options::WriteOptions;
use crate::registry::Place;
use crate::reply::{Failure, Response};

/// The kind of the body. It is no resource of its own.
static TOKEN_REQUEST: Resource = Resource {
    group: "authentication.k8s.io",
    version: "v1",
    plural: "tokenrequests",
    singular: "tokenrequest",
    kind: "TokenRequest",
    namespaced: true,
    short_names: &[],
    categories: &[],
    subresources: &[],
    verbs: &["create"],
    conditional_update: false,
    create_on_update: false,
    generation: false,
};

/// Shortest and longest life of a token, in seconds.
const SECONDS: std::ops::RangeInclusive<i64> = 600..=1 << 32;

/// `POST` to `serviceaccounts/NAME/token`.
pub(super) async fn create(call: &Call) -> Result<Response, Failure> {
    let options = WriteOptions::parse("CreateOptions", &call.query, &call.headers)?;
    let type_id = super::type_named(call, "io.k8s.api.authentication.v1.TokenRequest")?;
    let decoded = decode::typed(call, &TOKEN_REQUEST, type_id, options.validation)?;
    let place = Place::new(call.resource, call.namespace(), call.name());
    let account = object::parse(&place.read(&call.actor)?.bytes);
    let mut request = decoded.object;
    let seconds = request["spec"]["expirationSeconds"]
        .as_i64()
        .unwrap_or(3600);
    check(seconds)?;
    let audiences = audiences(&request);
    let bound = bound(call, &account, &request["spec"]["boundObjectRef"])?;
    let now = call.actor.now.as_second();
    let claims = Claims {
        aud: audiences.clone(),
        exp: now + seconds,
        iat: now,
        iss: ISSUER.to_owned(),
        jti: uuid::Uuid::new_v4().to_string(),
        sub: format!(
            "system:serviceaccount:{}:{}",
            bound.namespace, bound.serviceaccount.name
        ),
        kubernetes: bound,
        nbf: now,
    };
    let token = call.api().signer.sign(&claims).map_err(Status::internal)?;
    request["metadata"] = json!({
        "name": place.name, "namespace": place.namespace, "creationTimestamp": format!("{:.0}", call.actor.now),
    });
    request["spec"]["expirationSeconds"] = seconds.into();
    request["spec"]["audiences"] = audiences.into();
    let expiry = call.actor.now + SignedDuration::from_secs(seconds);
    request["status"] = json!({"token": token, "expirationTimestamp": format!("{expiry:.0}")});
    Ok(crate::view::write(
        call.accepted,
        201,
        object::encode_as_is(&request).into(),
    ))
}

fn check(seconds: i64) -> Result<(), Status> {
    let error = if seconds < *SECONDS.start() {
        FieldError::invalid(
            &"spec.expirationSeconds",
            seconds,
            "may not specify a duration less than 10 minutes",
        )
    } else if seconds > *SECONDS.end() {
        FieldError::invalid(
            &"spec.expirationSeconds",
            seconds,
            "may not specify a duration larger than 2^32 seconds",
        )
    } else {
        return Ok(());
    };
    Err(Status::invalid(&TOKEN_REQUEST, "", &[error]))
}

fn audiences(request: &Value) -> Vec<String> {
    let asked: Vec<String> = request["spec"]["audiences"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|audience| audience.as_str().map(str::to_owned))
        .collect();
    if asked.is_empty() {
        vec![ISSUER.to_owned()]
    } else {
        asked
    }
}

/// What the token is bound to: its account, and the pod, secret or node asked for.
fn bound(call: &Call, account: &Value, reference: &Value) -> Result<Bound, Failure> {
    let mut bound = Bound {
        namespace: account.meta("namespace").to_owned(),
        serviceaccount: Reference {
            name: account.meta("name").to_owned(),
            uid: account.meta("uid").to_owned(),
        },
        pod: None,
        secret: None,
        node: None,
    };
    if reference.is_null() {
        return Ok(bound);
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (plural, word) = match text("kind") {
        "Pod" => ("pods", "pod"),
        "Secret" => ("secrets", "secret"),
        "Node" => ("nodes", "node"),
        kind => {
            let why = format!("cannot bind token for serviceaccount to object of type {kind}");
            return Err(Status::bad_request(why).into());
        }
    };
    let resource = find("", "v1", plural).expect("bindable kinds are in the table");
    let key = key::key(
        resource,
        call.namespace().filter(|_| resource.namespaced),
        text("name"),
    );
    let Some(item) = call.api().store.get(&key) else {
        return Err(missing(word, text("name")).into());
    };
    let object = object::parse(&item.bytes);
    if !text("uid").is_empty() && text("uid") != object.meta("uid") {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
            text("uid")
        );
        return Err(Status::conflict(resource, text("name"), &why).into());
    }
    let found = Some(Reference {
        name: text("name").to_owned(),
        uid: object.meta("uid").to_owned(),
    });
    match word {
        "pod" => bound.pod = found,
        "secret" => bound.secret = found,
        _ => bound.node = found,
    }
    Ok(bound)
}

/// Upstream names the kind here where everything else names the resource.
fn missing(word: &'static str, name: &str) -> Status {
    let resource = Resource {
        group: "",
        plural: word,
        ..TOKEN_REQUEST.clone()
    };
    Status::not_found(&resource, name)
}
