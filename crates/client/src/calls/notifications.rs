//! Operations on endpoints, deliveries, and the secrets of webhooks.

use api_types::{
    Delivery, DeliveryView, Endpoint, EndpointCreated, EndpointRequest, Page, RotationRequest,
    SecretRotated, WebhookSecret,
};
use http::Method;

use super::{PageParams, Tagged};
use crate::{Client, Error, boxed};

impl Client {
    /// Lists endpoints by name.
    #[boxed]
    pub async fn endpoints(&self) -> Result<Page<Endpoint>, Error> {
        self.get(&["endpoints"]).fetch().await
    }

    /// Creates an endpoint. The response has the secret, unless it repeats an earlier one that was lost on its way.
    #[boxed]
    pub async fn create_endpoint(
        &self,
        request: &EndpointRequest,
    ) -> Result<EndpointCreated, Error> {
        self.post(&["endpoints"])
            .json(request)
            .idempotent()
            .fetch()
            .await
    }

    /// Returns an endpoint, by its name or its ID.
    #[boxed]
    pub async fn endpoint(&self, endpoint: &str) -> Result<Tagged<Endpoint>, Error> {
        self.get(&["endpoints", endpoint]).fetch_tagged().await
    }

    /// Replaces the editable fields of an endpoint. With an entity tag, the server refuses if the endpoint has
    /// changed since.
    #[boxed]
    pub async fn replace_endpoint(
        &self,
        endpoint: &str,
        request: &EndpointRequest,
        seen: Option<&str>,
    ) -> Result<Endpoint, Error> {
        let call = self.call(Method::PUT, &["endpoints", endpoint]);
        call.json(request).if_match(seen).fetch().await
    }

    /// Deletes an endpoint and its deliveries.
    #[boxed]
    pub async fn delete_endpoint(&self, endpoint: &str) -> Result<Endpoint, Error> {
        self.delete(&["endpoints", endpoint]).fetch().await
    }

    /// Enables an endpoint, so that it receives notifications again.
    #[boxed]
    pub async fn enable_endpoint(&self, endpoint: &str) -> Result<Endpoint, Error> {
        self.post(&["endpoints", endpoint, "enable"]).fetch().await
    }

    /// Disables an endpoint until it is enabled again.
    #[boxed]
    pub async fn disable_endpoint(&self, endpoint: &str) -> Result<Endpoint, Error> {
        self.post(&["endpoints", endpoint, "disable"]).fetch().await
    }

    /// Sends a test notification to an endpoint.
    #[boxed]
    pub async fn test_endpoint(&self, endpoint: &str) -> Result<DeliveryView, Error> {
        let call = self.post(&["endpoints", endpoint, "test"]);
        call.idempotent().fetch().await
    }

    /// Replaces the secret of an endpoint. The previous secret stays valid for a while. The response has the new
    /// secret, unless it repeats an earlier one that was lost on its way.
    #[boxed]
    pub async fn rotate_endpoint_secret(
        &self,
        endpoint: &str,
        rotation: RotationRequest,
    ) -> Result<SecretRotated, Error> {
        let call = self.post(&["endpoints", endpoint, "rotate-secret"]);
        call.json(&rotation).idempotent().fetch().await
    }

    /// Lists the deliveries to an endpoint, the newest first.
    #[boxed]
    pub async fn deliveries(
        &self,
        endpoint: &str,
        part: &PageParams,
    ) -> Result<Page<Delivery>, Error> {
        self.get(&["endpoints", endpoint, "deliveries"])
            .page(part)
            .fetch()
            .await
    }

    /// Returns a delivery and the log of its attempts, by its ID.
    #[boxed]
    pub async fn delivery(&self, delivery: &str) -> Result<DeliveryView, Error> {
        self.get(&["deliveries", delivery]).fetch().await
    }

    /// Sends a delivery that has ended once more.
    #[boxed]
    pub async fn redeliver(&self, delivery: &str) -> Result<DeliveryView, Error> {
        let call = self.post(&["deliveries", delivery, "redeliver"]);
        call.idempotent().fetch().await
    }

    /// Returns the secret of a webhook trigger, and the path that takes signed requests.
    #[boxed]
    pub async fn webhook_secret(
        &self,
        automation: &str,
        trigger: &str,
    ) -> Result<WebhookSecret, Error> {
        self.get(&["automations", automation, "triggers", trigger, "secret"])
            .fetch()
            .await
    }

    /// Replaces the secret of a webhook trigger. The previous secret stays valid for a while. The response has the
    /// new secret, unless it repeats an earlier one that was lost on its way.
    #[boxed]
    pub async fn rotate_webhook_secret(
        &self,
        automation: &str,
        trigger: &str,
        rotation: RotationRequest,
    ) -> Result<SecretRotated, Error> {
        let path = [
            "automations",
            automation,
            "triggers",
            trigger,
            "rotate-secret",
        ];
        self.post(&path).json(&rotation).idempotent().fetch().await
    }
}
