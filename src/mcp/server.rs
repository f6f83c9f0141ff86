//! What the protocol asks of a server, answered from the tables of tools.

use std::future::Future;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};

use super::call::Call;
use super::hub::Hub;
use super::tool::Tool;
use super::tools;

/// What a model reads of the server as a whole.
const INSTRUCTIONS: &str = "Runs .ait.test.ts suites in a mini-app page on a phone, or in a headless browser here. \
     run_tests starts what it needs: in a relay mode it waits for a person to scan the code shown at the dashboard \
     address. Every result is {ok, data | error, meta}; an error names its cause and the call that helps. \
     get_debug_status tells how things stand.";

/// The server.
#[derive(Clone)]
pub(super) struct Server {
    hub: Arc<Hub>,
    tools: Arc<[Tool]>,
}

impl Server {
    /// One that shares this hub with every call.
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self { hub, tools: tools::all().into() }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        let title = "devtools-test";
        info.server_info = Implementation::new("devtools-test", env!("CARGO_PKG_VERSION")).with_title(title);
        info
    }

    fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send + '_ {
        let tools = self.tools.iter().map(|tool| tool.definition.clone()).collect();
        std::future::ready(Ok(ListToolsResult::with_all_items(tools)))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools.iter().find(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {:?}", request.name), None));
        };
        let call = Call::new(Arc::clone(&self.hub), &context);
        Ok(tool.call(call, request.arguments.unwrap_or_default()).await.into())
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        self.tools.iter().find(|tool| tool.name == name).map(|tool| tool.definition.clone())
    }
}
