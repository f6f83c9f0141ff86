//! A WebKit of ours, started when a link is to be opened, and again when it does not answer any more.

use std::path::PathBuf;

use super::WebkitError;
use super::display::Display;
use super::driver::Driver;
use super::find::{Programs, find};
use crate::process::{TempFolder, sweep};
use crate::secret::Hidden;

/// Which WebKit.
#[derive(Clone, Debug, Default)]
pub struct WebkitOptions {
    /// Path or name of the driver, if one was asked for.
    pub driver: Option<PathBuf>,
    /// Path or name of the browser, if one was asked for.
    pub browser: Option<PathBuf>,
    /// Value of `PATH`, to look for them.
    pub search_path: Option<String>,
    /// Whether there is a display to show a window on; without one we make our own.
    pub has_display: bool,
}

/// A WebKit of ours. Dropping it ends it.
#[derive(Debug)]
pub struct Webkit {
    options: WebkitOptions,
    // Ended in this order: the browser before the display it is shown on and the folder it writes to.
    driver: Option<Driver>,
    place: Option<Place>,
}

/// What every start of the browser needs, made once.
#[derive(Debug)]
struct Place {
    programs: Programs,
    display: Option<Display>,
    profile: TempFolder,
}

impl Webkit {
    /// Nothing is started yet.
    pub fn new(options: WebkitOptions) -> Self {
        Self { options, driver: None, place: None }
    }

    /// Opens a link in it; starts it where it does not run, and again where it does not answer. Whether the page loads is
    /// not waited for.
    ///
    /// # Errors
    /// It is not there, does not start, or does not answer even when it was just started.
    pub async fn open(&mut self, link: &Hidden) -> Result<(), WebkitError> {
        if let Some(driver) = &self.driver {
            match driver.navigate(link).await {
                Ok(()) => return Ok(()),
                Err(error) => tracing::info!("WebKit is started again: {error}"),
            }
            self.stop().await;
        }
        let place = match self.place.take() {
            Some(place) => self.place.insert(place),
            None => self.place.insert(Place::make(&self.options).await?),
        };
        let variables = place.display.iter().flat_map(Display::variables);
        let driver = Driver::start(&place.programs, &place.profile, variables).await?;
        self.driver.insert(driver).navigate(link).await
    }

    /// Ends the browser with its page; the next link starts another.
    pub async fn stop(&mut self) {
        if let Some(driver) = self.driver.take() {
            driver.end().await;
        }
    }

    /// Ends everything that was started.
    pub async fn close(&mut self) {
        self.stop().await;
        let Some(place) = self.place.take() else { return };
        if let Some(display) = place.display {
            display.end().await;
        }
        place.profile.remove();
    }
}

impl Place {
    async fn make(options: &WebkitOptions) -> Result<Self, WebkitError> {
        let programs = find(options)?;
        // Reads a folder and a few small files; what killed runs have left is seldom there.
        let swept = tokio::task::spawn_blocking(|| sweep(&std::env::temp_dir()));
        let profile =
            TempFolder::create("profile").map_err(|why| WebkitError::Prepare { what: "profile folder", why })?;
        let display = match &programs.xvfb {
            Some(xvfb) => Some(Display::start(xvfb, profile.path()).await?),
            None => None,
        };
        drop(swept.await);
        Ok(Self { programs, display, profile })
    }
}
