//! Endpoints of notifications and what became of what they were sent; secrets of webhooks.

use http::Method;
use wire::{
    Delivery, DeliveryView, Endpoint, EndpointMade, EndpointRequest, Page, Rotation, SecretRotated,
    WebhookSecret,
};

use super::{Part, Tagged};
use crate::{Client, Error};

impl Client {
    /// Lists endpoints by name.
    pub async fn endpoints(&self) -> Result<Page<Endpoint>, Error> {
        self.get(&["endpoints"]).fetch().await
    }

    /// Makes an endpoint. Its secret is told this one time; not where an answer was lost on its way.
    pub async fn create_endpoint(&self, request: &EndpointRequest) -> Result<EndpointMade, Error> {
        self.post(&["endpoints"]).json(request).once().fetch().await
    }

    /// Shows an endpoint, by its name or its id.
    pub async fn endpoint(&self, endpoint: &str) -> Result<Tagged<Endpoint>, Error> {
        self.get(&["endpoints", endpoint]).fetch_tagged().await
    }

    /// Replaces what of an endpoint can be edited: with a tag, of the one that was seen alone.
    pub async fn replace_endpoint(
        &self,
        endpoint: &str,
        request: &EndpointRequest,
        seen: Option<&str>,
    ) -> Result<Endpoint, Error> {
        let call = self.call(Method::PUT, &["endpoints", endpoint]);
        call.json(request).seen(seen).fetch().await
    }

    /// Deletes an endpoint with its deliveries.
    pub async fn delete_endpoint(&self, endpoint: &str) -> Result<Endpoint, Error> {
        self.delete(&["endpoints", endpoint]).fetch().await
    }

    /// Lets an endpoint be sent notifications again.
    pub async fn enable_endpoint(&self, endpoint: &str) -> Result<Endpoint, Error> {
        self.post(&["endpoints", endpoint, "enable"]).fetch().await
    }

    /// Sends an endpoint nothing more until it is enabled.
    pub async fn disable_endpoint(&self, endpoint: &str) -> Result<Endpoint, Error> {
        self.post(&["endpoints", endpoint, "disable"]).fetch().await
    }

    /// Sends an endpoint a notification that tells nothing, to see whether it arrives.
    pub async fn test_endpoint(&self, endpoint: &str) -> Result<DeliveryView, Error> {
        let call = self.post(&["endpoints", endpoint, "test"]);
        call.once().fetch().await
    }

    /// Gives an endpoint another secret; the one before holds as well for a while. It is told this one time; not
    /// where an answer was lost on its way.
    pub async fn rotate_endpoint_secret(
        &self,
        endpoint: &str,
        rotation: Rotation,
    ) -> Result<SecretRotated, Error> {
        let call = self.post(&["endpoints", endpoint, "rotate-secret"]);
        call.json(&rotation).once().fetch().await
    }

    /// Lists what was sent to an endpoint, the newest first.
    pub async fn deliveries(&self, endpoint: &str, part: &Part) -> Result<Page<Delivery>, Error> {
        self.get(&["endpoints", endpoint, "deliveries"])
            .part(part)
            .fetch()
            .await
    }

    /// Shows a delivery, by its id, with the log of its attempts.
    pub async fn delivery(&self, delivery: &str) -> Result<DeliveryView, Error> {
        self.get(&["deliveries", delivery]).fetch().await
    }

    /// Tries a delivery that is over once more.
    pub async fn redeliver(&self, delivery: &str) -> Result<DeliveryView, Error> {
        let call = self.post(&["deliveries", delivery, "redeliver"]);
        call.once().fetch().await
    }

    /// Tells the secret of a webhook trigger, and where signed requests are sent.
    pub async fn webhook_secret(
        &self,
        automation: &str,
        trigger: &str,
    ) -> Result<WebhookSecret, Error> {
        self.get(&["automations", automation, "triggers", trigger, "secret"])
            .fetch()
            .await
    }

    /// Gives a webhook trigger another secret; the one before holds as well for a while. It is told this one
    /// time; not where an answer was lost on its way.
    pub async fn rotate_webhook_secret(
        &self,
        automation: &str,
        trigger: &str,
        rotation: Rotation,
    ) -> Result<SecretRotated, Error> {
        let path = [
            "automations",
            automation,
            "triggers",
            trigger,
            "rotate-secret",
        ];
        self.post(&path).json(&rotation).once().fetch().await
    }
}
