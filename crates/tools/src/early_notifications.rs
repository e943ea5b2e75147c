//! A transport that passes no notification before the agent has chosen its form of the protocol.

use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ClientRequest, ServerJsonRpcMessage},
    transport::Transport,
};

/// A transport without the notifications that come before the agent has begun to use the tools.
///
/// goose 1.52.0 asks `server/discover`, and in a loaded session it says that its roots have changed before it lists the
/// tools. The SDK refuses each notification that early and closes the connection, so that the agent had no tools.
pub(crate) struct WithoutEarlyNotifications<T> {
    transport: T,
    /// `true` once a request has come that is neither a `server/discover` nor a `ping`.
    has_requested: bool,
}

impl<T> WithoutEarlyNotifications<T> {
    pub(crate) const fn new(transport: T) -> Self {
        Self {
            transport,
            has_requested: false,
        }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for WithoutEarlyNotifications<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let message = self.transport.receive().await?;
            match &message {
                ClientJsonRpcMessage::Notification(_) if !self.has_requested => {
                    tracing::debug!("an agent sent a notification before it began with its tools");
                    continue;
                }
                ClientJsonRpcMessage::Request(request) => {
                    self.has_requested |= !matches!(
                        request.request,
                        ClientRequest::DiscoverRequest(_) | ClientRequest::PingRequest(_)
                    );
                }
                _ => {}
            }
            return Some(message);
        }
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.transport.close()
    }
}
