//! Whether somebody's rules cover other rules: nobody hands out rights they do not have.

use super::{Attributes, Rule, allows};

/// The first part of the new rules that the owner's rules do not cover, in words.
pub(crate) fn uncovered(owner: &[Rule], new: &[Rule]) -> Option<String> {
    new.iter()
        .flat_map(single_rights)
        .find(|right| !owner.iter().any(|rule| right.covered_by(rule)))
        .map(|right| right.describe())
}

/// One verb on one resource or path.
struct Right<'a> {
    verb: &'a str,
    group: &'a str,
    resource: &'a str,
    name: &'a str,
    path: &'a str,
}

/// Takes a rule apart.
fn single_rights(rule: &Rule) -> Vec<Right<'_>> {
    let mut rights = Vec::new();
    for verb in &rule.verbs {
        for path in &rule.non_resource_urls {
            rights.push(Right {
                verb,
                group: "",
                resource: "",
                name: "",
                path,
            });
        }
        for group in &rule.api_groups {
            for resource in &rule.resources {
                push_names(&mut rights, rule, (verb, group, resource));
            }
        }
    }
    rights
}

fn push_names<'a>(
    rights: &mut Vec<Right<'a>>,
    rule: &'a Rule,
    (verb, group, resource): (&'a str, &'a str, &'a str),
) {
    let names = rule.resource_names.iter().map(String::as_str);
    let none = rule.resource_names.is_empty().then_some("");
    for name in names.chain(none) {
        rights.push(Right {
            verb,
            group,
            resource,
            name,
            path: "",
        });
    }
}

impl Right<'_> {
    fn covered_by(&self, rule: &Rule) -> bool {
        // A wildcard is only covered by a wildcard: `allows` would take it for a plain word,
        // which is what is wanted, because "*" in the owner's rule matches any word.
        let (resource, subresource) = self.resource.split_once('/').unwrap_or((self.resource, ""));
        allows(
            rule,
            &Attributes {
                verb: self.verb,
                group: self.group,
                resource,
                subresource,
                namespace: "",
                name: self.name,
                path: self.path,
            },
        )
    }

    fn describe(&self) -> String {
        if !self.path.is_empty() {
            return format!(
                "{{NonResourceURLs:[{:?}], Verbs:[{:?}]}}",
                self.path, self.verb
            );
        }
        let name = match self.name {
            "" => String::new(),
            name => format!(", ResourceNames:[{name:?}]"),
        };
        format!(
            "{{APIGroups:[{:?}], Resources:[{:?}]{name}, Verbs:[{:?}]}}",
            self.group, self.resource, self.verb
        )
    }
}
