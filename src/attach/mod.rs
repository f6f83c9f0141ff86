//! Attach of a page on a phone: links, codes, QR, and the wait for the page.
