//! Endpoints of notifications, and the deliveries to them.

use std::time::Duration;

use api_types::{DeliveryView, EndpointCreated, EndpointRequest, Page, SecretRotated};
use model::{
    DeliveryId, EndpointId, Timestamp,
    nearest::nearest,
    notification::{Delivery, DeliveryStatus, Endpoint, NotificationKind},
};
use serde_json::{Value, json};
use store::{NewEndpoint, RecordedResponse};
use webhook::Target;

use crate::{Error, Service, boxed, naming, notification_text, object_lookup::Reference};

impl Service {
    /// Creates an endpoint, which receives the events from now on. With a reserved `id`, returns the endpoint that an
    /// earlier request has created, without its secret.
    #[boxed]
    pub async fn create_endpoint(
        &self,
        request: &EndpointRequest,
        id: Option<EndpointId>,
    ) -> Result<EndpointCreated, Error> {
        if let Some(id) = id {
            match self.store.endpoint(self.scope(), id).await {
                Err(store::Error::NotFound { .. }) => {}
                existing => {
                    return Ok(EndpointCreated {
                        endpoint: existing?.into(),
                        secret: None,
                    });
                }
            }
        }
        let new = self.validate_endpoint(request, None).await?;
        let now = self.now();
        let id = id.unwrap_or_else(|| EndpointId::generate(now, &*self.entropy));
        let secret = match self.store.create_endpoint(self.tenant, id, &new, now).await {
            Ok(secret) => Some(secret.reveal()),
            Err(store::Error::AlreadyCreated { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        Ok(EndpointCreated {
            endpoint: self.store.endpoint(self.scope(), id).await?.into(),
            secret,
        })
    }

    /// Lists endpoints by name.
    #[boxed]
    pub async fn endpoints(&self) -> Result<Vec<Endpoint>, Error> {
        Ok(self.store.endpoints(self.scope()).await?)
    }

    /// Returns the endpoint with this ID or name.
    #[boxed]
    pub async fn endpoint(&self, given: &str) -> Result<Endpoint, Error> {
        let mut all = self.endpoints().await?;
        let reference = Reference::parse(given, EndpointId::PREFIX);
        if let Some(index) = reference.position(&all, |endpoint| (endpoint.id, &endpoint.name)) {
            return Ok(all.swap_remove(index));
        }
        let names = all.iter().map(|endpoint| endpoint.name.as_str());
        Err(Error::NotFound {
            what: "endpoint",
            given: given.to_owned(),
            nearest: nearest(given, names).map(str::to_owned),
        })
    }

    /// Changes an endpoint. Pending deliveries go to its new address.
    ///
    /// # Errors
    ///
    /// Returns an error if the request is invalid, or if the endpoint has changed since it was read as `seen`.
    #[boxed]
    pub async fn edit_endpoint(
        &self,
        seen: &Endpoint,
        request: &EndpointRequest,
    ) -> Result<Endpoint, Error> {
        let to = self.validate_endpoint(request, Some(seen)).await?;
        self.store
            .edit_endpoint(self.scope(), seen.id, seen.updated_at, &to, self.now())
            .await?;
        Ok(self.store.endpoint(self.scope(), seen.id).await?)
    }

    /// Deletes an endpoint and all its deliveries.
    #[boxed]
    pub async fn delete_endpoint(&self, given: &str) -> Result<Endpoint, Error> {
        let found = self.endpoint(given).await?;
        self.store.delete_endpoint(self.scope(), found.id).await?;
        Ok(found)
    }

    /// Replaces the secret of an endpoint and returns the new one. The old secret also signs for `overlap`. If an
    /// earlier request with the same idempotency `key` has replaced the secret, changes nothing and returns no
    /// secret, because a secret is shown only once.
    #[boxed]
    pub async fn rotate_endpoint_secret(
        &self,
        given: &str,
        overlap: Duration,
        key: Option<&str>,
    ) -> Result<SecretRotated, Error> {
        let endpoint = self.endpoint(given).await?;
        let now = self.now();
        let until = now + overlap;
        let response = replayed_rotation(until);
        let recorded = key.map(|key| recorded_response(key, &response));
        let rotated =
            self.store
                .rotate_endpoint_secret(self.scope(), endpoint.id, until, recorded, now);
        match rotated.await {
            Ok(secret) => Ok(SecretRotated {
                secret: Some(secret.reveal()),
                previous_until: until,
            }),
            Err(store::Error::AlreadyCreated { .. }) => {
                let endpoint = self.store.endpoint(self.scope(), endpoint.id).await?;
                Ok(SecretRotated {
                    secret: None,
                    previous_until: endpoint.previous_secret_until.unwrap_or(until),
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Disables an endpoint. Its pending deliveries fail.
    #[boxed]
    pub async fn disable_endpoint(&self, given: &str) -> Result<Endpoint, Error> {
        let id = self.endpoint(given).await?.id;
        let reason = "disabled by a person";
        self.store
            .disable_endpoint(self.scope(), id, reason, self.now())
            .await?;
        Ok(self.store.endpoint(self.scope(), id).await?)
    }

    /// Enables an endpoint, which receives the events from now on. Events that occurred while it was disabled are not
    /// sent.
    #[boxed]
    pub async fn enable_endpoint(&self, given: &str) -> Result<Endpoint, Error> {
        let id = self.endpoint(given).await?.id;
        self.store
            .enable_endpoint(self.tenant, id, self.now())
            .await?;
        Ok(self.store.endpoint(self.scope(), id).await?)
    }

    /// Lists the deliveries of an endpoint, the newest first.
    #[boxed]
    pub async fn deliveries(
        &self,
        given: &str,
        after: Option<DeliveryId>,
        limit: u32,
    ) -> Result<Page<Delivery>, Error> {
        let id = self.endpoint(given).await?.id;
        let found = self
            .store
            .deliveries(self.scope(), id, after, limit + 1)
            .await?;
        Ok(Page::of(found, limit, |delivery| delivery.id.to_string()))
    }

    /// Returns a delivery with the log of its attempts.
    #[boxed]
    pub async fn delivery(&self, given: &str) -> Result<DeliveryView, Error> {
        let id = parse_delivery_id(given)?;
        let (delivery, log) = self.store.delivery(self.scope(), id).await?;
        Ok(DeliveryView::new(delivery, log))
    }

    /// Sends a test notification without any data of the tenant to an endpoint. With a reserved `id` for the
    /// delivery, returns the delivery that an earlier request has created.
    #[boxed]
    pub async fn test_endpoint(
        &self,
        given: &str,
        id: Option<DeliveryId>,
    ) -> Result<DeliveryView, Error> {
        if let Some(id) = id {
            match self.store.delivery(self.scope(), id).await {
                Err(store::Error::NotFound { .. }) => {}
                existing => {
                    let (delivery, log) = existing?;
                    return Ok(DeliveryView::new(delivery, log));
                }
            }
        }
        let endpoint = self.endpoint(given).await?;
        let now = self.now();
        let id = id.unwrap_or_else(|| DeliveryId::generate(now, &*self.entropy));
        let new = notification_text::test_delivery(id, &endpoint, now);
        let sent = self
            .store
            .test_endpoint(self.tenant, endpoint.id, id, &new, now);
        match sent.await {
            Ok(()) | Err(store::Error::AlreadyCreated { .. }) => {
                self.delivery(&id.to_string()).await
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Sends a delivery that is over once more, with the same ID.
    #[boxed]
    pub async fn redeliver(&self, given: &str) -> Result<DeliveryView, Error> {
        let id = parse_delivery_id(given)?;
        self.store.redeliver(self.scope(), id, self.now()).await?;
        self.delivery(given).await
    }

    /// Sends a delivery once more for a request with an idempotency key. A pending delivery is returned unchanged,
    /// because an earlier copy of the request may have queued it.
    #[boxed]
    pub async fn redeliver_idempotently(&self, given: &str) -> Result<DeliveryView, Error> {
        let view = self.delivery(given).await?;
        if view.delivery.state == DeliveryStatus::Pending {
            return Ok(view);
        }
        self.redeliver(given).await
    }

    /// Returns the validated endpoint of a request. `before` is the present endpoint in case of an edit, which may keep
    /// its name.
    ///
    /// # Errors
    ///
    /// Returns an error if a field is invalid, or if the address is not public and not in the allowance.
    async fn validate_endpoint(
        &self,
        request: &EndpointRequest,
        before: Option<&Endpoint>,
    ) -> Result<NewEndpoint, Error> {
        let before = before.map(|endpoint| endpoint.name.as_str());
        let name = naming::validate_new_name("name", &request.name, before)?;
        let target = Target::parse(&request.url, &self.allowance).map_err(|reason| Error::Url {
            redacted: webhook::redact_url(&request.url),
            reason,
        })?;
        let mut events = request.events.clone();
        events.sort_unstable();
        events.dedup();
        let not_subscribable = events.iter().find(|kind| !kind.is_subscribable());
        if events.is_empty() || not_subscribable.is_some() {
            let subscribable = NotificationKind::ALL
                .iter()
                .filter(|it| it.is_subscribable());
            let names: Vec<_> = subscribable.map(|kind| kind.as_str()).collect();
            return Err(Error::invalid(
                "events",
                not_subscribable.map_or("", |kind| kind.as_str()),
                format!("expected one or more of {}", names.join(", ")),
            ));
        }
        let automation = match &request.automation {
            Some(given) => Some(self.find_automation(given).await?.id),
            None => None,
        };
        let channel = match &request.channel {
            Some(given) => Some(naming::validate_name("channel", given)?),
            None => None,
        };
        Ok(NewEndpoint {
            name,
            url: target.to_string(),
            events,
            automation,
            channel,
        })
    }
}

/// Returns the stored response to a repeated request that has replaced a secret. It omits the secret, which is shown
/// only once.
pub(crate) fn replayed_rotation(previous_until: Timestamp) -> Value {
    json!(SecretRotated {
        secret: None,
        previous_until,
    })
}

/// Returns the response that is stored in the same transaction as the replaced secret.
pub(crate) const fn recorded_response<'a>(
    key: &'a str,
    response: &'a Value,
) -> RecordedResponse<'a> {
    const STATUS_OK: u16 = 200;
    RecordedResponse {
        key,
        status: STATUS_OK,
        response,
    }
}

fn parse_delivery_id(given: &str) -> Result<DeliveryId, Error> {
    given.parse().map_err(|_| Error::NotFound {
        what: "delivery",
        given: given.chars().take(80).collect(),
        nearest: None,
    })
}
