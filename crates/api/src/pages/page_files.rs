//! The page: `index.html` for each of its addresses, and the files that it loads. `scripts/build-page` makes them.
//!
//! **Invariant:** the content security policy of the page permits no inline script and no inline style, apart from
//! style elements with the nonce of the same response. So markup that an agent has written cannot run or load anything,
//! even if the page failed to escape it.

use std::{
    collections::HashMap,
    io::Write as _,
    sync::{LazyLock, OnceLock},
};

use axum::{
    Router,
    extract::{Path, State},
    response::{IntoResponse, Response},
    routing::get,
};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, header};
use rust_embed::RustEmbed;

use crate::{Api, problem::ApiError};

/// The files of `page/dist`, the same in every profile: debug builds embed them, too.
#[derive(RustEmbed)]
#[folder = "../../page/dist"]
struct PageFiles;

/// The first segments of the addresses of the page, as `page/src/views/registry.tsx` has them. The page itself routes the
/// rest.
const VIEWS: [&str; 6] = [
    "approvals",
    "conversations",
    "automations",
    "runs",
    "goals",
    "settings",
];

/// The places in `index.html` that each response fills.
const NONCE_PLACEHOLDER: &str = "MATINS_NONCE";
const VERSION_PLACEHOLDER: &str = "MATINS_VERSION";

/// Files below this size are sent as they are, because compression saves nothing.
const MIN_COMPRESSED_BYTES: usize = 1024;

/// Returns the routes of the page.
pub(super) fn routes() -> Router<Api> {
    let mut routes = Router::new()
        .route("/", get(show_page))
        .route("/licences.md", get(show_licences))
        .route("/assets/{file}", get(show_asset));
    for view in VIEWS {
        routes = routes
            .route(&format!("/{view}"), get(show_page))
            .route(&format!("/{view}/{{*rest}}"), get(show_page));
    }
    routes
}

/// `index.html` and its version. The names of the scripts in it contain hashes of their contents, so that every change
/// of the page changes the version.
struct Index {
    text: String,
    version: String,
}

fn index() -> Option<&'static Index> {
    static INDEX: LazyLock<Option<Index>> = LazyLock::new(|| {
        let file = PageFiles::get("index.html")?;
        let text = String::from_utf8(file.data.into_owned()).ok()?;
        let hash = file.metadata.sha256_hash();
        let version = hash.iter().take(8).map(|byte| format!("{byte:02x}"));
        Some(Index {
            version: version.collect(),
            text,
        })
    });
    INDEX.as_ref()
}

/// Serves `index.html` with a nonce of its own. No cache may keep it, because a nonce holds for one response.
pub(super) async fn show_page(State(api): State<Api>) -> Result<Response, ApiError> {
    let index = index().ok_or_else(|| ApiError::internal("the page is missing in the program"))?;
    let mut random = [0; 16];
    api.shared.entropy.fill(&mut random);
    let nonce = format!("{:032x}", u128::from_be_bytes(random));
    let text = index
        .text
        .replace(NONCE_PLACEHOLDER, &nonce)
        .replace(VERSION_PLACEHOLDER, &index.version);
    let policy = format!(
        "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self' 'nonce-{nonce}'; \
         img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    );
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8".to_owned()),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (header::ETAG, format!("\"{}\"", index.version)),
    ];
    Ok((headers, text).into_response())
}

/// Serves the licences of the packages that the page contains. Each of them demands that its text goes along with copies.
async fn show_licences() -> Result<Response, ApiError> {
    let file = PageFiles::get("licences.md")
        .ok_or_else(|| ApiError::internal("the licences are missing in the program"))?;
    let headers = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
    Ok((headers, file.data.into_owned()).into_response())
}

/// Serves a script or a style sheet. Its name contains the hash of its contents, so that caches may keep it forever.
async fn show_asset(Path(file): Path<String>, headers: HeaderMap) -> Result<Response, ApiError> {
    let asset = asset(&file)
        .ok_or_else(|| ApiError::not_found("file", &file).hint("load the page again"))?;
    let mut response = match &asset.gzip {
        Some(gzip) if accepts_gzip(&headers) => {
            let mut response = gzip.clone().into_response();
            let encoding = HeaderValue::from_static("gzip");
            response
                .headers_mut()
                .insert(header::CONTENT_ENCODING, encoding);
            response
        }
        _ => asset.plain.clone().into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, asset.kind),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
        (header::VARY, "Accept-Encoding"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

struct Asset {
    kind: &'static str,
    plain: Bytes,
    /// `None` if compression does not make the file smaller.
    gzip: Option<Bytes>,
}

/// Returns a file of the folder `assets`, compressed once per process.
fn asset(name: &str) -> Option<&'static Asset> {
    static ASSETS: LazyLock<HashMap<String, OnceLock<Option<Asset>>>> = LazyLock::new(|| {
        PageFiles::iter()
            .filter_map(|path| Some((path.strip_prefix("assets/")?.to_owned(), OnceLock::new())))
            .collect()
    });
    let cell = ASSETS.get(name)?;
    cell.get_or_init(|| load_asset(name)).as_ref()
}

fn load_asset(name: &str) -> Option<Asset> {
    let file = PageFiles::get(&format!("assets/{name}"))?;
    let plain = Bytes::from(file.data.into_owned());
    let kind = match name.rsplit_once('.')?.1 {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let gzip = (plain.len() >= MIN_COMPRESSED_BYTES)
        .then(|| compress(&plain))
        .flatten()
        .filter(|gzip| gzip.len() < plain.len());
    Some(Asset { kind, plain, gzip })
}

fn compress(plain: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(plain).ok()?;
    Some(encoder.finish().ok()?.into())
}

/// `true` if the client accepts gzip (RFC 9110, section 12.5.3). A client that forbids it writes `gzip;q=0`, and `*`
/// stands for the codings that it does not name.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let is_accepted = |coding: &str| {
        let values = headers.get_all(header::ACCEPT_ENCODING).iter();
        let mut codings = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        codings.find_map(|listed| {
            let mut parts = listed.split(';').map(str::trim);
            let is_named = parts.next()?.eq_ignore_ascii_case(coding);
            let is_refused = parts
                .filter_map(|part| part.strip_prefix("q="))
                .any(|weight| weight.parse::<f32>().is_ok_and(|weight| weight <= 0.0));
            is_named.then_some(!is_refused)
        })
    };
    is_accepted("gzip").or_else(|| is_accepted("*")) == Some(true)
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use super::*;

    #[test]
    fn each_view_of_page_is_served() {
        let registry =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../page/src/views/registry.tsx");
        let registry = fs::read_to_string(registry).unwrap();
        let patterns = registry.split("pattern: \"/").skip(1);
        let segments = patterns.filter_map(|text| text.split(['"', '/']).next());
        let segments: BTreeSet<_> = segments.filter(|segment| !segment.is_empty()).collect();
        assert_eq!(segments, BTreeSet::from(VIEWS));
    }

    #[test]
    fn gzip_is_accepted_unless_its_weight_is_zero() {
        for (value, expected) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, GZIP;q=0.5", true),
            ("*", true),
            ("br", false),
            ("gzip;q=0", false),
            ("gzip; q=0.000", false),
            ("*, gzip;q=0", false),
            ("*;q=0, gzip", true),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
            assert_eq!(accepts_gzip(&headers), expected, "{value}");
        }
        assert!(!accepts_gzip(&HeaderMap::new()));
    }

    #[test]
    fn index_has_both_placeholders_and_only_local_files() {
        let index = index().unwrap();
        assert!(index.text.contains(NONCE_PLACEHOLDER));
        assert!(index.text.contains(VERSION_PLACEHOLDER));
        for foreign in ["=\"http:", "=\"https:", "<style", "javascript:"] {
            assert!(!index.text.contains(foreign), "{foreign}");
        }
    }
}
