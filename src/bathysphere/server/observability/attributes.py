"""Span attribute names, in one place because OpenTelemetry's conventions still change."""

from bathysphere.core import tracing

ERROR_TYPE = "error.type"

OPERATION = tracing.OPERATION
PROVIDER = "gen_ai.provider.name"
REQUEST_MODEL = "gen_ai.request.model"
INPUT_TOKENS = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
AGENT_NAME = "gen_ai.agent.name"
CONVERSATION_ID = "gen_ai.conversation.id"
TOOL_NAME = tracing.TOOL_NAME
TOOL_CALL_ID = "gen_ai.tool.call.id"

CHAT = "chat"
EXECUTE_TOOL = tracing.EXECUTE_TOOL
INVOKE_AGENT = "invoke_agent"

RUN_ID = "bathysphere.run.id"
TENANT = "bathysphere.tenant"
NODE = "bathysphere.graph.node"
TIME_TO_FIRST = "bathysphere.model.first_token_s"
TOKENS_PER_S = "bathysphere.model.tokens_per_s"
CORRECTION = "bathysphere.correction.kind"
CORRECTION_ABOUT = "bathysphere.correction.about"
