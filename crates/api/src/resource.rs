//! The kinds this API serves, as one table: routing, discovery and the generic registry read it.
//!
//! Names, scopes, short names and subresources are Kubernetes 1.36's. A kind without a loop that
//! acts on it (Deployments, Jobs …) is served read-only and stays empty: informers that list it
//! work, and nobody creates an object that nothing would ever look at.

/// One kind under one group and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Version.
    pub version: &'static str,
    /// Name in paths, plural and lower case.
    pub plural: &'static str,
    /// Singular name, as kubectl accepts it.
    pub singular: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
    /// Short names, such as `ds`.
    pub short_names: &'static [&'static str],
    /// Categories, such as `all`.
    pub categories: &'static [&'static str],
    /// Subresources, such as `status`.
    pub subresources: &'static [&'static str],
    /// Verbs of the main resource, sorted.
    pub verbs: &'static [&'static str],
    /// Whether an update has to carry a resourceVersion (spec/apiserver.md 2.4).
    pub conditional_update: bool,
    /// Whether PUT creates the object when it is absent (spec/apiserver.md 2.4).
    pub create_on_update: bool,
    /// Whether the server counts changes of the spec in `metadata.generation`.
    pub generation: bool,
}

const VERBS: &[&str] = &[
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
];
const VERBS_NO_COLLECTION: &[&str] = &[
    "create", "delete", "get", "list", "patch", "update", "watch",
];
const VERBS_READ_ONLY: &[&str] = &["get", "list", "watch"];
const VERBS_CREATE_ONLY: &[&str] = &["create"];

const FULL: Resource = Resource {
    group: "",
    version: "v1",
    plural: "",
    singular: "",
    kind: "",
    namespaced: false,
    short_names: &[],
    categories: &[],
    subresources: &[],
    verbs: VERBS,
    conditional_update: false,
    create_on_update: false,
    generation: false,
};
const NO_COLLECTION: Resource = Resource {
    verbs: VERBS_NO_COLLECTION,
    ..FULL
};
const READ_ONLY: Resource = Resource {
    verbs: VERBS_READ_ONLY,
    ..FULL
};
/// Nothing here asks policies or webhooks, so none can be made.
const ADMISSION: Resource = Resource {
    group: "admissionregistration.k8s.io",
    categories: &["api-extensions"],
    ..READ_ONLY
};
const CREATE_ONLY: Resource = Resource {
    verbs: VERBS_CREATE_ONLY,
    ..FULL
};

impl Resource {
    /// Whether it has the subresource `status`.
    pub fn has_status(&self) -> bool {
        self.has_subresource("status")
    }

    /// Whether it has a subresource.
    pub fn has_subresource(&self, name: &str) -> bool {
        self.subresources.contains(&name)
    }

    /// Whether the main resource has a verb.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.contains(&verb)
    }

    /// Why objects of a kind that is only read cannot be written.
    pub fn read_only_reason(&self) -> Option<&'static str> {
        if self.verbs != VERBS_READ_ONLY {
            return None;
        }
        Some(match self.group {
            "admissionregistration.k8s.io" => {
                "this API server calls no webhooks and evaluates no admission policies"
            }
            "resource.k8s.io" => "no device of a simulated node can be claimed",
            "storage.k8s.io" => "no driver here provides volumes",
            _ => "no controller here would act on it",
        })
    }

    /// `group/version`, or `version` for the core group: the `apiVersion` of its objects.
    pub fn api_version(&self) -> alloc::string::String {
        if self.group.is_empty() {
            self.version.into()
        } else {
            alloc::format!("{}/{}", self.group, self.version)
        }
    }

    /// `plural.group`, or `plural` for the core group: its name in messages.
    pub fn qualified_name(&self) -> alloc::string::String {
        if self.group.is_empty() {
            self.plural.into()
        } else {
            alloc::format!("{}.{}", self.plural, self.group)
        }
    }

    /// `Kind.group`, or `Kind` for the core group: its kind in messages.
    pub fn qualified_kind(&self) -> alloc::string::String {
        if self.group.is_empty() {
            self.kind.into()
        } else {
            alloc::format!("{}.{}", self.kind, self.group)
        }
    }
}

/// Looks a resource up by its path elements.
pub fn find(group: &str, version: &str, plural: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .find(|r| r.plural == plural && r.group == group && r.version == version)
}

/// Looks a resource up by kind. `Event` of the core group and of `events.k8s.io` differ by group.
pub fn find_kind(group: &str, version: &str, kind: &str) -> Option<&'static Resource> {
    RESOURCES
        .iter()
        .find(|r| r.kind == kind && r.group == group && r.version == version)
}

/// All resources, in the order discovery shows their groups.
pub static RESOURCES: &[Resource] = &[
    Resource {
        group: "",
        version: "v1",
        plural: "bindings",
        singular: "binding",
        kind: "Binding",
        namespaced: true,
        ..CREATE_ONLY
    },
    Resource {
        group: "",
        version: "v1",
        plural: "configmaps",
        singular: "configmap",
        kind: "ConfigMap",
        namespaced: true,
        short_names: &["cm"],
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "endpoints",
        singular: "endpoints",
        kind: "Endpoints",
        namespaced: true,
        short_names: &["ep"],
        create_on_update: true,
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "events",
        singular: "event",
        kind: "Event",
        namespaced: true,
        short_names: &["ev"],
        create_on_update: true,
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "limitranges",
        singular: "limitrange",
        kind: "LimitRange",
        namespaced: true,
        short_names: &["limits"],
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "namespaces",
        singular: "namespace",
        kind: "Namespace",
        namespaced: false,
        short_names: &["ns"],
        subresources: &["finalize", "status"],
        ..NO_COLLECTION
    },
    Resource {
        group: "",
        version: "v1",
        plural: "nodes",
        singular: "node",
        kind: "Node",
        namespaced: false,
        short_names: &["no"],
        subresources: &["status"],
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "persistentvolumeclaims",
        singular: "persistentvolumeclaim",
        kind: "PersistentVolumeClaim",
        namespaced: true,
        short_names: &["pvc"],
        subresources: &["status"],
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "persistentvolumes",
        singular: "persistentvolume",
        kind: "PersistentVolume",
        namespaced: false,
        short_names: &["pv"],
        subresources: &["status"],
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "pods",
        singular: "pod",
        kind: "Pod",
        namespaced: true,
        short_names: &["po"],
        categories: &["all"],
        subresources: &["binding", "eviction", "log", "status"],
        generation: true,
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "podtemplates",
        singular: "podtemplate",
        kind: "PodTemplate",
        namespaced: true,
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "replicationcontrollers",
        singular: "replicationcontroller",
        kind: "ReplicationController",
        namespaced: true,
        short_names: &["rc"],
        categories: &["all"],
        ..READ_ONLY
    },
    Resource {
        group: "",
        version: "v1",
        plural: "resourcequotas",
        singular: "resourcequota",
        kind: "ResourceQuota",
        namespaced: true,
        short_names: &["quota"],
        subresources: &["status"],
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "secrets",
        singular: "secret",
        kind: "Secret",
        namespaced: true,
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "serviceaccounts",
        singular: "serviceaccount",
        kind: "ServiceAccount",
        namespaced: true,
        short_names: &["sa"],
        subresources: &["token"],
        ..FULL
    },
    Resource {
        group: "",
        version: "v1",
        plural: "services",
        singular: "service",
        kind: "Service",
        namespaced: true,
        short_names: &["svc"],
        categories: &["all"],
        subresources: &["status"],
        create_on_update: true,
        ..FULL
    },
    Resource {
        group: "apps",
        version: "v1",
        plural: "controllerrevisions",
        singular: "controllerrevision",
        kind: "ControllerRevision",
        namespaced: true,
        ..FULL
    },
    Resource {
        group: "apps",
        version: "v1",
        plural: "daemonsets",
        singular: "daemonset",
        kind: "DaemonSet",
        namespaced: true,
        short_names: &["ds"],
        categories: &["all"],
        subresources: &["status"],
        generation: true,
        ..FULL
    },
    Resource {
        group: "apps",
        version: "v1",
        plural: "deployments",
        singular: "deployment",
        kind: "Deployment",
        namespaced: true,
        short_names: &["deploy"],
        categories: &["all"],
        ..READ_ONLY
    },
    Resource {
        group: "apps",
        version: "v1",
        plural: "replicasets",
        singular: "replicaset",
        kind: "ReplicaSet",
        namespaced: true,
        short_names: &["rs"],
        categories: &["all"],
        ..READ_ONLY
    },
    Resource {
        group: "apps",
        version: "v1",
        plural: "statefulsets",
        singular: "statefulset",
        kind: "StatefulSet",
        namespaced: true,
        short_names: &["sts"],
        categories: &["all"],
        ..READ_ONLY
    },
    Resource {
        group: "events.k8s.io",
        version: "v1",
        plural: "events",
        singular: "event",
        kind: "Event",
        namespaced: true,
        short_names: &["ev"],
        create_on_update: true,
        ..FULL
    },
    Resource {
        group: "authentication.k8s.io",
        version: "v1",
        plural: "selfsubjectreviews",
        singular: "selfsubjectreview",
        kind: "SelfSubjectReview",
        namespaced: false,
        ..CREATE_ONLY
    },
    Resource {
        group: "authentication.k8s.io",
        version: "v1",
        plural: "tokenreviews",
        singular: "tokenreview",
        kind: "TokenReview",
        namespaced: false,
        ..CREATE_ONLY
    },
    Resource {
        group: "authorization.k8s.io",
        version: "v1",
        plural: "localsubjectaccessreviews",
        singular: "localsubjectaccessreview",
        kind: "LocalSubjectAccessReview",
        namespaced: true,
        ..CREATE_ONLY
    },
    Resource {
        group: "authorization.k8s.io",
        version: "v1",
        plural: "selfsubjectaccessreviews",
        singular: "selfsubjectaccessreview",
        kind: "SelfSubjectAccessReview",
        namespaced: false,
        ..CREATE_ONLY
    },
    Resource {
        group: "authorization.k8s.io",
        version: "v1",
        plural: "selfsubjectrulesreviews",
        singular: "selfsubjectrulesreview",
        kind: "SelfSubjectRulesReview",
        namespaced: false,
        ..CREATE_ONLY
    },
    Resource {
        group: "authorization.k8s.io",
        version: "v1",
        plural: "subjectaccessreviews",
        singular: "subjectaccessreview",
        kind: "SubjectAccessReview",
        namespaced: false,
        ..CREATE_ONLY
    },
    Resource {
        group: "autoscaling",
        version: "v2",
        plural: "horizontalpodautoscalers",
        singular: "horizontalpodautoscaler",
        kind: "HorizontalPodAutoscaler",
        namespaced: true,
        short_names: &["hpa"],
        categories: &["all"],
        ..READ_ONLY
    },
    Resource {
        group: "batch",
        version: "v1",
        plural: "cronjobs",
        singular: "cronjob",
        kind: "CronJob",
        namespaced: true,
        short_names: &["cj"],
        categories: &["all"],
        ..READ_ONLY
    },
    Resource {
        group: "batch",
        version: "v1",
        plural: "jobs",
        singular: "job",
        kind: "Job",
        namespaced: true,
        categories: &["all"],
        ..READ_ONLY
    },
    Resource {
        group: "certificates.k8s.io",
        version: "v1",
        plural: "certificatesigningrequests",
        singular: "certificatesigningrequest",
        kind: "CertificateSigningRequest",
        namespaced: false,
        short_names: &["csr"],
        subresources: &["approval", "status"],
        ..FULL
    },
    Resource {
        group: "networking.k8s.io",
        version: "v1",
        plural: "ingressclasses",
        singular: "ingressclass",
        kind: "IngressClass",
        namespaced: false,
        generation: true,
        ..FULL
    },
    Resource {
        group: "networking.k8s.io",
        version: "v1",
        plural: "ingresses",
        singular: "ingress",
        kind: "Ingress",
        namespaced: true,
        short_names: &["ing"],
        subresources: &["status"],
        generation: true,
        ..FULL
    },
    Resource {
        group: "networking.k8s.io",
        version: "v1",
        plural: "networkpolicies",
        singular: "networkpolicy",
        kind: "NetworkPolicy",
        namespaced: true,
        short_names: &["netpol"],
        generation: true,
        ..FULL
    },
    Resource {
        group: "policy",
        version: "v1",
        plural: "poddisruptionbudgets",
        singular: "poddisruptionbudget",
        kind: "PodDisruptionBudget",
        namespaced: true,
        short_names: &["pdb"],
        subresources: &["status"],
        conditional_update: true,
        generation: true,
        ..FULL
    },
    Resource {
        group: "rbac.authorization.k8s.io",
        version: "v1",
        plural: "clusterrolebindings",
        singular: "clusterrolebinding",
        kind: "ClusterRoleBinding",
        namespaced: false,
        create_on_update: true,
        ..FULL
    },
    Resource {
        group: "rbac.authorization.k8s.io",
        version: "v1",
        plural: "clusterroles",
        singular: "clusterrole",
        kind: "ClusterRole",
        namespaced: false,
        create_on_update: true,
        ..FULL
    },
    Resource {
        group: "rbac.authorization.k8s.io",
        version: "v1",
        plural: "rolebindings",
        singular: "rolebinding",
        kind: "RoleBinding",
        namespaced: true,
        create_on_update: true,
        ..FULL
    },
    Resource {
        group: "rbac.authorization.k8s.io",
        version: "v1",
        plural: "roles",
        singular: "role",
        kind: "Role",
        namespaced: true,
        create_on_update: true,
        ..FULL
    },
    Resource {
        group: "storage.k8s.io",
        version: "v1",
        plural: "csidrivers",
        singular: "csidriver",
        kind: "CSIDriver",
        namespaced: false,
        ..FULL
    },
    Resource {
        group: "storage.k8s.io",
        version: "v1",
        plural: "csinodes",
        singular: "csinode",
        kind: "CSINode",
        namespaced: false,
        ..FULL
    },
    Resource {
        group: "storage.k8s.io",
        version: "v1",
        plural: "csistoragecapacities",
        singular: "csistoragecapacity",
        kind: "CSIStorageCapacity",
        namespaced: true,
        ..FULL
    },
    Resource {
        group: "storage.k8s.io",
        version: "v1",
        plural: "storageclasses",
        singular: "storageclass",
        kind: "StorageClass",
        namespaced: false,
        short_names: &["sc"],
        ..FULL
    },
    Resource {
        group: "storage.k8s.io",
        version: "v1",
        plural: "volumeattachments",
        singular: "volumeattachment",
        kind: "VolumeAttachment",
        namespaced: false,
        subresources: &["status"],
        ..FULL
    },
    Resource {
        group: "storage.k8s.io",
        version: "v1",
        plural: "volumeattributesclasses",
        singular: "volumeattributesclass",
        kind: "VolumeAttributesClass",
        namespaced: false,
        short_names: &["vac"],
        ..READ_ONLY
    },
    Resource {
        plural: "mutatingadmissionpolicies",
        singular: "mutatingadmissionpolicy",
        kind: "MutatingAdmissionPolicy",
        ..ADMISSION
    },
    Resource {
        plural: "mutatingadmissionpolicybindings",
        singular: "mutatingadmissionpolicybinding",
        kind: "MutatingAdmissionPolicyBinding",
        ..ADMISSION
    },
    Resource {
        plural: "mutatingwebhookconfigurations",
        singular: "mutatingwebhookconfiguration",
        kind: "MutatingWebhookConfiguration",
        ..ADMISSION
    },
    Resource {
        plural: "validatingadmissionpolicies",
        singular: "validatingadmissionpolicy",
        kind: "ValidatingAdmissionPolicy",
        ..ADMISSION
    },
    Resource {
        plural: "validatingadmissionpolicybindings",
        singular: "validatingadmissionpolicybinding",
        kind: "ValidatingAdmissionPolicyBinding",
        ..ADMISSION
    },
    Resource {
        plural: "validatingwebhookconfigurations",
        singular: "validatingwebhookconfiguration",
        kind: "ValidatingWebhookConfiguration",
        ..ADMISSION
    },
    Resource {
        group: "scheduling.k8s.io",
        version: "v1",
        plural: "priorityclasses",
        singular: "priorityclass",
        kind: "PriorityClass",
        namespaced: false,
        short_names: &["pc"],
        ..FULL
    },
    Resource {
        group: "coordination.k8s.io",
        version: "v1",
        plural: "leases",
        singular: "lease",
        kind: "Lease",
        namespaced: true,
        conditional_update: true,
        create_on_update: true,
        ..FULL
    },
    Resource {
        group: "node.k8s.io",
        version: "v1",
        plural: "runtimeclasses",
        singular: "runtimeclass",
        kind: "RuntimeClass",
        namespaced: false,
        ..FULL
    },
    Resource {
        group: "discovery.k8s.io",
        version: "v1",
        plural: "endpointslices",
        singular: "endpointslice",
        kind: "EndpointSlice",
        namespaced: true,
        ..FULL
    },
    Resource {
        group: "resource.k8s.io",
        version: "v1",
        plural: "deviceclasses",
        singular: "deviceclass",
        kind: "DeviceClass",
        namespaced: false,
        ..READ_ONLY
    },
    Resource {
        group: "resource.k8s.io",
        version: "v1",
        plural: "resourceclaims",
        singular: "resourceclaim",
        kind: "ResourceClaim",
        namespaced: true,
        ..READ_ONLY
    },
    Resource {
        group: "resource.k8s.io",
        version: "v1",
        plural: "resourceclaimtemplates",
        singular: "resourceclaimtemplate",
        kind: "ResourceClaimTemplate",
        namespaced: true,
        ..READ_ONLY
    },
    Resource {
        group: "resource.k8s.io",
        version: "v1",
        plural: "resourceslices",
        singular: "resourceslice",
        kind: "ResourceSlice",
        namespaced: false,
        ..READ_ONLY
    },
];
