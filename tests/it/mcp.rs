//! The MCP server of the built tool.

mod manners;
mod page_tools;
mod readme;

use std::path::Path;

use support::tool::Tool;

use crate::tool;

/// The server, about to be started in a folder.
fn server(folder: &Path) -> Tool {
    tool(folder).args(["mcp", "--headless", "--dashboard-port", "0"])
}
