//! The MCP server of the built tool.

mod clients;
mod lists;
mod manners;
mod page_tools;
mod phone;
mod readme;
mod runs;
mod secrets;

use std::path::Path;

use support::tool::Tool;
use tempfile::TempDir;

use crate::tool;

/// The server, about to be started in a folder.
fn server(folder: &Path) -> Tool {
    tool(folder).args(["mcp", "--headless", "--dashboard-port", "0"])
}

/// A project with these files; each is a test file that may use `it` and `expect`.
fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs_err::write(folder.path().join("package.json"), "{}").unwrap();
    for (name, text) in files {
        let text = format!("import {{ expect, it }} from 'vitest';\n{text}\n");
        fs_err::write(folder.path().join(name), text).unwrap();
    }
    folder
}
