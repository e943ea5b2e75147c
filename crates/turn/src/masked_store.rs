//! A store that never receives the secret of its run.
//!
//! An agent that reads the file of its own run may repeat the secret in its answer. The secret is worthless after the turn,
//! but the transcript, the record and the live text are shown to people and are exported while the turn goes on.

use std::time::Duration;

use futures::future::BoxFuture;
use model::{
    RunId,
    access::secret::RunSecret,
    approval::ApprovalRequest,
    budget::Accounts,
    outcome::Outcome,
    permission::Verdict,
    question::Elicitation,
    turn::{DeclineOutcome, Entry, HeartbeatReply, StartReply, TurnResult, WriteOutcome},
};
use serde_json::Value;

use crate::{TurnStore, TurnStoreError};

/// A store behind a mask for the secret of a run.
pub(crate) struct MaskedStore<'a> {
    store: &'a dyn TurnStore,
    mask: Mask,
}

impl<'a> MaskedStore<'a> {
    pub(crate) fn new(store: &'a dyn TurnStore, secret: &RunSecret) -> Self {
        Self {
            store,
            mask: Mask::of(secret),
        }
    }
}

/// The secret, and the text of the same length that takes its place, so that positions in texts stay.
struct Mask {
    secret: String,
    mask: String,
}

impl Mask {
    fn of(secret: &RunSecret) -> Self {
        let secret = secret.reveal().to_owned();
        let stars = secret.len().saturating_sub(RunSecret::PREFIX.len());
        let mask = format!("{}{}", RunSecret::PREFIX, "*".repeat(stars));
        Self { secret, mask }
    }

    fn text(&self, text: &mut String) {
        if text.contains(&self.secret) {
            *text = text.replace(&self.secret, &self.mask);
        }
    }

    fn optional(&self, text: &mut Option<String>) {
        if let Some(text) = text {
            self.text(text);
        }
    }

    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.value(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn result(&self, result: &mut TurnResult) {
        self.text(&mut result.answer);
        self.optional(&mut result.title);
        self.optional(&mut result.error);
        self.value(&mut result.diagnostics);
        if let Outcome::Failed(failure) = &mut result.outcome {
            self.text(&mut failure.message);
        }
    }
}

impl TurnStore for MaskedStore<'_> {
    fn begin(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply, TurnStoreError>> {
        self.store.begin(run, secret)
    }

    fn begin_after_precheck(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply, TurnStoreError>> {
        self.store.begin_after_precheck(run, secret)
    }

    fn decline(
        &self,
        run: RunId,
        diagnostics: Value,
    ) -> BoxFuture<'_, Result<DeclineOutcome, TurnStoreError>> {
        self.store.decline(run, diagnostics)
    }

    fn heartbeat(&self, run: RunId) -> BoxFuture<'_, Result<HeartbeatReply, TurnStoreError>> {
        self.store.heartbeat(run)
    }

    fn record(
        &self,
        run: RunId,
        mut entries: Vec<Entry>,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        for entry in &mut entries {
            self.mask.text(&mut entry.content);
            self.mask.value(&mut entry.metadata);
        }
        self.store.record(run, entries)
    }

    fn append_live_text(
        &self,
        run: RunId,
        position: u64,
        mut text: String,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        self.mask.text(&mut text);
        self.store.append_live_text(run, position, text)
    }

    fn record_usage(
        &self,
        run: RunId,
        usage: Value,
    ) -> BoxFuture<'_, Result<Option<Accounts>, TurnStoreError>> {
        self.store.record_usage(run, usage)
    }

    fn request_approval(
        &self,
        run: RunId,
        mut request: ApprovalRequest,
        decision_timeout: Duration,
    ) -> BoxFuture<'_, Result<Verdict, TurnStoreError>> {
        self.mask.text(&mut request.permission.title);
        if let Some(input) = &mut request.permission.input {
            self.mask.value(input);
        }
        if let Some(long) = &mut request.long_input {
            self.mask.text(&mut long.json);
        }
        self.store.request_approval(run, request, decision_timeout)
    }

    fn request_answer(
        &self,
        run: RunId,
        mut question: Elicitation,
        answer_timeout: Duration,
    ) -> BoxFuture<'_, Result<Option<Value>, TurnStoreError>> {
        self.mask.text(&mut question.text);
        let Elicitation { body, .. } = &mut question;
        for value in [&mut body.default, &mut body.schema].into_iter().flatten() {
            self.mask.value(value);
        }
        self.store.request_answer(run, question, answer_timeout)
    }

    fn withdraw_approvals(
        &self,
        run: RunId,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        self.store.withdraw_approvals(run)
    }

    fn finish(
        &self,
        run: RunId,
        mut finished: TurnResult,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        self.mask.result(&mut finished);
        self.store.finish(run, finished)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::test_secret::test_secret;

    #[test]
    fn secret_is_masked_in_texts_and_values_and_keeps_positions() {
        let secret = test_secret();
        let (mask, shown) = (Mask::of(&secret), secret.reveal());
        let mut text = format!("I read {shown} and {shown}.");
        let length = text.len();
        mask.text(&mut text);
        assert!(
            !text.contains(shown) && text.starts_with("I read mar_***"),
            "{text}"
        );
        assert_eq!(text.len(), length);
        let mut value = json!({"rawOutput": [{"text": shown}, 1, null]});
        mask.value(&mut value);
        assert!(!value.to_string().contains(shown), "{value}");
        let mut result = TurnResult::with_outcome(Outcome::Cancelled("stop".into()));
        result.answer = shown.into();
        result.error = Some(shown.into());
        result.diagnostics = json!({"stderr_tail": shown});
        mask.result(&mut result);
        assert!(!format!("{result:?}").contains(shown));
    }
}
