//! The server's door. What comes in is stamped with what it met, in the order in which it was read: calls are then worked
//! on side by side, and none is about a session that came after it. What goes out holds nothing that must not be read.

use std::future::Future;
use std::sync::Arc;

use rmcp::model::{
    CallToolResult, ClientRequest, ContentBlock, ErrorData, GetPromptResult, JsonRpcMessage, ReadResourceResult,
    ResourceContents, ServerNotification, ServerResult,
};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;

use super::call::Arrival;
use super::hub::Hub;
use super::tool::Tool;
use crate::secret::Scrub;

/// A transport with somebody at its door.
pub(super) struct Door<T> {
    inner: T,
    hub: Arc<Hub>,
    tools: Arc<[Tool]>,
}

impl<T> Door<T> {
    pub(super) fn new(inner: T, hub: Arc<Hub>, tools: Arc<[Tool]>) -> Self {
        Self { inner, hub, tools }
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for Door<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        mut item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        clean(&mut item, &self.hub.scrub);
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut message = self.inner.receive().await?;
        if let JsonRpcMessage::Request(request) = &mut message
            && let ClientRequest::CallToolRequest(call) = &mut request.request
        {
            let alone = self.tools.iter().any(|tool| tool.name == call.params.name && tool.alone);
            call.extensions.insert(Arrival::now(&self.hub, alone));
        }
        Some(message)
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        self.inner.close()
    }
}

/// Takes out of a message what must not be read, wherever somebody else's words may stand in it.
fn clean(message: &mut TxJsonRpcMessage<RoleServer>, scrub: &Scrub) {
    match message {
        JsonRpcMessage::Response(response) => match &mut response.result {
            ServerResult::CallToolResult(CallToolResult { content, structured_content, .. }) => {
                content.iter_mut().for_each(|block| clean_block(block, scrub));
                structured_content.iter_mut().for_each(|value| scrub.clean_value(value));
            }
            ServerResult::GetPromptResult(GetPromptResult { messages, .. }) => {
                messages.iter_mut().for_each(|message| clean_block(&mut message.content, scrub));
            }
            ServerResult::ReadResourceResult(ReadResourceResult { contents, .. }) => {
                for contents in contents {
                    if let ResourceContents::TextResourceContents { uri, text, .. } = contents {
                        scrub.clean(uri);
                        scrub.clean(text);
                    }
                }
            }
            // Lists of what there is, in our own words.
            _ => {}
        },
        JsonRpcMessage::Error(refused) => {
            let ErrorData { message, data, .. } = &mut refused.error;
            scrub.clean(message.to_mut());
            data.iter_mut().for_each(|value| scrub.clean_value(value));
        }
        JsonRpcMessage::Notification(told) => {
            if let ServerNotification::ProgressNotification(progress) = &mut told.notification {
                progress.params.message.iter_mut().for_each(|text| scrub.clean(text));
            }
        }
        JsonRpcMessage::Request(_) => {}
    }
}

/// A picture is left alone: in its letters and digits a code would be found by chance alone.
fn clean_block(block: &mut ContentBlock, scrub: &Scrub) {
    if let ContentBlock::Text(text) = block {
        scrub.clean(&mut text.text);
    }
}
