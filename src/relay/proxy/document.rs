//! The body of a page on its way from the upstream to the phone: decoded, of a charset the injector can read, with the
//! agent put in. Nothing waits for the end of anything.

use std::io;
use std::pin::Pin;

use async_compression::tokio::bufread::{BrotliDecoder, DeflateDecoder, GzipDecoder, ZlibDecoder, ZstdDecoder};
use axum::body::{Body, Bytes};
use encoding_rs::{CoderResult, Decoder, Encoding};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use lol_html::AsciiCompatibleEncoding;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};
use tokio_util::io::StreamReader;

use super::inject::Injector;
use super::response::Coding;

/// Bytes read at once: what arrives in one piece of a network is passed on in one piece.
const PIECE: usize = 16 << 10;

/// Bytes of the longest mark in front of a text that says in which charset it is.
const LONGEST_MARK: usize = 3;

/// Bytes of a page, as they come.
type Pieces = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// The same, to be read.
type Reader = Pin<Box<dyn AsyncRead + Send>>;

/// A body as pieces.
pub(super) fn pieces(body: Body) -> Pieces {
    Box::pin(body.into_data_stream().map_err(io::Error::other))
}

/// Takes the first piece of a page off, to look at it, and gives the page back whole.
pub(super) async fn first_of(mut page: Pieces) -> io::Result<(Bytes, Pieces)> {
    while let Some(piece) = page.next().await.transpose()? {
        if !piece.is_empty() {
            return Ok((piece.clone(), Box::pin(stream::iter([Ok(piece)]).chain(page))));
        }
    }
    Ok((Bytes::new(), page))
}

/// Whether a browser takes what begins so for HTML where nothing is said about it (MIME Sniffing standard, 7.1).
pub(super) fn looks_like_html(first: &[u8]) -> bool {
    let text = first.strip_prefix(b"\xef\xbb\xbf").unwrap_or(first).trim_ascii_start();
    let starts = |word: &str| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()));
    const TAGS: [&str; 17] = [
        "!doctype html",
        "html",
        "head",
        "script",
        "iframe",
        "h1",
        "div",
        "font",
        "table",
        "a",
        "style",
        "title",
        "b",
        "body",
        "br",
        "p",
        "!--",
    ];
    TAGS.iter().any(|tag| {
        starts(&format!("<{tag}"))
            && (*tag == "!--" || matches!(text.get(tag.len() + 1), Some(b' ' | b'>' | b'\n' | b'\r' | b'\t')))
    })
}

/// The page with the agent put in.
pub(super) fn with_agent(page: Pieces, codings: &[Coding], charset: Option<&str>, injector: Injector) -> Body {
    let said = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    let codings = codings.to_vec();
    let passing = async move {
        let reader = decoded(page, &codings).await?;
        let charset = Charset::Unknown { said, front: Vec::new() };
        io::Result::Ok(stream::try_unfold(Passing { reader, injector, charset, over: false }, Passing::next))
    };
    Body::from_stream(stream::once(passing).try_flatten())
}

/// The page without the codings that were put around it.
async fn decoded(page: Pieces, codings: &[Coding]) -> io::Result<Reader> {
    let mut reader: Reader = Box::pin(StreamReader::new(page));
    for coding in codings.iter().rev() {
        let mut coded = BufReader::new(reader);
        reader = match coding {
            Coding::Gzip => {
                let mut decoder = GzipDecoder::new(coded);
                decoder.multiple_members(true);
                Box::pin(decoder)
            }
            Coding::Deflate if has_zlib_head(coded.fill_buf().await?) => Box::pin(ZlibDecoder::new(coded)),
            Coding::Deflate => Box::pin(DeflateDecoder::new(coded)),
            Coding::Brotli => Box::pin(BrotliDecoder::new(coded)),
            Coding::Zstd => Box::pin(ZstdDecoder::new(coded)),
        };
    }
    Ok(reader)
}

/// Some servers leave the zlib format around a `deflate` body out, and browsers take that. Its first byte names method 8
/// and a window of at most 32 KiB (RFC 1950, 2.2), which no compressor begins bare data with.
fn has_zlib_head(coded: &[u8]) -> bool {
    coded.first().is_some_and(|byte| byte & 0x0f == 8 && byte >> 4 <= 7)
}

struct Passing {
    reader: Reader,
    injector: Injector,
    charset: Charset,
    over: bool,
}

enum Charset {
    /// Too little was read yet to see a mark in front; this is what was said about it.
    Unknown { said: Option<&'static Encoding>, front: Vec<u8> },
    /// ASCII stands for itself.
    Plain,
    /// It does not: the page is sent in UTF-8 instead.
    Other(Box<Decoder>),
}

impl Passing {
    async fn next(mut self) -> io::Result<Option<(Bytes, Self)>> {
        while !self.over {
            let mut piece = Vec::with_capacity(PIECE);
            self.over = self.reader.read_buf(&mut piece).await? == 0;
            let piece = self.charset.plain(piece, self.over);
            let mut passed = self.injector.write(&piece);
            if self.over {
                passed.extend(self.injector.end());
            }
            if !passed.is_empty() {
                return Ok(Some((Bytes::from(passed), self)));
            }
        }
        Ok(None)
    }
}

impl Charset {
    /// The piece in a charset the injector can read.
    fn plain(&mut self, mut piece: Vec<u8>, last: bool) -> Vec<u8> {
        let mut text = String::new();
        if let Self::Unknown { said, front } = self {
            front.extend(piece);
            if front.len() < LONGEST_MARK && !last {
                return Vec::new();
            }
            piece = std::mem::take(front);
            // A mark in front goes over what was said.
            let found = Encoding::for_bom(&piece).map(|(encoding, _)| encoding).or(*said);
            *self = match found.filter(|encoding| AsciiCompatibleEncoding::new(encoding).is_none()) {
                None => Self::Plain,
                Some(encoding) => {
                    // The mark says UTF-8 louder than any header.
                    text.push('\u{feff}');
                    Self::Other(Box::new(encoding.new_decoder_with_bom_removal()))
                }
            };
        }
        let Self::Other(decoder) = self else { return piece };
        let mut rest = piece.as_slice();
        loop {
            text.reserve(decoder.max_utf8_buffer_length(rest.len()).unwrap_or(PIECE));
            let (result, read, _) = decoder.decode_to_string(rest, &mut text, last);
            rest = rest.get(read..).unwrap_or_default();
            if result == CoderResult::InputEmpty {
                return text.into_bytes();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use async_compression::tokio::write::{BrotliEncoder, DeflateEncoder, GzipEncoder, ZlibEncoder, ZstdEncoder};
    use http_body_util::BodyExt;
    use tokio::io::{AsyncWrite, AsyncWriteExt};

    use super::super::policy::Needs;
    use super::*;

    const TAG: &str = "<script></script>";
    const PAGE: &str = "<!doctype html><head><title>가나다</title><body>text";

    fn injector() -> Injector {
        Injector::new(TAG.into(), Needs { nonce: String::new(), scripts: Vec::new(), sockets: Vec::new(), tls: false })
    }

    fn expected() -> String {
        PAGE.replace("<head>", &format!("<head>{TAG}"))
    }

    /// Byte by byte.
    async fn through(page: &[u8], codings: &[Coding], charset: Option<&str>) -> io::Result<String> {
        let pieces: Vec<io::Result<Bytes>> = page.chunks(1).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let body = with_agent(Box::pin(stream::iter(pieces)), codings, charset, injector());
        let bytes = body.collect().await.map_err(io::Error::other)?.to_bytes();
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    async fn finished(mut encoder: impl AsyncWrite + Unpin, page: &[u8]) {
        encoder.write_all(page).await.unwrap();
        encoder.shutdown().await.unwrap();
    }

    async fn coded(coding: Coding, page: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        match coding {
            Coding::Gzip => finished(GzipEncoder::new(&mut out), page).await,
            Coding::Deflate => finished(ZlibEncoder::new(&mut out), page).await,
            Coding::Brotli => finished(BrotliEncoder::new(&mut out), page).await,
            Coding::Zstd => finished(ZstdEncoder::new(&mut out), page).await,
        }
        out
    }

    #[tokio::test]
    async fn every_coding_is_undone() {
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
            let once = coded(coding, PAGE.as_bytes()).await;
            assert_eq!(through(&once, &[coding], None).await.unwrap(), expected(), "{coding:?}");
            let twice = coded(Coding::Brotli, &once).await;
            assert_eq!(through(&twice, &[coding, Coding::Brotli], None).await.unwrap(), expected(), "{coding:?}");
            assert!(through(b"no such thing", &[coding], None).await.is_err(), "{coding:?}");
        }
        let mut bare = Vec::new();
        finished(DeflateEncoder::new(&mut bare), PAGE.as_bytes()).await;
        assert_eq!(
            through(&bare, &[Coding::Deflate], None).await.unwrap(),
            expected(),
            "deflate without zlib around it"
        );
    }

    #[tokio::test]
    async fn what_the_upstream_has_flushed_is_passed_on() {
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
            let (sender, receiver) = tokio::sync::mpsc::unbounded_channel();
            let mut encoder: Pin<Box<dyn AsyncWrite>> = match coding {
                Coding::Gzip => Box::pin(GzipEncoder::new(ToChannel(sender))),
                Coding::Deflate => Box::pin(ZlibEncoder::new(ToChannel(sender))),
                Coding::Brotli => Box::pin(BrotliEncoder::new(ToChannel(sender))),
                Coding::Zstd => Box::pin(ZstdEncoder::new(ToChannel(sender))),
            };
            let page =
                stream::unfold(receiver, async |mut receiver| receiver.recv().await.map(|piece| (Ok(piece), receiver)));
            let mut body = with_agent(Box::pin(page), &[coding], None, injector());
            encoder.write_all(PAGE.as_bytes()).await.unwrap();
            encoder.flush().await.unwrap();
            let mut seen = Vec::new();
            while seen.len() < expected().len() {
                seen.extend_from_slice(&body.frame().await.unwrap().unwrap().into_data().unwrap());
            }
            assert_eq!(String::from_utf8(seen).unwrap(), expected(), "{coding:?}");
        }
    }

    struct ToChannel(tokio::sync::mpsc::UnboundedSender<Bytes>);

    impl AsyncWrite for ToChannel {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            bytes: &[u8],
        ) -> std::task::Poll<io::Result<usize>> {
            self.0.send(Bytes::copy_from_slice(bytes)).unwrap();
            std::task::Poll::Ready(Ok(bytes.len()))
        }
        fn poll_flush(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }
        fn poll_shutdown(self: Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn charsets_in_which_ascii_is_not_itself_become_utf_8() {
        let little: Vec<u8> = PAGE.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = PAGE.encode_utf16().flat_map(u16::to_be_bytes).collect();
        let marked = format!("\u{feff}{}", expected());
        assert_eq!(through(&little, &[], Some("utf-16")).await.unwrap(), marked);
        assert_eq!(through(&big, &[], Some("UTF-16BE")).await.unwrap(), marked);
        let with_mark = [b"\xff\xfe", little.as_slice()].concat();
        assert_eq!(through(&with_mark, &[], Some("utf-8")).await.unwrap(), marked);
        assert_eq!(through(marked.replace(TAG, "").as_bytes(), &[], Some("utf-16")).await.unwrap(), marked);
        assert_eq!(through(b"\xef\xbb", &[], None).await.unwrap(), format!("\u{fffd}{TAG}"));
        for charset in ["shift_jis", "euc-kr", "gb18030", "no such charset"] {
            assert_eq!(through(PAGE.as_bytes(), &[], Some(charset)).await.unwrap(), expected(), "{charset}");
        }
    }

    #[test]
    fn html_is_known_by_its_beginning() {
        for html in ["<!DOCTYPE HTML>", "\n\t<html>", "\u{feff}<p>x", "<!-- x", "<h1 a>", "<a href=x>"] {
            assert!(looks_like_html(html.as_bytes()), "{html}");
        }
        for other in ["", "<", "hello", "{}", "<?xml version=\"1.0\"?>", "<svg>", "<addr>", "<html", "PK\u{3}\u{4}"] {
            assert!(!looks_like_html(other.as_bytes()), "{other}");
        }
    }
}
