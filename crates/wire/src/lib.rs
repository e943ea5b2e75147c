//! Requests, responses and events of the HTTP API, with their schemas.
