//! The query string: options of lists, writes and deletions.

use percent_encoding::percent_decode_str;

/// Parameters of a request, in order. Unknown ones are ignored, as upstream does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Parses `a=b&c=d`, with `+` and percent escapes.
    pub(crate) fn parse(query: &str) -> Self {
        let pairs = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (unescape(name), unescape(value))
            })
            .collect();
        Self { pairs }
    }

    /// The first value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.pairs
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter, with an empty one counting as absent.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// All values of a parameter.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> + 'a {
        self.pairs
            .iter()
            .filter(move |(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    /// A boolean: present and neither `0` nor `false` means true (spec/apiserver.md 2.9).
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A boolean that may be absent.
    pub(crate) fn optional_flag(&self, name: &str) -> Option<bool> {
        self.get(name).map(|_| self.flag(name))
    }

    /// A decimal number; the error is Go's text, which upstream sends as it is.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, String> {
        self.text(name)
            .map(|value| {
                value
                    .parse()
                    .map_err(|_| format!("strconv.ParseInt: parsing {value:?}: invalid syntax"))
            })
            .transpose()
    }
}

fn unescape(text: &str) -> String {
    if !text.contains(['%', '+']) {
        return text.to_owned();
    }
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_escapes() {
        let query = Query::parse("labelSelector=app%3Dweb+x&limit=5&watch&dryRun=All&dryRun=B&e=");
        assert_eq!(query.get("labelSelector"), Some("app=web x"));
        assert_eq!(query.number("limit"), Ok(Some(5)));
        assert_eq!(query.number("absent"), Ok(None));
        assert!(query.flag("watch"));
        assert_eq!(query.all("dryRun").collect::<Vec<_>>(), ["All", "B"]);
        assert_eq!(query.text("e"), None);
    }

    #[test]
    fn flags_and_bad_numbers() {
        let query = Query::parse("a=false&b=0&c=foo&limit=abc");
        assert!(!query.flag("a") && !query.flag("b") && query.flag("c") && !query.flag("d"));
        assert_eq!(query.optional_flag("d"), None);
        assert_eq!(
            query.number("limit"),
            Err("strconv.ParseInt: parsing \"abc\": invalid syntax".to_owned())
        );
    }
}
