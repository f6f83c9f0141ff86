//! What the protocol asks of a server, answered from the tables of tools.

use std::future::Future;
use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::{NotificationContext, RequestContext, RoleServer};

use super::call::Call;
use super::door::Door;
use super::hub::Hub;
use super::tool::Tool;
use super::{prompts, resources, tools};

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

    /// The way into it.
    pub(super) fn door<T>(&self, transport: T) -> Door<T> {
        Door::new(transport, Arc::clone(&self.hub), Arc::clone(&self.tools))
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_list_changed()
            .build();
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

    fn on_initialized(&self, context: NotificationContext<RoleServer>) -> impl Future<Output = ()> + Send + '_ {
        self.hub.meet(context.peer);
        std::future::ready(())
    }

    fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourcesResult, ErrorData>> + Send + '_ {
        std::future::ready(Ok(ListResourcesResult::with_all_items(resources::list(&self.hub))))
    }

    fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourceTemplatesResult, ErrorData>> + Send + '_ {
        std::future::ready(Ok(ListResourceTemplatesResult::with_all_items(resources::templates())))
    }

    fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ReadResourceResponse, ErrorData>> + Send + '_ {
        std::future::ready(resources::read(&self.hub, &request.uri).map(Into::into))
    }

    fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListPromptsResult, ErrorData>> + Send + '_ {
        std::future::ready(Ok(ListPromptsResult::with_all_items(prompts::list())))
    }

    fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<GetPromptResponse, ErrorData>> + Send + '_ {
        let arguments = request.arguments.unwrap_or_default();
        std::future::ready(prompts::get(&request.name, &arguments).map(Into::into))
    }
}
