//! Which page a run wants when several call. Pure.

use super::conversation::Hello;
use super::target::words;
use crate::user_agent;

/// Which page is wanted.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Only pages whose user agent, title or address contains this, letter case aside.
    pub device: Option<String>,
    /// A page that calls takes the place of one that is in use and answers.
    pub take_over: bool,
}

impl Choice {
    /// Whether the page may be used.
    pub(super) fn takes(&self, hello: &Hello) -> bool {
        let Some(wanted) = &self.device else { return true };
        let wanted = wanted.to_lowercase();
        let agent = hello.user_agent.as_str();
        let names = [user_agent::device(agent), user_agent::engine(agent)];
        let said = [agent, &hello.title, &hello.url, &names[0], &names[1]];
        said.iter().any(|text| text.to_lowercase().contains(&wanted))
    }
}

/// Says what became of two pages. `old` is the one that was attached, `new` the one that called.
pub(super) mod say {
    use super::{Hello, words};
    use crate::relay::target::TargetInfo;

    fn name(hello: &Hello) -> String {
        words(&hello.user_agent, &hello.title)
    }

    pub(in crate::relay) fn refused(new: &Hello, old: &TargetInfo) -> String {
        format!(
            "A second page ({}) called and was turned away, because the run works with another one ({}). Close one of \
             the two; --take-over lets a second page take the place of the first.",
            name(new),
            old.words()
        )
    }

    pub(in crate::relay) fn took_over(new: &Hello, old: &TargetInfo) -> String {
        format!(
            "Another page ({}) takes the place of the one the run worked with ({}), as --take-over asks.",
            name(new),
            old.words()
        )
    }

    pub(in crate::relay) fn newest(new: &Hello, old: &TargetInfo) -> String {
        format!(
            "Two pages attached: the newer one ({}) is used and the older one ({}) let go, because no run worked with \
             it yet. --device chooses by a part of the user agent, title or address.",
            name(new),
            old.words()
        )
    }

    pub(in crate::relay) fn in_place_of_silent(new: &Hello, old: &TargetInfo) -> String {
        format!("Another page ({}) attached in place of one that does not answer ({}).", name(new), old.words())
    }

    pub(in crate::relay) fn passed_over(new: &Hello) -> String {
        format!(
            "A page ({}) called and is not used: neither its user agent nor its title or address fits --device.",
            name(new)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_what_a_page_is_known_by_chooses_it() {
        let hello = Hello {
            user_agent:
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 Version/18.5 Safari/604.1"
                    .into(),
            title: "장바구니".into(),
            url: "https://app.test/cart?x=1".into(),
            ..Hello::default()
        };
        let takes = |device: &str| Choice { device: Some(device.into()), take_over: false }.takes(&hello);
        for fits in ["iphone", "iOS 18.5", "SAFARI 18", "바구", "app.test/cart", ""] {
            assert!(takes(fits), "{fits}");
        }
        for other in ["Android", "Chrome", "cart?x=2"] {
            assert!(!takes(other), "{other}");
        }
        assert!(Choice::default().takes(&Hello::default()));
        assert!(say::passed_over(&hello).contains("iPhone, iOS 18.5, Safari 18.5, '장바구니'"));
        assert!(say::passed_over(&Hello::default()).contains("(an unknown device)"));
    }
}
