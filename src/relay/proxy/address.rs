//! The one server that is asked, and the page of it that comes first.

use url::{Host, Position, Url};

use super::super::route;

/// Why an address cannot be that of the app.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the app's address cannot be used: {why}. Give what opens the app on this machine, such as http://localhost:5173"
)]
pub struct AppAddressError {
    why: &'static str,
}

/// Where the app is: a dev server and the page of it that comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppAddress {
    url: Url,
}

impl AppAddress {
    /// An `http:` or `https:` address of any host; other machines in the network may serve the app as well.
    ///
    /// # Errors
    /// When it is no such address, or its page is hidden behind a route of the relay.
    pub fn new(text: &str) -> Result<Self, AppAddressError> {
        let wrong = |why| AppAddressError { why };
        let url = Url::parse(text.trim()).map_err(|_| wrong("it is no URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("it must begin with http:// or https://"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("it must not carry a user name or password"));
        }
        if route::is_reserved(url.path()) {
            return Err(wrong("its path is one that the relay itself answers"));
        }
        Ok(Self { url })
    }

    /// Over TLS.
    pub(super) fn is_tls(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Host name without port; an IPv6 address without brackets.
    pub(super) fn host(&self) -> String {
        match self.url.host() {
            Some(Host::Domain(name)) => name.to_owned(),
            Some(Host::Ipv4(ip)) => ip.to_string(),
            Some(Host::Ipv6(ip)) => ip.to_string(),
            None => String::new(),
        }
    }

    /// The port, also where it is the usual one.
    pub(super) fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or_default()
    }

    /// Host name with the port where it is not the usual one, as in a `Host` header.
    pub(super) fn authority(&self) -> &str {
        &self.url[Position::BeforeHost..Position::AfterPort]
    }

    /// `http://localhost:5173`, as in an `Origin` header.
    pub(super) fn origin(&self) -> &str {
        self.url[..Position::AfterPort].trim_end_matches('/')
    }

    /// Path, query and fragment of the page that comes first; never the address of another host.
    pub(in crate::relay) fn landing(&self) -> String {
        let page = &self.url[Position::BeforePath..];
        // Two slashes in front would name a host.
        if page.starts_with("//") { format!("/.{page}") } else { page.to_owned() }
    }

    /// The same page without its host, when `location`, found on the page `path`, leads to this server by whichever
    /// name of this machine; `None` when it leads elsewhere or names no host.
    pub(super) fn own_path(&self, location: &str, path: &str) -> Option<String> {
        let base = self.url.join(path).ok()?;
        // What stays a path keeps its bytes.
        let names_host = Url::parse(location).is_ok() || location.trim_start().replace('\\', "/").starts_with("//");
        let url = base.join(location).ok().filter(|_| names_host)?;
        let same = url.scheme() == self.url.scheme()
            && url.port_or_known_default() == self.url.port_or_known_default()
            && (url.host() == self.url.host() || (is_this_machine(&url) && is_this_machine(&self.url)));
        let page = same.then(|| &url[Position::BeforePath..])?;
        Some(if page.starts_with("//") { format!("/.{page}") } else { page.to_owned() })
    }

    /// It is on this machine.
    pub(super) fn is_local(&self) -> bool {
        is_this_machine(&self.url)
    }
}

/// An address leads to whoever opens it.
pub fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        // What listens everywhere calls itself so in its redirects.
        Some(Host::Ipv4(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Some(Host::Ipv6(ip)) => ip.is_loopback() || ip.is_unspecified(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn app(text: &str) -> AppAddress {
        AppAddress::new(text).unwrap()
    }

    #[test]
    fn an_address_falls_into_its_parts() {
        let parts = |text: &str| {
            let app = app(text);
            (app.authority().to_owned(), app.origin().to_owned(), app.host(), app.port(), app.landing())
        };
        let expect = |authority: &str, origin: &str, host: &str, port, landing: &str| {
            (authority.to_owned(), origin.to_owned(), host.to_owned(), port, landing.to_owned())
        };
        let vite = expect("localhost:5173", "http://localhost:5173", "localhost", 5173, "/");
        assert_eq!(parts("http://localhost:5173"), vite);
        let six = expect("[::1]:8080", "http://[::1]:8080", "::1", 8080, "/a%20b/?q=/x#at=1");
        assert_eq!(parts("http://[::1]:8080/a%20b/?q=/x#at=1"), six);
        assert_eq!(parts("https://dev.lan").0, "dev.lan");
        assert_eq!(parts("https://dev.lan").3, 443);
        assert_eq!(parts("http://127.0.0.1//evil.test/x").4, "/.//evil.test/x");
    }

    #[test]
    fn what_cannot_be_opened_is_refused() {
        for wrong in ["", "localhost:5173", "5173", "file:///x", "http://u:p@h/", "http://", "http://h/attach?x=1"] {
            assert!(AppAddress::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_locations_on_the_same_server_lose_their_host() {
        let app = app("http://127.0.0.1:5173/x/");
        let own = |location: &str| app.own_path(location, "/x/y?z");
        for (location, path) in [
            ("http://127.0.0.1:5173/a?b#c", "/a?b#c"),
            ("http://LOCALHOST:5173", "/"),
            ("http://[::1]:5173/a", "/a"),
            ("http://0.0.0.0:5173/a", "/a"),
            ("//localhost:5173/a", "/a"),
            ("http://localhost:5173//evil.test", "/.//evil.test"),
        ] {
            assert_eq!(own(location).as_deref(), Some(path), "{location}");
        }
        for location in
            ["/a", "a", "?b", "#c", "", "https://127.0.0.1:5173/a", "http://127.0.0.1/a", "//evil.test/", "mailto:a@b"]
        {
            assert_eq!(own(location), None, "{location}");
        }
    }
}
