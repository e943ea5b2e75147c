//! Sessions: conversations with agents, one operation or group of operations in each module.

mod create;
mod delete;
mod edit;
mod export;
mod list;
mod messages;
mod replay;
mod seat_messages;
mod send_message;
mod show;
mod transitions;

use crate::api_router::{ApiRouter, routes};

pub(super) fn routes() -> ApiRouter {
    ApiRouter::new()
        .routes(routes!(list::list_sessions, create::create_session))
        .routes(routes!(
            show::show_session,
            edit::edit_session,
            delete::delete_session
        ))
        .routes(routes!(show::list_seats))
        .routes(routes!(show::show_seat))
        .routes(routes!(messages::list_messages, send_message::send_message))
        .routes(routes!(
            seat_messages::list_seat_messages,
            seat_messages::send_seat_message
        ))
        .routes(routes!(seat_messages::acknowledge_seat_message))
        .routes(routes!(replay::replay_session))
        .routes(routes!(export::export_session))
        .routes(routes!(transitions::cancel_session))
        .routes(routes!(transitions::enable_session))
        .routes(routes!(transitions::pause_session))
        .routes(routes!(transitions::resume_session))
        .routes(routes!(transitions::complete_session))
        .routes(routes!(transitions::archive_session))
}
