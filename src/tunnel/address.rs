//! The address by which pages reach the relay.

use std::net::SocketAddr;

use url::Url;

use crate::secret::Hidden;

/// Why an address cannot be that of the relay. Carries no host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the relay's address cannot be used: {why}. Give the address that leads to the relay, such as https://my.host")]
pub struct AddressError {
    /// What is wrong with it.
    why: &'static str,
}

/// The address by which pages reach the relay: scheme, host and port, nothing else.
#[derive(Clone, PartialEq, Eq)]
pub struct PublicAddress(Url);

impl PublicAddress {
    /// An address that leads to the relay, as a person or a program gave it.
    ///
    /// # Errors
    /// When it is no such address.
    pub fn new(text: &str) -> Result<Self, AddressError> {
        let wrong = |why| AddressError { why };
        let url = Url::parse(text.trim()).map_err(|_| wrong("it is no URL"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("it must begin with https:// or http://"));
        }
        if !matches!(url.path(), "" | "/") || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("it must be a host without path, query or fragment"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("it must not carry a user name or password"));
        }
        Ok(Self(url))
    }

    /// That of a listener of ours.
    pub fn of(listener: SocketAddr) -> Result<Self, AddressError> {
        Self::new(&format!("http://{listener}"))
    }

    /// `https:`.
    pub fn is_tls(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Host name, with the port where it is not the usual one.
    pub fn host(&self) -> String {
        let host = self.name();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Host name without the port; an IPv6 address in brackets.
    pub fn name(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The port, also where it is the usual one.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    /// What a page connects to, `wss://host`.
    pub fn socket(&self) -> Hidden {
        Hidden::new(format!("{}://{}", if self.is_tls() { "wss" } else { "ws" }, self.host()))
    }

    /// A page of the relay; `path` begins with a slash.
    pub fn page(&self, path: &str) -> Hidden {
        Hidden::new(format!("{}://{}{path}", self.0.scheme(), self.host()))
    }
}

/// The host may be a tunnel's, which is not to be read in a log.
impl std::fmt::Debug for PublicAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicAddress({}://***)", self.0.scheme())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_address_is_a_host_and_nothing_else() {
        for wrong in ["relay.test", "wss://relay.test", "https://relay.test/path", "https://a:b@relay.test", "https://"]
        {
            let error = PublicAddress::new(wrong).unwrap_err().to_string();
            assert!(!error.contains("relay.test"), "{error}");
        }
        let address = PublicAddress::new(" https://Relay.Test/ ").unwrap();
        assert_eq!((address.host().as_str(), address.port(), address.is_tls()), ("relay.test", 443, true));
        assert_eq!(address.socket().expose(), "wss://relay.test");
        let plain = PublicAddress::of("[::1]:4711".parse().unwrap()).unwrap();
        assert_eq!((plain.name(), plain.port()), ("[::1]", 4711));
        assert_eq!(plain.page("/attach").expose(), "http://[::1]:4711/attach");
    }

    #[test]
    fn addresses_are_not_read_in_a_log() {
        assert!(!format!("{:?}", PublicAddress::new("https://relay.test").unwrap()).contains("relay.test"));
    }
}
