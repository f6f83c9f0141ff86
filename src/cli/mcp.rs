//! `devtools-test mcp`: the log, the runtime and the signals of the server.

use crate::exit::Exit;
use crate::mcp::{McpOptions, serve};
use crate::secret::Scrub;
use crate::settings::{Given, Surroundings, load};

use super::log;
use super::output::error;
use super::signals::Signals;

/// Threads of the runtime: one for the protocol, one for what a page says meanwhile.
const WORKERS: usize = 2;

/// Serves until the client is gone. What is wrong with the settings is said now, and not with the first call.
pub(super) fn mcp(given: Given, qr_in_results: bool) -> Exit {
    let started = Surroundings::of_process()
        .map_err(|error| error.to_string())
        .and_then(|around| load(given.clone(), &around).map_err(|error| error.to_string()));
    let settings = match started {
        Ok(settings) => settings,
        Err(why) => {
            error(&why);
            return Exit::Usage;
        }
    };
    let scrub = Scrub::default();
    let served = log::start(&settings.log, scrub.clone()).map_err(|error| error.to_string()).and_then(|()| {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(WORKERS).enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let served = runtime.block_on(async {
            let mut signals = Signals::listen()?;
            let asked_to_end = async {
                signals.next().await;
            };
            serve(McpOptions { given, qr_in_results, scrub }, asked_to_end).await
        });
        // Whatever still runs has had its time; a read of stdin cannot be ended in any other way.
        runtime.shutdown_background();
        served.map_err(|error| error.to_string())
    });
    match served {
        Ok(()) => Exit::Passed,
        Err(why) => {
            error(&format!("the MCP server cannot start: {why}"));
            Exit::Environment
        }
    }
}
