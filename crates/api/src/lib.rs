//! The HTTP API: routes, sign-in, traces, OpenAPI.
