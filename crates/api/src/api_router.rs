//! The routes of operations, and the functions that describe them for the document.
//!
//! Each process that answers requests needs the routes, also a command that has no server. Only a process that shows the
//! document needs the descriptions, which take longer to make than most commands take.

use axum::{Router, routing::MethodRouter};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use crate::Api;

/// Operations of one resource.
pub(crate) struct Operations {
    /// The path and the method of each operation.
    pub(crate) routes: Vec<(String, MethodRouter<Api>)>,
    /// Describes the operations.
    pub(crate) describe: fn() -> UtoipaMethodRouter<Api>,
}

/// Returns the [`Operations`] of handlers with an attribute `utoipa::path`.
macro_rules! routes {
    ($($($handler:ident)::+),+ $(,)?) => {{
        use utoipa_axum::PathItemExt as _;

        let routes = vec![$({
            let methods = utoipa_axum::routes!(@path [methods()] of $($handler)::+);
            let router = methods
                .iter()
                .fold(axum::routing::MethodRouter::new(), |router, method| {
                    router.on(method.to_method_filter(), $($handler)::+)
                });
            (utoipa_axum::routes!(@path [path()] of $($handler)::+), router)
        }),+];
        $crate::api_router::Operations {
            routes,
            describe: || utoipa_axum::routes!($($($handler)::+),+),
        }
    }};
}

pub(crate) use routes;

/// The routes of many operations, with the functions that describe them.
#[derive(Default)]
pub(crate) struct ApiRouter {
    routes: Vec<(String, MethodRouter<Api>)>,
    descriptions: Vec<fn() -> UtoipaMethodRouter<Api>>,
}

impl ApiRouter {
    /// Returns a router without operations.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds operations.
    pub(crate) fn routes(mut self, operations: Operations) -> Self {
        self.routes.extend(operations.routes);
        self.descriptions.push(operations.describe);
        self
    }

    /// Adds the operations of another router.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        self.routes.extend(other.routes);
        self.descriptions.extend(other.descriptions);
        self
    }

    /// Returns the routes. Adds each path to one router, because merging routers adds all of their paths again.
    pub(crate) fn into_router(self) -> Router<Api> {
        self.routes
            .into_iter()
            .fold(Router::new(), |router, (path, methods)| {
                router.route(&path, methods)
            })
    }

    /// Adds the descriptions of the operations to a document, with paths below `prefix`.
    pub(crate) fn describe(
        &self,
        prefix: &str,
        document: utoipa::openapi::OpenApi,
    ) -> utoipa::openapi::OpenApi {
        let described = self
            .descriptions
            .iter()
            .fold(OpenApiRouter::new(), |router, describe| {
                router.routes(describe())
            });
        OpenApiRouter::with_openapi(document)
            .nest(prefix, described)
            .into_openapi()
    }
}
