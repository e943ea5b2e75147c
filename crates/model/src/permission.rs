//! Rules that answer an agent's permission requests without a person.

use crate::text_enum::text_enum;

/// The subject of a permission request, in the agent's words (ACP `ToolKind` and title).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRequest {
    /// The kind of the tool: `read`, `edit`, `execute`, `fetch`, and so on. `other` if the agent names none.
    pub tool_kind: String,
    /// The line that the agent shows for the tool call.
    pub title: String,
}

/// The kinds of tools that the protocol defines (ACP `ToolKind`).
pub const TOOL_KINDS: [&str; 10] = [
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
];

text_enum! {
    /// The verdict of a rule.
    Verdict, "a verdict of a permission rule" {
        /// The request is granted, for this call only if the agent offers that choice.
        Allow = "allow",
        /// The request is denied.
        Deny = "deny",
    }
}

/// A rule for requests whose kind and title both match its patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PermissionRule {
    /// The pattern for the tool's kind. `*` matches any run of characters.
    pub tool: String,
    /// The pattern for the title. `None` matches every title.
    pub title: Option<String>,
    /// The answer to requests that match.
    pub verdict: Verdict,
}

/// A set of rules. The order of the rules does not matter.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PermissionRules(pub Vec<PermissionRule>);

impl PermissionRules {
    /// Returns the answer to a request. Returns `None` if no rule matches.
    ///
    /// A rule that denies outweighs all rules that allow, so that adding a denial never allows more.
    pub fn verdict(&self, request: &PermissionRequest) -> Option<Verdict> {
        let covering = self.0.iter().filter(|rule| rule.covers(request));
        covering
            .map(|rule| rule.verdict)
            .max_by_key(|verdict| *verdict == Verdict::Deny)
    }
}

impl PermissionRule {
    fn covers(&self, request: &PermissionRequest) -> bool {
        matches(&self.tool, &request.tool_kind)
            && self
                .title
                .as_deref()
                .is_none_or(|pattern| matches(pattern, &request.title))
    }
}

/// Returns `true` if `text` matches a pattern in which `*` matches any run of characters.
///
/// Takes at most time proportional to the product of both lengths, because the title comes from an untrusted agent:
/// naive backtracking can take exponential time.
fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut at, mut read) = (0, 0);
    let mut star = None;
    while read < text.len() {
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, read));
            at += 1;
        } else if pattern.get(at) == Some(&text[read]) {
            at += 1;
            read += 1;
        } else if let Some((star_at, star_read)) = star {
            // Mismatch: the last star matches one more byte. Earlier stars need no second try, because matching more
            // with them only leaves less text for the rest of the pattern.
            at = star_at + 1;
            read = star_read + 1;
            star = Some((star_at, read));
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|byte| *byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(tool_kind: &str, title: &str) -> PermissionRequest {
        PermissionRequest {
            tool_kind: tool_kind.into(),
            title: title.into(),
        }
    }

    fn rule(tool: &str, title: Option<&str>, verdict: Verdict) -> PermissionRule {
        PermissionRule {
            tool: tool.into(),
            title: title.map(Into::into),
            verdict,
        }
    }

    #[test]
    fn unmatched_request_has_no_verdict() {
        let rules = PermissionRules(vec![rule("read", None, Verdict::Allow)]);
        assert_eq!(rules.verdict(&request("execute", "rm -rf /")), None);
        assert_eq!(
            rules.verdict(&request("read", "notes.md")),
            Some(Verdict::Allow)
        );
    }

    #[test]
    fn adding_a_denial_never_allows_more() {
        let allow = rule("execute", Some("git *"), Verdict::Allow);
        let deny = rule("*", Some("*push*"), Verdict::Deny);
        for rules in [vec![allow.clone(), deny.clone()], vec![deny, allow]] {
            let rules = PermissionRules(rules);
            assert_eq!(
                rules.verdict(&request("execute", "git push")),
                Some(Verdict::Deny)
            );
            assert_eq!(
                rules.verdict(&request("execute", "git log")),
                Some(Verdict::Allow)
            );
        }
    }

    #[test]
    fn star_matches_any_run_of_characters() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("a*c", "abbbc", true),
            ("a*c", "abbbd", false),
            ("*ab*ab", "ab-ab-ab", true),
            ("naïve*", "naïve é", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern:?} {text:?}");
        }
    }
}
