//! The server's life: from the first byte of stdin to the last process that it started.

use std::future::Future;
use std::time::Duration;

use rmcp::service::ServiceExt;
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::io::stdio_pipes;
use tokio::task::spawn_blocking;
use tokio::time::interval;

use super::hub::{Hub, McpOptions};
use super::server::Server;
use crate::process::sweep;

/// How often it is looked whether the program that started us is still there. Stdin says so at once, unless another
/// process holds its other end.
const LOOK_FOR_PARENT: Duration = Duration::from_secs(1);

/// Serves one client over stdin and stdout, until stdin ends, whoever started us is gone, or `asked_to_end` is done.
/// When this returns, nothing that it started is left.
///
/// # Errors
/// There is no folder for temporary files.
pub async fn serve(options: McpOptions, asked_to_end: impl Future<Output = ()>) -> std::io::Result<()> {
    // What killed servers have left is looked for beside the start, not before it.
    drop(spawn_blocking(|| sweep(&std::env::temp_dir())));
    let hub = Hub::new(options)?;
    let server = Server::new(hub.clone());
    let served = async {
        let (stdin, stdout) = stdio_pipes();
        let door = server.door(AsyncRwTransport::new_server(stdin, stdout));
        match server.serve(door).await {
            Ok(service) => match service.waiting().await {
                Ok(reason) => tracing::info!(?reason, "the client is gone"),
                Err(error) => tracing::error!(%error, "the server broke off"),
            },
            Err(error) => tracing::info!(%error, "no client said hello"),
        }
    };
    tokio::select! {
        () = served => {}
        () = asked_to_end => tracing::info!("asked to end"),
        () = orphaned() => tracing::info!("whoever started us is gone"),
    }
    hub.close().await;
    Ok(())
}

/// Done when the program that started us is gone.
#[cfg(unix)]
async fn orphaned() {
    let parent = std::os::unix::process::parent_id();
    let mut ticks = interval(LOOK_FOR_PARENT);
    while std::os::unix::process::parent_id() == parent {
        ticks.tick().await;
    }
}

/// Stdin ends with the program that started us.
#[cfg(not(unix))]
async fn orphaned() {
    std::future::pending().await
}
