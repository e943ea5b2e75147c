//! A store that never receives the secret of its run, in one piece or in several.
//!
//! Live text arrives in pieces, which viewers join. So the store holds back an end of the text with which the secret can
//! begin, until more text follows. The answer of the turn, which the end of the run writes, has that end.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture};
use model::{
    AcpSessionId, RunId,
    access::{secret::RunSecret, secret_mask::SecretMask},
    approval::ApprovalRequest,
    budget::Accounts,
    outcome::Outcome,
    permission::Verdict,
    question::Elicitation,
    turn::{
        DeclineOutcome, Entry, HeartbeatReply, StartReply, TurnAssignment, TurnResult, WriteOutcome,
    },
};
use serde_json::Value;

use crate::{TurnStore, TurnStoreError};

/// A store behind a mask for the secret of a run.
pub(crate) struct MaskedStore<'a> {
    store: &'a dyn TurnStore,
    mask: SecretMask,
    held_back: Mutex<HeldBack>,
}

/// The end of the live text that is not written yet, because the secret can begin with it.
#[derive(Debug, Clone, Default)]
struct HeldBack {
    position: u64,
    text: String,
}

impl HeldBack {
    /// Returns the text to write after a new piece, with its position, and the end to hold back from now on.
    fn append(self, mask: &SecretMask, position: u64, piece: String) -> (u64, String, Self) {
        let end = self.position + self.text.len() as u64;
        let (position, mut text) = if end == position {
            (self.position, self.text + &piece)
        } else {
            (position, piece)
        };
        mask.whole_secrets(&mut text);
        let written = text.len() - mask.partial_end(&text);
        let held = Self {
            position: position + written as u64,
            text: text.split_off(written),
        };
        (position, text, held)
    }
}

impl<'a> MaskedStore<'a> {
    pub(crate) fn new(store: &'a dyn TurnStore, secret: &RunSecret) -> Self {
        Self {
            store,
            mask: SecretMask::of(secret),
            held_back: Mutex::default(),
        }
    }

    fn lock_held_back(&self) -> MutexGuard<'_, HeldBack> {
        self.held_back
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn mask_result(mask: &SecretMask, result: &mut TurnResult) {
    mask.text(&mut result.answer);
    mask.optional(&mut result.title);
    mask.optional(&mut result.error);
    mask.value(&mut result.diagnostics);
    if let Some(usage) = &mut result.usage {
        mask.value(usage);
    }
    match &mut result.outcome {
        Outcome::Failed(failure) => mask.text(&mut failure.message),
        Outcome::Cancelled(reason) => mask.text(reason),
        Outcome::Stopped(_) => {}
    }
    // A masked ID would name another session. Without an ID, the seat begins a new one.
    let is_secret = |id: &AcpSessionId| mask.is_in(id.as_str());
    if result.acp_session_id.as_ref().is_some_and(is_secret) {
        result.acp_session_id = None;
        result.turn_ended = false;
    }
}

fn mask_approval(mask: &SecretMask, request: &mut ApprovalRequest) {
    let ApprovalRequest {
        permission,
        long_input,
    } = request;
    for text in [
        &mut permission.tool_kind,
        &mut permission.title,
        &mut permission.tool_call,
    ] {
        mask.text(text);
    }
    if let Some(input) = &mut permission.input {
        mask.value(input);
    }
    if let Some(long) = long_input {
        mask.text(&mut long.json);
    }
}

impl TurnStore for MaskedStore<'_> {
    fn begin(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>> {
        self.store.begin(run, secret)
    }

    fn begin_after_precheck(
        &self,
        run: RunId,
        secret: [u8; 32],
    ) -> BoxFuture<'_, Result<StartReply<TurnAssignment>, TurnStoreError>> {
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
        text: String,
    ) -> BoxFuture<'_, Result<WriteOutcome, TurnStoreError>> {
        async move {
            let held = self.lock_held_back().clone();
            let (position, text, held) = held.append(&self.mask, position, text);
            if !text.is_empty() {
                let outcome = self.store.append_live_text(run, position, text).await?;
                if outcome == WriteOutcome::Fenced {
                    return Ok(outcome);
                }
            }
            // Only now: the caller repeats a write that has failed, from the same position.
            *self.lock_held_back() = held;
            Ok(WriteOutcome::Committed)
        }
        .boxed()
    }

    fn record_usage(
        &self,
        run: RunId,
        mut usage: Value,
    ) -> BoxFuture<'_, Result<Option<Accounts>, TurnStoreError>> {
        self.mask.value(&mut usage);
        self.store.record_usage(run, usage)
    }

    fn request_approval(
        &self,
        run: RunId,
        mut request: ApprovalRequest,
        decision_timeout: Duration,
    ) -> BoxFuture<'_, Result<Verdict, TurnStoreError>> {
        mask_approval(&self.mask, &mut request);
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
        mask_result(&self.mask, &mut finished);
        self.store.finish(run, finished)
    }
}

#[cfg(test)]
mod tests {
    use model::{limits, outcome::StopReason};
    use serde_json::json;

    use super::*;
    use crate::test_secret::test_secret;

    #[test]
    fn live_text_in_pieces_of_any_size_never_holds_the_secret() {
        let secret = test_secret();
        let (mask, shown) = (SecretMask::of(&secret), secret.reveal());
        let whole = format!("m mar_ ma{shown}{shown} é mar_{shown}r.");
        let mut expected = whole.clone();
        mask.whole_secrets(&mut expected);
        for size in 1..whole.len() {
            let (mut written, mut held) = (String::new(), HeldBack::default());
            let mut sent = 0;
            while sent < whole.len() {
                let end = whole.ceil_char_boundary(sent + size);
                let piece = whole[sent..end].to_owned();
                let (position, text, next) = held.append(&mask, sent as u64, piece);
                assert_eq!(position, written.len() as u64);
                written.push_str(&text);
                (held, sent) = (next, end);
                assert!(!written.contains(shown), "pieces of {size} bytes");
                assert!(held.text.len() < shown.len());
            }
            assert_eq!(written, expected, "pieces of {size} bytes");
        }
    }

    #[test]
    fn result_is_masked_in_all_its_texts() {
        let secret = test_secret();
        let (mask, shown) = (SecretMask::of(&secret), secret.reveal());
        let mut result = TurnResult::with_outcome(Outcome::Cancelled(shown.into()));
        result.answer = shown.into();
        result.title = Some(shown.into());
        result.error = Some(shown.into());
        result.usage = Some(json!({ "cost": { "currency": shown } }));
        result.diagnostics = json!({ "stderr_tail": shown });
        mask_result(&mask, &mut result);
        assert!(!format!("{result:?}").contains(shown));
    }

    #[test]
    fn session_that_is_named_by_the_secret_is_no_memory() {
        let secret = test_secret();
        let mut result = TurnResult::with_outcome(Outcome::Stopped(StopReason::EndTurn));
        result.acp_session_id = Some(AcpSessionId::new(format!("s-{}", secret.reveal())));
        result.turn_ended = true;
        mask_result(&SecretMask::of(&secret), &mut result);
        assert_eq!((result.acp_session_id, result.turn_ended), (None, false));
    }

    #[test]
    fn approval_is_masked_in_all_its_texts() {
        let secret = test_secret();
        let (mask, shown) = (SecretMask::of(&secret), secret.reveal());
        let long = "x".repeat(limits::APPROVAL_INPUT_BYTES);
        for input in [json!({ shown: shown }), json!({ shown: long })] {
            let mut request = ApprovalRequest::new(shown, shown, shown, Some(input));
            mask_approval(&mask, &mut request);
            assert!(!format!("{request:?}").contains(shown), "{request:?}");
        }
    }
}
