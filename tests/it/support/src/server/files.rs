//! Files of `fixtures/`, with the policies that some pages come with.

use axum::extract::Query;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

/// A file of `fixtures/<folder>`; one path part only, so that nothing else can be reached.
pub(super) async fn file(folder: &str, name: String) -> Response {
    let path = crate::fixtures().join(folder).join(&name);
    if name.contains(['/', '\\']) || name.starts_with('.') {
        return StatusCode::NOT_FOUND.into_response();
    }
    let Ok(text) = fs_err::read(path) else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let mut response = ([(CONTENT_TYPE, content_type(&name)), (CACHE_CONTROL, "no-store")], text).into_response();
    if let Some(policy) = policy(&name) {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    }
    response
}

/// The document that is asked for.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Document {
    body: String,
    policy: String,
}

pub(super) async fn document(Query(document): Query<Document>) -> Response {
    let mut response = ([(CONTENT_TYPE, "text/html; charset=utf-8")], document.body).into_response();
    if !document.policy.is_empty() {
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_str(&document.policy).unwrap());
    }
    response
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn policy(name: &str) -> Option<&'static str> {
    match name {
        "csp.html" => Some("default-src 'self'; script-src 'self'; object-src 'none'"),
        "trusted-types.html" => Some("require-trusted-types-for 'script'; trusted-types app"),
        _ => None,
    }
}
