//! From what was typed to what the settings take.

use super::{DoctorArgs, LogArgs, McpArgs, RunArgs, SharedArgs};
use crate::settings::Given;

impl From<DoctorArgs> for Given {
    fn from(args: DoctorArgs) -> Self {
        Given {
            project_root: args.root.project_root,
            browser: args.browser,
            no_sandbox: args.no_sandbox.then_some(true),
            tunnel: args.tunnel,
            relay_port: args.relay_port,
            webdriver: args.webdriver,
            color: args.color,
            ..Given::default()
        }
    }
}

impl From<RunArgs> for Given {
    fn from(args: RunArgs) -> Self {
        let RunArgs { shared: parts, show, output, .. } = args;
        Given {
            files: args.files,
            manual: switch(args.manual),
            test_name_pattern: args.test_name_pattern,
            bail: args.bail,
            allow_only: switch(args.allow_only),
            pass_with_no_tests: switch(args.pass_with_no_tests),
            project_root: args.project_root,
            reporter: output.reporter,
            color: output.color,
            show_url: show.show_url,
            qr_stdout: show.qr_stdout,
            qr_file: show.qr_file,
            ..shared(parts, output.log)
        }
    }
}

impl From<McpArgs> for Given {
    fn from(args: McpArgs) -> Self {
        Given { project_root: args.root.project_root, allow_host: args.allow_host, ..shared(args.shared, args.log) }
    }
}

/// A switch that is not typed says nothing: the file may still turn it on.
fn switch(on: bool) -> Option<bool> {
    on.then_some(true)
}

fn shared(SharedArgs { place, page, capture, limits, folder }: SharedArgs, log: LogArgs) -> Given {
    Given {
        target: place.target,
        browser: place.browser,
        webdriver: place.webdriver,
        no_sandbox: switch(place.no_sandbox),
        cdp_endpoint: place.cdp_endpoint,
        page_url: place.page_url,
        scheme_url: place.scheme_url,
        app_url: place.app_url,
        attach_launcher: place.attach_launcher,
        launcher_url: place.launcher_url,
        tunnel: place.tunnel,
        host: place.host,
        relay_port: place.relay_port,
        dashboard_port: place.dashboard_port,
        headless: switch(place.headless),
        device: place.device,
        keep_alive: place.keep_alive,
        take_over: switch(place.take_over),
        attach_timeout: place.attach_timeout,
        report_dir: folder.report_dir,
        no_screenshot_failures: switch(folder.no_screenshot_failures),
        cell_sdk_line: page.cell_sdk_line,
        cell_platform: page.cell_platform,
        global: page.global,
        sdk_package: page.sdk_package,
        bundle_target: page.bundle_target,
        capture: capture.capture,
        no_capture: switch(capture.no_capture),
        capture_max_payload: capture.capture_max_payload,
        replay: capture.replay,
        replay_speed: capture.replay_speed,
        timeout: limits.timeout,
        test_timeout: limits.test_timeout,
        hook_timeout: limits.hook_timeout,
        silence_timeout: limits.silence_timeout,
        navigation_timeout: limits.navigation_timeout,
        verbose: log.verbose,
        log_file: log.log_file,
        ..Given::default()
    }
}
