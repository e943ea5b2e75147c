//! Answering permission requests by rules.

use agent::{Decision, PermissionRequest, Permissions};
use futures::future::{self, BoxFuture};
use model::permission::{PermissionRules, Verdict};

/// Answers by rules; what no rule covers is denied, so that no turn ever hangs on a question.
pub(crate) struct ByRules(pub(crate) PermissionRules);

impl Permissions for ByRules {
    fn decide(&self, request: PermissionRequest) -> BoxFuture<'_, Decision> {
        let decision = match self.0.verdict(&request.about) {
            Some(Verdict::Allow) => Decision::Allow,
            Some(Verdict::Deny) | None => Decision::Deny,
        };
        Box::pin(future::ready(decision))
    }
}
