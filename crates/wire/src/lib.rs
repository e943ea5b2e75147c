//! What people and programs ask of Matins and get from it: the types of the HTTP API, with their schemas.
//!
//! The rules behind them are in `service`, the routes in `api`, and who asks is in `client`; all three speak
//! in these words, and so does the command line. **Invariant:** types only. A field that is unknown is
//! refused in what is asked, and let pass in what is answered: a newer server may say more.

mod access;
mod approvals;
mod automations;
mod budgets;
mod harnesses;
mod milliseconds;
mod notifications;
mod page;
mod problem;
mod runs;
mod server;
mod session_target;
mod sessions;

pub use access::*;
pub use approvals::*;
pub use automations::*;
pub use budgets::*;
pub use harnesses::*;
pub use model::{
    access::{Permission, Role, Token, TokenKind},
    approval::{Approval, ApprovalState, Question, Unruled},
    budget::{Budget, Money, PeriodLimits, RunLimits},
    entity::{
        Automation, Channel, Event, Message, Run, RunFlags, RunRecord, Seat, SeatSettings, Session,
        Tenant, Trigger,
    },
    harness::{Harness, HarnessConfig, Offers},
    notification::{Delivery, DeliveryAttempt, DeliveryState, Endpoint, NotificationKind},
};
pub use notifications::*;
pub use page::*;
pub use problem::*;
pub use runs::*;
pub use server::*;
pub use session_target::{InvalidTarget, SessionTarget};
pub use sessions::*;
