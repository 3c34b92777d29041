//! Who makes a request.

use std::collections::BTreeMap;

/// The group of everyone who is known.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of everyone who is not.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group that may do everything, before any rule is looked at.
pub(crate) const MASTERS: &str = "system:masters";

/// A user as authentication has found it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct User {
    /// Name.
    pub name: String,
    /// Unique id, if the authenticator knows one.
    pub uid: String,
    /// Groups, with `system:authenticated` for everyone who is known.
    pub groups: Vec<String>,
    /// Further facts, such as the pod a service account's token is bound to.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A known user: `system:authenticated` is added to the groups.
    pub fn new<G: Into<String>>(
        name: impl Into<String>,
        groups: impl IntoIterator<Item = G>,
    ) -> Self {
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        if !groups.iter().any(|group| group == AUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        Self {
            name: name.into(),
            groups,
            ..Self::default()
        }
    }

    /// A user that may do everything.
    pub fn admin(name: impl Into<String>) -> Self {
        Self::new(name, [MASTERS])
    }

    /// Whoever shows no credentials.
    pub fn anonymous() -> Self {
        Self {
            name: "system:anonymous".to_owned(),
            groups: vec![UNAUTHENTICATED.to_owned()],
            ..Self::default()
        }
    }

    /// A service account.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let mut user = Self::new(
            format!("system:serviceaccount:{namespace}:{name}"),
            [
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
            ],
        );
        uid.clone_into(&mut user.uid);
        user
    }

    /// Whether the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|g| g == group)
    }

    /// The node this user speaks for, if it is a node agent.
    pub fn node(&self) -> Option<&str> {
        self.name
            .strip_prefix("system:node:")
            .filter(|_| self.is_in("system:nodes"))
    }
}
