//! The page tests run in where none was asked for: an empty document on `http://127.0.0.1`, so that it is a secure
//! context with storage of its own.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::Html;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Serves the page until it is dropped.
#[derive(Debug)]
pub(super) struct OwnPage {
    url: String,
    // Aborts the server when dropped.
    _server: JoinSet<()>,
}

const DOCUMENT: &str = "<!doctype html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><title>devtools-test</title>\
    </head>\n<body></body>\n</html>\n";

impl OwnPage {
    pub(super) async fn serve() -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!("http://127.0.0.1:{}/", listener.local_addr()?.port());
        let page = || async { ([(header::CACHE_CONTROL, "no-store")], Html(DOCUMENT)) };
        let router =
            Router::new().route("/", get(page)).route("/favicon.ico", get(|| async { StatusCode::NO_CONTENT }));
        let mut server = JoinSet::new();
        server.spawn(async move {
            if let Err(error) = axum::serve(listener, router).await {
                tracing::warn!("the test page is not served any more: {error}");
            }
        });
        Ok(Self { url, _server: server })
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }
}
