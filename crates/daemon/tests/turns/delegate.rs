//! The delegation that test doubles of the storage port share.

/// Delegates the given methods to the field `inner`.
macro_rules! delegate {
    () => {
        delegate!(begin);
        delegate!(decline_to_finish);
    };
    (begin) => {
        fn begin(
            &self,
            run: model::RunId,
            secret: [u8; 32],
        ) -> $crate::delegate::StoreFuture<'_, model::turn::StartReply<model::turn::TurnAssignment>>
        {
            self.inner.begin(run, secret)
        }

        fn begin_after_precheck(
            &self,
            run: model::RunId,
            secret: [u8; 32],
        ) -> $crate::delegate::StoreFuture<'_, model::turn::StartReply<model::turn::TurnAssignment>>
        {
            self.inner.begin_after_precheck(run, secret)
        }
    };
    (decline_to_finish) => {
        fn decline(
            &self,
            run: model::RunId,
            diagnostics: serde_json::Value,
        ) -> $crate::delegate::StoreFuture<'_, model::turn::DeclineOutcome> {
            self.inner.decline(run, diagnostics)
        }

        fn heartbeat(
            &self,
            run: model::RunId,
        ) -> $crate::delegate::StoreFuture<'_, model::turn::HeartbeatReply> {
            self.inner.heartbeat(run)
        }

        fn record_usage(
            &self,
            run: model::RunId,
            usage: serde_json::Value,
        ) -> $crate::delegate::StoreFuture<'_, Option<model::budget::Accounts>> {
            self.inner.record_usage(run, usage)
        }

        fn request_answer(
            &self,
            run: model::RunId,
            question: model::question::Elicitation,
            timeout: std::time::Duration,
        ) -> $crate::delegate::StoreFuture<'_, Option<serde_json::Value>> {
            self.inner.request_answer(run, question, timeout)
        }

        fn withdraw_approvals(
            &self,
            run: model::RunId,
        ) -> $crate::delegate::StoreFuture<'_, model::turn::WriteOutcome> {
            self.inner.withdraw_approvals(run)
        }

        fn finish(
            &self,
            run: model::RunId,
            finished: model::turn::TurnResult,
        ) -> $crate::delegate::StoreFuture<'_, model::turn::WriteOutcome> {
            self.inner.finish(run, finished)
        }
    };
    (record) => {
        fn record(
            &self,
            run: model::RunId,
            entries: Vec<model::turn::Entry>,
        ) -> $crate::delegate::StoreFuture<'_, model::turn::WriteOutcome> {
            self.inner.record(run, entries)
        }
    };
    (live) => {
        fn append_live_text(
            &self,
            run: model::RunId,
            position: u64,
            text: String,
        ) -> $crate::delegate::StoreFuture<'_, model::turn::WriteOutcome> {
            self.inner.append_live_text(run, position, text)
        }
    };
    (ask) => {
        fn request_approval(
            &self,
            run: model::RunId,
            requested: model::approval::ApprovalRequest,
            timeout: std::time::Duration,
        ) -> $crate::delegate::StoreFuture<'_, model::permission::Verdict> {
            self.inner.request_approval(run, requested, timeout)
        }
    };
}

/// The result of a method of the storage port.
pub(crate) type StoreFuture<'a, T> =
    futures::future::BoxFuture<'a, Result<T, turn::TurnStoreError>>;
