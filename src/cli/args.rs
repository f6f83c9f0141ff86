//! What may be typed.
//!
//! `run` is the default subcommand: `devtools-test 'src/**/*.ait.test.ts'` and `devtools-test run '...'` are the same.
//! The first word that is the name of a subcommand is one; a file of that name is `./run`.

mod traffic;

use std::ffi::OsString;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::exit::Exit;
use crate::ident::PLATFORMS;
use crate::settings::{FILE_NAME, Given};

use super::transport::Asked;
use traffic::{CaptureArgs, TransportArgs};

/// What was typed.
#[derive(Debug)]
pub(super) enum Parsed {
    /// Run tests.
    Run(Box<Given>),
    /// Make the secret of this project.
    SecretInit(Box<Given>),
    /// Look at each link of the chain.
    Doctor {
        /// What was said about it.
        given: Box<Given>,
        /// For a program.
        json: bool,
        /// Whom to ask for the time.
        clock: Option<String>,
    },
    /// Serve a coding agent.
    Mcp {
        /// What was said about it.
        given: Box<Given>,
        /// Put the code into results.
        qr_in_results: bool,
    },
    /// Read a timeline again.
    Transport(Asked),
    /// Print this: help or version.
    Text(String),
}

/// Run .ait.test.ts suites in a mini-app page on a phone, or in headless Chrome
#[derive(Debug, Parser)]
#[command(name = "devtools-test", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(flatten)]
    run: RunArgs,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run tests (what happens without a subcommand, too)
    Run(Box<RunArgs>),
    /// The secret behind the one-time codes
    #[command(subcommand)]
    Secret(SecretCommand),
    /// Look at each link of the chain: secret, clock, relay, ports, tunnel, browsers, stdout, temp folder
    Doctor(Box<DoctorArgs>),
    /// Serve a coding agent over stdin and stdout (Model Context Protocol)
    Mcp(Box<McpArgs>),
    /// Read what a run recorded of the page's traffic: a transport.*.jsonl of a report folder
    Transport(TransportArgs),
}

#[derive(Debug, Args)]
struct McpArgs {
    /// Put the QR code into results, as an image; whoever sees them can attach
    #[arg(long)]
    qr_in_results: bool,
    /// Let code be evaluated on this host, too (*.example.com: those below it); may be given again
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    #[command(flatten)]
    root: RootArgs,
    #[command(flatten)]
    shared: SharedArgs,
    #[command(flatten)]
    log: LogArgs,
}

#[derive(Debug, Args)]
struct DoctorArgs {
    /// For programs: one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    root: RootArgs,
    /// The Chrome to try [env: DEVTOOLS_TEST_BROWSER]
    #[arg(long, value_name = "PATH")]
    browser: Option<String>,
    /// Start Chrome without its sandbox (as root this is the default)
    #[arg(long)]
    no_sandbox: bool,
    /// How the phone reaches us: cloudflared, lan, none, or an https address that leads to us
    #[arg(long, alias = "public-url", value_name = "HOW")]
    tunnel: Option<String>,
    /// With an address of yours as --tunnel: the port of this machine it leads to
    #[arg(long, value_name = "PORT")]
    relay_port: Option<String>,
    /// The WebDriver that starts WebKit [env: DEVTOOLS_TEST_WEBDRIVER]
    #[arg(long, value_name = "PATH")]
    webdriver: Option<String>,
    /// A server to compare the clock with, or none [default: one of www.cloudflare.com, www.google.com, www.apple.com]
    #[arg(long, value_name = "URL")]
    clock: Option<String>,
    /// auto, always or never [default: auto]
    #[arg(long, value_name = "WHEN")]
    color: Option<String>,
}

#[derive(Debug, Subcommand)]
enum SecretCommand {
    /// Make .ait_relay beside the nearest package.json, readable by you alone, and have git ignore it
    Init(RootArgs),
}

#[derive(Debug, Args)]
struct RootArgs {
    /// Folder of the project [default: that of the nearest package.json]
    #[arg(long, value_name = "DIR")]
    project_root: Option<String>,
}

#[derive(Debug, Args)]
struct RunArgs {
    /// Paths, folders and patterns of the test files; quote patterns [default: **/*.ait.test.* of the project]
    #[arg(value_name = "FILES", help_heading = "Which tests")]
    files: Vec<String>,
    /// Also run *.manual.ait.test.* files, which need a person
    #[arg(long, visible_alias = "manual-blocking", help_heading = "Which tests")]
    manual: bool,
    /// Only tests whose full title matches this regular expression (JavaScript's)
    #[arg(short = 't', long, value_name = "REGEX", allow_hyphen_values = true, help_heading = "Which tests")]
    test_name_pattern: Option<String>,
    /// Stop after N failed tests (1 where N is left out, 0 for never)
    #[arg(long, value_name = "N", allow_hyphen_values = true, help_heading = "Which tests")]
    bail: Option<String>,
    /// Let tests use `only` [default: yes, but not in CI]
    #[arg(long, help_heading = "Which tests")]
    allow_only: bool,
    /// A run without a single test is no failure
    #[arg(long, help_heading = "Which tests")]
    pass_with_no_tests: bool,
    /// Folder of the project [default: that of the nearest package.json]
    #[arg(long, value_name = "DIR", help_heading = "Which tests")]
    project_root: Option<String>,

    #[command(flatten)]
    shared: SharedArgs,
    #[command(flatten)]
    show: ShowArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// What is said of a run on the command line and of those of an agent alike.
#[derive(Debug, Args)]
struct SharedArgs {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    page: PageArgs,
    #[command(flatten)]
    capture: CaptureArgs,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    folder: FolderArgs,
}

#[derive(Debug, Args)]
struct PlaceArgs {
    /// Where tests run: device (a page that attaches to us), chrome (headless) or webkit [default: device]
    #[arg(long, value_name = "KIND", help_heading = "Where tests run")]
    target: Option<String>,
    /// The Chrome or WebKit to start: a path or a name [env: DEVTOOLS_TEST_BROWSER]
    #[arg(long, value_name = "PATH", help_heading = "Where tests run")]
    browser: Option<String>,
    /// The WebDriver that starts WebKit: a path or a name [env: DEVTOOLS_TEST_WEBDRIVER]
    #[arg(long, value_name = "PATH", help_heading = "Where tests run")]
    webdriver: Option<String>,
    /// Start Chrome without its sandbox (as root this is the default)
    #[arg(long, help_heading = "Where tests run")]
    no_sandbox: bool,
    /// A browser or WebView that somebody else started: its http or ws debugging address
    #[arg(long, value_name = "URL", help_heading = "Where tests run")]
    cdp_endpoint: Option<String>,
    /// The page to test in [default: an empty page of our own]
    #[arg(long, value_name = "URL", help_heading = "Where tests run")]
    page_url: Option<String>,

    /// The link that opens the page in its host app, to be completed with our address and shown as QR code
    #[arg(long, value_name = "URL", help_heading = "How a device attaches")]
    scheme_url: Option<String>,
    /// The app's own server, such as http://localhost:5173: the QR code opens the app, and we put our script into it
    #[arg(long, value_name = "URL", help_heading = "How a device attaches")]
    app_url: Option<String>,
    /// The QR code opens --app-url, at an address the phone reaches by itself, in a launcher for mini-apps
    #[arg(long, help_heading = "How a device attaches")]
    attach_launcher: bool,
    /// With --attach-launcher: the launcher's address [default: the one that apps in the field know]
    #[arg(long, value_name = "URL", help_heading = "How a device attaches")]
    launcher_url: Option<String>,
    /// How the phone reaches us: cloudflared, lan, none, or an https address that leads to us
    /// [default: cloudflared where it is found, else none; env: DEVTOOLS_TEST_TUNNEL, CLOUDFLARED_BIN]
    #[arg(long, alias = "public-url", value_name = "HOW", help_heading = "How a device attaches")]
    tunnel: Option<String>,
    /// With --tunnel lan: address or interface of this machine [default: that of the default route]
    #[arg(long, value_name = "HOST", help_heading = "How a device attaches")]
    host: Option<String>,
    /// The port the relay listens on, for a tunnel of yours to lead to [default: any that is free]
    #[arg(long, value_name = "PORT", help_heading = "How a device attaches")]
    relay_port: Option<String>,
    /// The port of the dashboard, on 127.0.0.1 alone; 0 for any that is free [default: 8317, or the next free one]
    #[arg(long, value_name = "PORT", help_heading = "How a device attaches")]
    dashboard_port: Option<String>,
    /// Do not open the dashboard in a browser
    #[arg(long, help_heading = "How a device attaches")]
    headless: bool,
    /// Use only a page whose user agent, title or address contains this
    #[arg(long, value_name = "TEXT", help_heading = "How a device attaches")]
    device: Option<String>,
    /// A second page that calls during the run takes the place of the first [default: it is turned away]
    #[arg(long, help_heading = "How a device attaches")]
    take_over: bool,
    /// How often the connection of a page is kept awake; below what a tunnel or network cuts [default: 15s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "How a device attaches")]
    keep_alive: Option<String>,
    /// How long to wait for a page [default: for ever; 2m in CI]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "How a device attaches")]
    attach_timeout: Option<String>,
}

/// How a person at this terminal sees the code; an agent's sees it on the dashboard.
#[derive(Debug, Args)]
struct ShowArgs {
    /// Show the attach link as text; whoever reads it can attach
    #[arg(long, help_heading = "How a device attaches")]
    show_url: bool,
    /// Show the QR code also where stdout is no terminal
    #[arg(long, help_heading = "How a device attaches")]
    qr_stdout: bool,
    /// Write the QR code to this .png, too, for as long as it is accepted
    #[arg(long, value_name = "PATH", help_heading = "How a device attaches")]
    qr_file: Option<String>,
}

#[derive(Debug, Args)]
struct PageArgs {
    /// SDK line of the cell, part of __AIT_CELL__ and of file names [env: AIT_CELL_SDK_LINE]
    #[arg(long, value_name = "LINE", help_heading = "What tests find")]
    cell_sdk_line: Option<String>,
    #[arg(long, value_name = "NAME", help = platform_help(), help_heading = "What tests find")]
    cell_platform: Option<String>,
    /// A global of the page, for example 'API="https://example.com"'; may be given again
    #[arg(long, value_name = "KEY=JSON", help_heading = "What tests find")]
    global: Vec<String>,
    /// A package whose imports become window.__sdk; may be given again [default: @apps-in-toss/web-framework]
    #[arg(long, value_name = "NAME", help_heading = "What tests find")]
    sdk_package: Vec<String>,
    /// What the bundles must run on; may be given again [default: es2022, safari16]
    #[arg(long, value_name = "ENGINE", help_heading = "What tests find")]
    bundle_target: Vec<String>,
}

fn platform_help() -> String {
    format!("Platform of the cell: {} [env: AIT_CELL_PLATFORM]", PLATFORMS.join(", "))
}

/// Durations: `5000` (ms), `500ms`, `60s`, `1m`.
#[derive(Debug, Args)]
struct LimitArgs {
    /// One file, with everything that happens to it [default: 60s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Time limits (5000, 500ms, 60s, 1m)")]
    timeout: Option<String>,
    /// One test that sets no limit of its own [default: 15s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Time limits (5000, 500ms, 60s, 1m)")]
    test_timeout: Option<String>,
    /// One hook that sets no limit of its own [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Time limits (5000, 500ms, 60s, 1m)")]
    hook_timeout: Option<String>,
    /// How long a page may answer nothing at all before it is given up [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Time limits (5000, 500ms, 60s, 1m)")]
    silence_timeout: Option<String>,
    /// How long the page of --page-url may take until its document is there [default: 30s]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, help_heading = "Time limits (5000, 500ms, 60s, 1m)")]
    navigation_timeout: Option<String>,
}

#[derive(Debug, Args)]
struct OutputArgs {
    /// pretty or json (one event a line), to stdout or to a file; may be given again [default: pretty]
    #[arg(long, value_name = "NAME[=PATH]", help_heading = "Reports")]
    reporter: Vec<String>,
    /// auto, always or never; auto heeds NO_COLOR and FORCE_COLOR [default: auto]
    #[arg(long, value_name = "WHEN", help_heading = "Reports")]
    color: Option<String>,
    #[command(flatten)]
    log: LogArgs,
}

#[derive(Debug, Args)]
struct FolderArgs {
    /// Folder for the artifact <sdkLine>.<platform>.json, for what tests captured and what was recorded
    #[arg(long, value_name = "DIR", help_heading = "Reports")]
    report_dir: Option<String>,
    /// Take no picture of the page when a test fails [default: one into the report folder, where the browser can]
    #[arg(long, help_heading = "Reports")]
    no_screenshot_failures: bool,
}

#[derive(Debug, Args)]
struct LogArgs {
    /// Log to stderr what the tool does; -vv and -vvv say more
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Reports")]
    verbose: u8,
    /// Log to a file instead
    #[arg(long, value_name = "PATH", help_heading = "Reports")]
    log_file: Option<String>,
}

/// Reads a command line; an error is the text for a person.
pub(super) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Parsed, String> {
    let command = Cli::command().after_help(after_help());
    let command = command.mut_subcommand("run", |run| run.after_help(after_help()));
    let parsed = command.try_get_matches_from(complete_bail(args)).and_then(|found| Cli::from_arg_matches(&found));
    match parsed {
        Ok(Cli { command: Some(Command::Run(run)), .. }) => Ok(Parsed::Run(Box::new((*run).into()))),
        Ok(Cli { command: Some(Command::Secret(SecretCommand::Init(root))), .. }) => {
            Ok(Parsed::SecretInit(Box::new(Given { project_root: root.project_root, ..Given::default() })))
        }
        Ok(Cli { command: Some(Command::Doctor(doctor)), .. }) => {
            Ok(Parsed::Doctor { json: doctor.json, clock: doctor.clock.clone(), given: Box::new((*doctor).into()) })
        }
        Ok(Cli { command: Some(Command::Mcp(mcp)), .. }) => {
            Ok(Parsed::Mcp { qr_in_results: mcp.qr_in_results, given: Box::new((*mcp).into()) })
        }
        Ok(Cli { command: Some(Command::Transport(asked)), .. }) => Ok(Parsed::Transport(asked.into())),
        Ok(Cli { run, command: None }) => Ok(Parsed::Run(Box::new(run.into()))),
        Err(error) if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            Ok(Parsed::Text(error.render().to_string()))
        }
        Err(error) => Err(error.render().to_string().trim_start_matches("error: ").trim_end().to_owned()),
    }
}

/// Gives a `--bail` that stands alone its number, so that the word behind it stays what it is: `--bail src/a.ts`.
fn complete_bail(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args: Vec<OsString> = args.into_iter().collect();
    let options = args.iter().position(|arg| arg == "--").unwrap_or(args.len());
    for at in 0..options {
        let followed_by_number = args.get(at + 1).and_then(|next| next.to_str()).is_some_and(|next| {
            let digits = next.trim_start_matches('-');
            !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
        });
        if args[at] == "--bail" && !followed_by_number {
            args[at] = "--bail=1".into();
        }
    }
    args
}

fn after_help() -> String {
    let mut text = String::from("Exit codes:\n");
    for exit in Exit::ALL {
        text.push_str(&format!("  {:<4} {}\n", exit.code(), exit.meaning()));
    }
    text.push_str(&format!(
        "\nOptions can also stand in {FILE_NAME} in the project (as `test-timeout = \"5s\"`). A flag goes over the \
         environment,\nwhich goes over the file."
    ));
    text
}

mod given;
#[cfg(test)]
mod tests;
