//! What ledgers that stand before a worker's have in common.

/// Passes on to the field `ledger` whatever no test looks at by itself.
macro_rules! passing_on {
    () => {
        passing_on!(beginnings);
        passing_on!(the rest);
    };
    (beginnings) => {
        fn begin(&self, run: model::RunId) -> $crate::passing_on::Answer<'_, model::turn::Begin> {
            self.ledger.begin(run)
        }

        fn begin_asked(
            &self,
            run: model::RunId,
        ) -> $crate::passing_on::Answer<'_, model::turn::Begin> {
            self.ledger.begin_asked(run)
        }
    };
    (the rest) => {
        fn decline(
            &self,
            run: model::RunId,
            diagnostics: serde_json::Value,
        ) -> $crate::passing_on::Answer<'_, model::turn::Declined> {
            self.ledger.decline(run, diagnostics)
        }

        fn heartbeat(
            &self,
            run: model::RunId,
        ) -> $crate::passing_on::Answer<'_, model::turn::Beat> {
            self.ledger.heartbeat(run)
        }

        fn spend(
            &self,
            run: model::RunId,
            usage: serde_json::Value,
        ) -> $crate::passing_on::Answer<'_, Option<model::budget::Accounts>> {
            self.ledger.spend(run, usage)
        }

        fn withdraw(
            &self,
            run: model::RunId,
        ) -> $crate::passing_on::Answer<'_, model::turn::Settled> {
            self.ledger.withdraw(run)
        }

        fn finish(
            &self,
            run: model::RunId,
            finished: model::turn::Finished,
        ) -> $crate::passing_on::Answer<'_, model::turn::Settled> {
            self.ledger.finish(run, finished)
        }
    };
    (record) => {
        fn record(
            &self,
            run: model::RunId,
            entries: Vec<model::turn::Entry>,
        ) -> $crate::passing_on::Answer<'_, model::turn::Settled> {
            self.ledger.record(run, entries)
        }
    };
    (live) => {
        fn live(
            &self,
            run: model::RunId,
            position: u64,
            text: String,
        ) -> $crate::passing_on::Answer<'_, model::turn::Settled> {
            self.ledger.live(run, position, text)
        }
    };
    (ask) => {
        fn ask(
            &self,
            run: model::RunId,
            question: model::approval::Question,
            patience: std::time::Duration,
        ) -> $crate::passing_on::Answer<'_, model::permission::Verdict> {
            self.ledger.ask(run, question, patience)
        }
    };
}

/// What a ledger answers in its time.
pub(crate) type StoreFuture<'a, T> =
    futures::future::BoxFuture<'a, Result<T, turn::TurnStoreError>>;
