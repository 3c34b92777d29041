//! `/finalize` of a namespace: the finalizers of its spec. Without the last one it goes.

use serde_json::{Value, json};

use crate::call::Call;
use crate::decode;
use crate::options::WriteOptions;
use crate::registry::{self, Part, Place, check_name, check_uid, check_version, version};
use crate::reply::{Failure, Response};

/// `PUT` of a namespace's finalizers.
pub(super) async fn update(call: &Call) -> Result<Response, Failure> {
    let options = WriteOptions::parse("UpdateOptions", &call.query, &call.headers)?;
    let decoded = decode::object(call, options.validation)?;
    let wanted = decoded.object;
    let place = Place::new(call.resource, None, call.name());
    check_name(&place, &wanted)?;
    let edit = |namespace: &mut Value| {
        let actual = version(namespace)?.unwrap_or_default();
        check_version(&place, version(&wanted)?, actual)?;
        check_uid(&place, &wanted, namespace)?;
        let mut finalizers = wanted["spec"]["finalizers"].clone();
        if finalizers.is_null() {
            finalizers = json!([]);
        }
        namespace["spec"]["finalizers"] = finalizers;
        Ok(())
    };
    let part = Part::Other("finalize");
    let outcome = registry::change(&call.actor, &place, part, &options, &edit).await?;
    call.show(200, outcome.object, &decoded.warnings)
}
