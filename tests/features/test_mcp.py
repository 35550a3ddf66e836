"""MCP tools: from a real MCP server over stdio, through LangChain's adapter, into an agent."""

import sys

from langchain_mcp_adapters.tools import load_mcp_tools
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.testing import ScriptedChatModel, calls, says

SERVER = '''
from mcp.server.fastmcp import FastMCP

server = FastMCP("depths")

@server.tool()
def depth(place: str) -> str:
    """How deep it is."""
    if place == "nowhere":
        raise ValueError("unknown place")
    return f"{place}: 10935 m"

server.run("stdio")
'''


async def test_tools_of_an_mcp_server_work_in_main_agent_and_subagent_and_their_errors_stay_local():
    here = StdioServerParameters(command=sys.executable, args=["-c", SERVER])
    async with stdio_client(here) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = await load_mcp_tools(session)
        model = ScriptedChatModel(
            script=[
                calls("depth", place="Challenger Deep"),
                calls("depth", place="nowhere"),
                calls("task", description="Ask.", subagent_type="general-purpose"),
                calls("depth", place="Puerto Rico Trench"),
                says("Asked."),
                says("Done."),
            ]
        )
        agent = build(AgentSpec(name="test", model=model, tools=tuple(tools)))
        state = await agent.ainvoke({"messages": [("user", "How deep?")]})
    results = [m for m in state["messages"] if m.type == "tool"]
    assert [m.status for m in results] == ["success", "error", "success"]
    assert results[0].text == "Challenger Deep: 10935 m"
    assert "unknown place" in results[1].text
    assert "Puerto Rico Trench: 10935 m" in model.requests[4][-1].text
    model.assert_done()
