"""An agent whose approvals have the form that LangChain's front ends show: all calls of a turn."""

from langchain_core.tools import tool

from bathysphere import AgentSpec, Models


@tool
def send_mail(to: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


def mailer(models: Models) -> AgentSpec:
    """Describe the agent; `serve` passes the configured models."""
    return AgentSpec(
        name="mailer",
        model=models.main,
        prompt="You send mails. Ask for the address if you do not know it.",
        tools=(send_mail,),
        approvals={"send_mail": {"allowed_decisions": ["approve", "reject"]}},
        approval_mode="batched",
    )
