//! What comes before a turn: its beginning, and the precheck that is asked before that.

use std::{ops::ControlFlow, time::Duration};

use model::{
    RunId,
    outcome::{Failure, FailureKind, Outcome},
    precheck::{Question, Verdict},
    turn::{Assignment, Begin, Declined, Finished},
};
use tokio::{
    sync::watch,
    time::{Instant, sleep},
};

use crate::{
    agents::Agents,
    finish::{Ended, finish, persist},
    ledger::{Ledger, LedgerError},
    own_folder::remove_own_folder,
    precheck::{Answer, Asked, ask},
    pulse::{Orders, Pulse, Stop, beat},
    warn,
};

/// The pause before a beginning is tried again while the ledger is away.
const BEGIN_PAUSE: Duration = Duration::from_millis(500);

/// Whether a turn has begun.
pub(crate) enum Begun {
    /// It has; and what its precheck has said, if it has one.
    Started(Box<Assignment>, Asked),
    /// It will not.
    Ended(Ended),
}

/// Begins a run that is this worker's; where it has a precheck, that is asked before. The run's
/// heartbeat is renewed meanwhile, and an order to stop ends the precheck.
pub(crate) async fn begin(
    ledger: &dyn Ledger,
    agents: &Agents,
    run: RunId,
    orders: &Orders,
    pulse: &watch::Sender<Pulse>,
) -> Result<Begun, LedgerError> {
    match patiently(ledger, agents, run, orders, pulse, false).await? {
        ControlFlow::Break(given_back) => Ok(given_back),
        ControlFlow::Continue(Begin::Ask(question)) => {
            let heartbeat = beat(ledger, run, orders, agents.heartbeat, agents.lease, pulse);
            tokio::select! {
                begun = begin_if_wanted(ledger, agents, &question, orders, pulse) => begun,
                () = heartbeat => Ok(Begun::Ended(Ended::Lost)),
            }
        }
        ControlFlow::Continue(begun) => Ok(Begun::of(begun, Asked::default())),
    }
}

async fn begin_if_wanted(
    ledger: &dyn Ledger,
    agents: &Agents,
    question: &Question,
    orders: &Orders,
    pulse: &watch::Sender<Pulse>,
) -> Result<Begun, LedgerError> {
    let run = question.run;
    let asked = match ask(question, agents, pulse.subscribe()).await {
        Answer::Given(asked) => asked,
        Answer::Stopped(Stop::Lost) => return Ok(Begun::Ended(Ended::Lost)),
        Answer::Stopped(Stop::HandBack) => {
            let kind = FailureKind::HandedBack;
            return give_back(ledger, agents, run, kind, "the server stopped").await;
        }
        Answer::LeaseOver => {
            let message = "nobody renewed its lease while its precheck was asked";
            return give_back(ledger, agents, run, FailureKind::WorkerLost, message).await;
        }
        // The ledger knows, and ends it.
        Answer::Stopped(Stop::Cancel(_)) => Asked::default(),
    };
    #[cfg(feature = "failpoints")]
    failpoint::reached("turn: precheck asked");
    if asked.verdict() == Some(Verdict::Decline) {
        let decline = || ledger.decline(run, asked.diagnostics());
        let declined = persist(run, agents.lease, decline).await?;
        if declined == Declined::WithSession {
            remove_own_folder(question);
        }
        return Ok(Begun::Ended(match declined {
            Declined::Skipped | Declined::WithSession => Ended::NotBegun,
            Declined::Lost => Ended::Lost,
        }));
    }
    Ok(
        match patiently(ledger, agents, run, orders, pulse, true).await? {
            ControlFlow::Break(given_back) => given_back,
            ControlFlow::Continue(begun) => Begun::of(begun, asked),
        },
    )
}

impl Begun {
    fn of(begun: Begin, asked: Asked) -> Self {
        match begun {
            Begin::Started(assignment) => Self::Started(assignment, asked),
            Begin::Lost => Self::Ended(Ended::Lost),
            // Nothing is asked twice: a ledger that wants that is not obeyed.
            Begin::Ask(_) | Begin::Held | Begin::Cancelled | Begin::Refused(_) => {
                Self::Ended(Ended::NotBegun)
            }
        }
    }
}

/// Ends an attempt that has not begun, so that another one is asked about.
async fn give_back(
    ledger: &dyn Ledger,
    agents: &Agents,
    run: RunId,
    kind: FailureKind,
    message: &str,
) -> Result<Begun, LedgerError> {
    let failure = Failure {
        kind,
        prompted: false,
        message: message.into(),
    };
    let finished = Finished::bare(Outcome::Failed(failure));
    let ended = finish(ledger, run, finished, agents.lease).await?;
    Ok(Begun::Ended(ended))
}

/// Begins a run. A ledger that is away is tried again for as long as the run is this worker's. Breaks where the
/// run was handed back, since nobody knows whether it has begun.
async fn patiently(
    ledger: &dyn Ledger,
    agents: &Agents,
    run: RunId,
    orders: &Orders,
    pulse: &watch::Sender<Pulse>,
    asked: bool,
) -> Result<ControlFlow<Begun, Begin>, LedgerError> {
    let until = Instant::now() + agents.lease;
    let mut unanswered = false;
    loop {
        let asked_at = agent::uptime();
        let begin = if asked {
            ledger.begin_asked(run)
        } else {
            ledger.begin(run)
        };
        match begin.await {
            Err(error) if error.transient && Instant::now() + BEGIN_PAUSE <= until => {
                warn(run, &error, "begin the turn");
                unanswered = true;
                if orders.hand_back.is_cancelled() {
                    break;
                }
            }
            // Either it is another's by now, or a try that was never answered has begun it. Then nobody has
            // prompted anything, and nobody would: this worker's heartbeats are for what it knows of.
            Ok(Begin::Lost) if unanswered => break,
            Ok(begun @ Begin::Started(_)) => {
                // It has renewed the heartbeat. The lease counts from before the question.
                pulse.send_modify(|pulse| pulse.lease_until = asked_at + agents.lease);
                return Ok(ControlFlow::Continue(begun));
            }
            begun => return begun.map(ControlFlow::Continue),
        }
        sleep(BEGIN_PAUSE).await;
    }
    let message = "the server lost touch with the database as it began";
    let kind = FailureKind::HandedBack;
    let given_back = give_back(ledger, agents, run, kind, message).await?;
    Ok(ControlFlow::Break(given_back))
}
