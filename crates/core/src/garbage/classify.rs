//! The judgement on one object.

use super::patch;
use super::{
    Delete, Existence, FOREGROUND, Graph, InvalidOwner, ORPHAN, Object, ObjectRef, OwnerKey, Patch,
    Plan, Propagation,
};
use crate::meta::OwnerReference;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// How an owner stands.
enum Standing {
    /// It exists and stays.
    Solid,
    /// It exists and waits for its dependents to go.
    Waiting,
    /// It does not exist.
    Gone,
    /// It has to be looked up.
    LookUp(OwnerKey),
    /// It cannot be told; the dependent stays.
    Untold,
}

/// The owners of an object by how they stand, as uids.
#[derive(Default)]
struct Owners {
    solid: usize,
    waiting: BTreeSet<String>,
    gone: BTreeSet<String>,
    untold: bool,
}

impl Graph {
    pub(super) fn judge(&mut self, uid: &str, plan: &mut Plan) {
        let Some(object) = self.objects.get(uid) else {
            return;
        };
        if object.in_flight {
            return;
        }
        if object.deleting {
            if object.is_orphaning() {
                self.orphan(uid, plan);
            } else if object.is_waiting() {
                self.release(uid, plan);
            }
            return;
        }
        if object.owners.is_empty() {
            return;
        }
        let owners = self.owners(uid, plan);
        if owners.untold {
            return;
        }
        self.decide(uid, &owners, plan);
    }

    /// An owner that leaves its dependents behind: their references are taken off, then its
    /// finalizer.
    fn orphan(&mut self, uid: &str, plan: &mut Plan) {
        let dependents = self.dependents.get(uid).cloned().unwrap_or_default();
        if dependents.is_empty() {
            return self.drop_finalizer(uid, ORPHAN, plan);
        }
        let only = BTreeSet::from([String::from(uid)]);
        for dependent in dependents {
            if let Some(object) = self.objects.get(&dependent).filter(|o| !o.in_flight) {
                let patch = patch::without_owners(object, &only);
                self.hand_out(&dependent, patch, plan);
            }
        }
    }

    /// An owner that goes after its dependents: when none blocks it any more, it may go.
    fn release(&mut self, uid: &str, plan: &mut Plan) {
        let blocking: Vec<String> = self
            .dependents
            .get(uid)
            .into_iter()
            .flatten()
            .filter(|dependent| self.blocks(dependent, uid))
            .cloned()
            .collect();
        if blocking.is_empty() {
            return self.drop_finalizer(uid, FOREGROUND, plan);
        }
        for dependent in blocking {
            let waits = self.objects.get(&dependent).is_some_and(Object::is_waiting);
            let deleting = self.objects.get(&dependent).is_some_and(|o| o.deleting);
            if !waits && !deleting {
                self.judge(&dependent, plan);
            }
        }
    }

    fn blocks(&self, dependent: &str, owner: &str) -> bool {
        self.objects.get(dependent).is_some_and(|object| {
            object
                .owners
                .iter()
                .any(|o| o.uid == owner && o.block_owner_deletion == Some(true))
        })
    }

    fn drop_finalizer(&mut self, uid: &str, finalizer: &str, plan: &mut Plan) {
        if let Some(object) = self.objects.get(uid) {
            let patch = patch::without_finalizer(object, finalizer);
            self.hand_out(uid, patch, plan);
        }
    }

    fn hand_out(&mut self, uid: &str, patch: Patch, plan: &mut Plan) {
        if let Some(object) = self.objects.get_mut(uid) {
            object.in_flight = true;
            plan.patches.push(patch);
        }
    }

    /// How the owners stand; look-ups and warnings go into the plan.
    fn owners(&mut self, uid: &str, plan: &mut Plan) -> Owners {
        let mut owners = Owners::default();
        let Some(object) = self.objects.get(uid) else {
            return owners;
        };
        let mut look_ups = Vec::new();
        for owner in &object.owners {
            match self.standing(&object.object, owner) {
                Standing::Solid => owners.solid += 1,
                Standing::Waiting => drop(owners.waiting.insert(owner.uid.clone())),
                Standing::Gone => {
                    plan.invalid.extend(self.invalid(&object.object, owner));
                    owners.gone.insert(owner.uid.clone());
                }
                Standing::LookUp(key) => look_ups.push(key),
                Standing::Untold => owners.untold = true,
            }
        }
        owners.untold |= !look_ups.is_empty();
        for key in look_ups {
            let answers = self.answers.entry(key.uid.clone()).or_default();
            // One look-up serves all dependents that name the owner in the same way.
            if answers.insert(key.clone(), None).is_none() {
                plan.verify.push(key);
            }
        }
        owners
    }

    fn standing(&self, dependent: &ObjectRef, owner: &OwnerReference) -> Standing {
        let key = OwnerKey {
            uid: owner.uid.clone(),
            api_version: owner.api_version.clone(),
            kind: owner.kind.clone(),
            name: owner.name.clone(),
            namespace: dependent.namespace.clone(),
        };
        if let Some(known) = self.objects.get(&owner.uid) {
            let object = &known.object;
            if object.kind.namespaced && dependent.namespace.is_empty() {
                // An object without namespace cannot belong to one in a namespace.
                return Standing::Untold;
            }
            if is_named(object, owner) {
                let reachable = !object.kind.namespaced || object.namespace == dependent.namespace;
                return match (reachable, known.is_waiting()) {
                    (false, _) => Standing::Gone,
                    (true, true) => Standing::Waiting,
                    (true, false) => Standing::Solid,
                };
            }
        } else if self.gone.contains(&owner.uid) {
            return Standing::Gone;
        }
        let answers = self.answers.get(&owner.uid);
        match answers.and_then(|answers| answers.get(&key)) {
            Some(Some(Existence::Absent)) => Standing::Gone,
            Some(Some(Existence::Present)) => Standing::Solid,
            Some(Some(Existence::Unknown) | None) => Standing::Untold,
            None => Standing::LookUp(key),
        }
    }

    /// The warning about a reference into another namespace.
    fn invalid(&self, object: &ObjectRef, owner: &OwnerReference) -> Option<InvalidOwner> {
        let known = self.objects.get(&owner.uid)?;
        (known.object.namespace != object.namespace).then(|| InvalidOwner {
            object: object.clone(),
            message: format!(
                "ownerRef [{}/{}, namespace: {}, name: {}, uid: {}] does not exist in namespace {:?}",
                owner.api_version,
                owner.kind,
                object.namespace,
                owner.name,
                owner.uid,
                object.namespace
            ),
        })
    }

    /// What follows from how the owners stand.
    fn decide(&mut self, uid: &str, owners: &Owners, plan: &mut Plan) {
        let Some(object) = self.objects.get(uid) else {
            return;
        };
        let lost = &owners.gone | &owners.waiting;
        if owners.solid > 0 {
            if !lost.is_empty() {
                let patch = patch::without_owners(object, &lost);
                self.hand_out(uid, patch, plan);
            }
            return;
        }
        if lost.is_empty() {
            return;
        }
        let dependents = self.dependents.get(uid);
        let foreground = !owners.waiting.is_empty() && dependents.is_some();
        if foreground && self.is_in_a_circle(uid) {
            // An owner that waits for its own dependent would wait for ever: it blocks no more.
            if let Some(patch) = patch::unblocked(object) {
                return self.hand_out(uid, patch, plan);
            }
        }
        let propagation = if foreground {
            Propagation::Foreground
        } else if object.has(ORPHAN) {
            Propagation::Orphan
        } else if object.has(FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        plan.deletes.push(Delete {
            object: object.object.clone(),
            resource_version: object.resource_version.clone(),
            propagation,
        });
        if let Some(object) = self.objects.get_mut(uid) {
            object.in_flight = true;
        }
    }

    /// Whether a dependent of this object waits for dependents itself.
    fn is_in_a_circle(&self, uid: &str) -> bool {
        let dependents = self.dependents.get(uid).into_iter().flatten();
        let mut objects = dependents.filter_map(|dependent| self.objects.get(dependent));
        objects.any(Object::is_waiting)
    }
}

/// Whether a reference names this object's group, kind and name.
fn is_named(object: &ObjectRef, owner: &OwnerReference) -> bool {
    let group = owner.api_version.rsplit_once('/').map_or("", |(g, _)| g);
    object.kind.group == group && object.kind.kind == owner.kind && object.name == owner.name
}
