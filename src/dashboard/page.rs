//! The page itself, and what its answers say about what it may do.

use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;

use crate::assets;
use crate::secret::Hidden;

const PAGE: &str = include_str!("page.html");

/// The page, with scripts and styles that only it may run.
pub(super) fn page(nonce: &Hidden) -> Response {
    let nonce = nonce.expose();
    let text = PAGE.replace("{nonce}", nonce).replace("{script}", assets::DASHBOARD);
    let mut response = nothing(StatusCode::OK);
    *response.body_mut() = Body::from(text);
    set(&mut response, header::CONTENT_TYPE, "text/html; charset=utf-8");
    // It loads nothing but its own stream, and no text can become markup or a script.
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; img-src data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
         trusted-types lit-html"
    );
    set(&mut response, header::CONTENT_SECURITY_POLICY, &policy);
    response
}

/// An answer for the page's own script, or that there is none.
pub(super) fn json(text: Option<String>) -> Response {
    let Some(text) = text else { return nothing(StatusCode::NOT_FOUND) };
    let mut response = nothing(StatusCode::OK);
    *response.body_mut() = Body::from(text);
    set(&mut response, header::CONTENT_TYPE, "application/json");
    response
}

/// An answer without a word.
pub(super) fn nothing(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    guard(&mut response);
    response
}

/// Nobody keeps, frames, embeds or guesses what was answered, and its address is handed on to nobody.
pub(super) fn guard(response: &mut Response) {
    let fixed = [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    for (name, value) in fixed {
        set(response, name, value);
    }
}

fn set(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_script_ends_its_element() {
        let script = assets::DASHBOARD.to_lowercase();
        assert!(!script.contains("</script") && !script.contains("<!--"));
        assert!(!script.contains("{nonce}"));
    }
}
