//! Puts the agent into a page while the page passes: its tag is the first thing in the head, wherever the head is or
//! would be. Once the head is over the rest passes unread. Tags are read, text is not, so every charset in which ASCII
//! stands for itself passes byte for byte.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lol_html::html_content::ContentType;
use lol_html::send::{Element, HtmlRewriter, Settings};
use lol_html::{HandlerResult, MemorySettings, element, end};

use super::policy::{Needs, widen};

/// Most that a tag of a head can hold, inline images of several megabytes included. Beyond it the page passes as it is.
const MAX_HELD: usize = 16 << 20;

/// What may stand in a head. The first of anything else ends it (HTML standard, 13.2.6.4.4).
const OF_A_HEAD: [&str; 12] =
    ["html", "head", "base", "basefont", "bgsound", "link", "meta", "noscript", "script", "style", "template", "title"];

type Sink = Box<dyn FnMut(&[u8]) + Send>;

/// How far a page has come.
#[derive(Debug, Default)]
struct Progress {
    /// The tag is in.
    placed: bool,
    /// The head is over.
    done: bool,
}

/// A page on its way.
pub(super) struct Injector {
    /// None once the head is over.
    rewriter: Option<HtmlRewriter<'static, Sink>>,
    passed: Arc<Mutex<Vec<u8>>>,
    progress: Arc<Mutex<Progress>>,
}

impl Injector {
    /// Will put `tag` in, and widen the policies that stand in the page itself by `needs`.
    pub(super) fn new(tag: String, needs: Needs) -> Self {
        let passed = Arc::<Mutex<Vec<u8>>>::default();
        let progress = Arc::<Mutex<Progress>>::default();
        let (of_elements, of_end) = (Arc::clone(&progress), Arc::clone(&progress));
        let tag_at_end = tag.clone();
        let settings = Settings::new_send()
            .append_element_content_handler(element!("*", move |element: &mut Element<'_, '_>| {
                on_element(element, &mut lock(&of_elements), &tag, &needs)
            }))
            .append_document_content_handler(end!(move |end| {
                if !lock(&of_end).placed {
                    end.append(&tag_at_end, ContentType::Html);
                }
                Ok(())
            }))
            .with_strict(false)
            .with_memory_settings(
                MemorySettings::new()
                    .with_max_allowed_memory_usage(MAX_HELD)
                    .with_graceful_bail_out_on_memory_limit_exceeded(true),
            );
        let out = Arc::clone(&passed);
        let sink: Sink = Box::new(move |bytes| lock(&out).extend_from_slice(bytes));
        Self { rewriter: Some(HtmlRewriter::new(settings, sink)), passed, progress }
    }

    /// Takes a piece of the page, gives what can pass.
    pub(super) fn write(&mut self, piece: &[u8]) -> Vec<u8> {
        let Some(mut rewriter) = self.rewriter.take() else { return piece.to_vec() };
        // When it gives up it has passed on everything it was given.
        if rewriter.write(piece).is_ok() {
            if lock(&self.progress).done {
                // It holds no more than the beginning of a tag, which it passes on as it is.
                drop(rewriter.end());
            } else {
                self.rewriter = Some(rewriter);
            }
        }
        std::mem::take(&mut lock(&self.passed))
    }

    /// The page is over; gives what was held.
    pub(super) fn end(&mut self) -> Vec<u8> {
        if let Some(rewriter) = self.rewriter.take() {
            drop(rewriter.end());
        }
        std::mem::take(&mut lock(&self.passed))
    }
}

fn on_element(element: &mut Element<'_, '_>, progress: &mut Progress, tag: &str, needs: &Needs) -> HandlerResult {
    let name = element.tag_name();
    if !progress.placed {
        match name.as_str() {
            "html" => return Ok(()),
            "head" => element.prepend(tag, ContentType::Html),
            _ => element.before(tag, ContentType::Html),
        }
        progress.placed = true;
    }
    if name == "meta" {
        widen_policy_of(element, needs)?;
    } else if !OF_A_HEAD.contains(&name.as_str()) {
        progress.done = true;
    }
    Ok(())
}

fn widen_policy_of(meta: &mut Element<'_, '_>, needs: &Needs) -> HandlerResult {
    let is_policy = meta
        .get_attribute("http-equiv")
        .is_some_and(|name| name.trim().eq_ignore_ascii_case("content-security-policy"));
    if let Some(content) = meta.get_attribute("content").filter(|_| is_policy) {
        let widened = widen(&decoded(&content), needs);
        // Quotation marks it escapes itself.
        meta.set_attribute("content", &widened.replace('&', "&amp;"))?;
    }
    Ok(())
}

/// Character references as templates write them into attributes; policies are made of little else.
fn decoded(attribute: &str) -> String {
    let references =
        [("&#39;", "'"), ("&#039;", "'"), ("&#x27;", "'"), ("&#X27;", "'"), ("&apos;", "'"), ("&amp;", "&")];
    references.iter().fold(attribute.to_owned(), |text, (reference, sign)| text.replace(reference, sign))
}

/// Nothing that holds these locks can panic; if it did, what they guard is still whole.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    const TAG: &str = "<script src=\"/target.js\"></script>";

    fn injector() -> Injector {
        let (scripts, sockets) = (vec!["http://r/target.js".into()], vec!["ws://r/target/".into()]);
        Injector::new(TAG.into(), Needs { nonce: "N".into(), scripts, sockets, tls: false })
    }

    fn through(pieces: &[&[u8]]) -> Vec<u8> {
        let mut injector = injector();
        let mut out: Vec<u8> = pieces.iter().flat_map(|piece| injector.write(piece)).collect();
        out.extend(injector.end());
        out
    }

    fn page(text: &str) -> String {
        String::from_utf8(through(&[text.as_bytes()])).unwrap()
    }

    #[test]
    fn the_agent_is_the_first_script_of_every_kind_of_page() {
        for page_with_place in [
            "<!doctype html><html><head>|<title>x</title></head><body>y</body></html>",
            "<!DOCTYPE html>\n<HTML lang=ko>\n<!-- <head> --><HEAD data-x='>'>|<script>1</script></HEAD>",
            "<!doctype html>|<title>x</title><p>y",
            "<!doctype html><html>|<body><p>x</body></html>",
            "|<meta charset=utf-8><script>1</script>",
            "<!doctype html>|",
            "|",
            "<html><head>|</head><frameset><frame src=a></frameset></html>",
            "<html>|<frameset><frame src=a></frameset></html>",
            "|<p>a fragment</p>",
            "text alone|",
            "<?xml version='1.0'?><!doctype html><html><head>|<title><head></title></head>",
            "\u{feff}<!doctype html><head>|<iframe srcdoc='<head></head>'></iframe>",
            "<html><head>|<template><head></head></template><style><head></style></head>",
        ] {
            let expected = page_with_place.replacen('|', TAG, 1);
            assert_eq!(page(&page_with_place.replacen('|', "", 1)), expected);
        }
    }

    #[test]
    fn policies_in_the_page_are_widened() {
        let widened = "<meta content=\"script-src 'self' 'unsafe-eval' 'nonce-N'\" http-equiv=content-security-Policy>";
        for content in ["script-src 'self'", "script-src &#x27;self&#39;"] {
            let meta = format!("<meta content=\"{content}\" http-equiv=content-security-Policy>");
            assert_eq!(page(&format!("<head>{meta}</head>")), format!("<head>{TAG}{widened}</head>"));
        }
        let other = "<meta http-equiv=refresh content='1'><meta name=a content=\"script-src 'self'\">";
        assert_eq!(page(other), format!("{TAG}{other}"));
    }

    #[test]
    fn what_can_pass_is_not_held_back() {
        let mut injector = injector();
        assert_eq!(injector.write(b"<!doctype html><head>"), format!("<!doctype html><head>{TAG}").as_bytes());
        assert_eq!(injector.write(b"<body>sh"), b"<body>sh");
        assert_eq!(injector.write(b"ell<p"), b"ell<p", "the head is over");
        assert_eq!(injector.end(), b"");
    }

    #[test]
    fn wherever_it_is_cut_a_page_comes_out_the_same() {
        let meta = "<meta http-equiv=Content-Security-Policy content=\"default-src 'self'\">";
        let given =
            format!("\u{feff}<!-- <script> --><!doctype html>\n<html><head a='>'>{meta}<title>앱</title><body>x");
        let whole = page(&given);
        assert!(whole.contains(&format!("<head a='>'>{TAG}<meta")) && whole.contains("connect-src 'self' ws://r/"));
        for cut in 0..=given.len() {
            let (front, back) = given.as_bytes().split_at(cut);
            assert_eq!(through(&[front, back]), whole.as_bytes(), "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = given.as_bytes().chunks(1).collect();
        assert_eq!(through(&bytes), whole.as_bytes());
    }

    proptest! {
        #[test]
        fn everything_else_passes_byte_for_byte(
            parts in prop::collection::vec(prop_oneof![
                Just(b"<head>".to_vec()), Just(b"<html a='".to_vec()), Just(b"<!--".to_vec()), Just(b"-->".to_vec()),
                Just(b"<script>".to_vec()), Just(b"</script>".to_vec()), Just(b"<title>".to_vec()), Just(b"'>".to_vec()),
                Just(b"<body>".to_vec()), Just(b"<meta charset=euc-kr>".to_vec()), Just(b"<svg><![CDATA[".to_vec()),
                Just(b"<".to_vec()), Just(b"</".to_vec()), prop::collection::vec(any::<u8>(), 0..6),
            ], 0..12),
            cut in any::<prop::sample::Index>(),
        ) {
            let page = parts.concat();
            let (front, back) = page.split_at(cut.index(page.len() + 1));
            let out = through(&[front, back]);
            let tag = TAG.as_bytes();
            let at = out.windows(tag.len()).position(|window| window == tag).unwrap();
            prop_assert_eq!([&out[..at], &out[at + tag.len()..]].concat(), page);
        }
    }
}
