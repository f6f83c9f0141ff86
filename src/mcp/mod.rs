//! `devtools-test mcp`: the same core as the command line for a coding agent, over stdin and stdout.
//!
//! ```text
//! client ──stdio──> door ──> server ──> Tool (tools/*) ──Call──> Hub ──> Debug: pages of a session, what they said
//!            <─scrubbed─┘                 │                    └─> Claim ──> run::execute in Lent pages ──> Record
//!                                         └──> Answer | Fault ──> Envelope
//! ```
//!
//! A session ([`debug`]) owns a `PageSource` and lives until another takes its place. A run borrows its pages
//! ([`lent`]); everything else looks at them through `Debug::page`.
//!
//! # How a tool is added
//! 1. Choose the family's file in `tools/`, or add one and list it in `tools::all`.
//! 2. Write the arguments as a struct with `Deserialize` and `JsonSchema` (its doc comments are what a model reads), the
//!    data as one with `Serialize` and `JsonSchema`, without recursion.
//! 3. Write `async fn name(call: Call, args: Args) -> Answered<Data>`. `call.debug` is the session as it was when the call
//!    came; never ask the hub again. For a page: `let page = call.page()?`, then `page.evaluate(...)` or
//!    `page.ask(...)`, which look at the host in the same script, or `page.command(...)` for a method of the protocol.
//!    Faults are `Fault::new(code, state).because(cause).next(tool, reason)`.
//! 4. A list takes `#[serde(flatten)] paging: Paging` and answers with `paging.page(&store.list(kind), filter)`.
//! 5. Put `Tool::new(About { .. }, name)` into the family's `tools()`, and `.alone()` behind it where it changes the session
//!    or runs tests.
//! 6. Give it a row in `tests/it/mcp/secrets.rs` and in `tests/it/mcp/clients/sdk.test.mjs`; both fail until it has one.
//!
//! Nothing is taken out of results by hand: [`door`] does it for whatever goes out. Only what is cut or written to a file
//! goes through a [`Scrub`](crate::secret::Scrub) before: half a secret is found by nobody.

mod call;
mod debug;
mod door;
mod envelope;
mod guard;
mod hub;
mod lent;
mod mode;
mod observe;
mod page;
mod paging;
mod prompts;
mod record;
mod resources;
mod sdk;
mod serve;
mod server;
mod show;
mod store;
mod summary;
mod tool;
mod tools;
mod view;
mod whole;
mod words;

pub use hub::McpOptions;
pub use serve::serve;
