"""A model for the example without a key: fixed decisions, but its words come from the pages."""

import re

from agent import CRITIC, REPORT, RESEARCHER
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from bathysphere.testing import ScriptedChatModel, Turn, calls, says, together

PARTS = (
    "{question} When was it, and who was inside?",
    "{question} Who made the sphere, and what was it made of?",
)


def scripted_model() -> ScriptedChatModel:
    """Play the lead, the researchers and the critic."""
    return ScriptedChatModel(answer=_turn)


def _turn(messages: list[BaseMessage]) -> Turn:
    system = messages[0].text
    if RESEARCHER in system:
        return _researcher(messages)
    if CRITIC in system:
        return _critic(messages)
    return _lead(messages)


def _lead(messages: list[BaseMessage]) -> Turn:
    question = next(each.text for each in messages if isinstance(each, HumanMessage))
    done = [
        call["name"] for each in messages if isinstance(each, AIMessage) for call in each.tool_calls
    ]
    if not done:
        tasks = [part.format(question=question) for part in PARTS]
        return together(
            *(calls("task", description=each, subagent_type="researcher") for each in tasks)
        )
    results = [
        each.text for each in messages if isinstance(each, ToolMessage) and each.name == "task"
    ]
    if "write_file" not in done:
        return calls("write_file", file_path=REPORT, content=_report(question, results))
    if done[-1] == "write_file":
        return calls("task", description=f"Review {REPORT}.", subagent_type="critic")
    if "edit_file" not in done:
        note = f"## Limits\n\n{results[-1]}\n\n## Sources"
        return calls("edit_file", file_path=REPORT, old_string="## Sources", new_string=note)
    return says("The report is finished.")


def _researcher(messages: list[BaseMessage]) -> Turn:
    part = next(each.text for each in messages if isinstance(each, HumanMessage))
    results = [each.text for each in messages if isinstance(each, ToolMessage)]
    if not results:
        return calls("web_search", query=part)
    blocks = [block.splitlines() for block in results[0].split("\n\n")]
    addresses = [lines[1] for lines in blocks if len(lines) > 1][:2]
    if not addresses:
        return says("I found nothing.")
    if len(results) == 1:
        return together(*(calls("fetch_page", url=each) for each in addresses))
    found = zip(results[1:], addresses, strict=False)
    return says("\n".join(f"- {_best_sentence(page, part)} ({url})" for page, url in found))


def _critic(messages: list[BaseMessage]) -> Turn:
    read = [each.text for each in messages if isinstance(each, ToolMessage)]
    if not read:
        return calls("read_file", file_path=REPORT)
    sources = len(_sources(read[0]))
    return says(
        f"The findings rest on {sources} pages; no claim was compared with a second source."
    )


def _report(question: str, results: list[str]) -> str:
    findings = list(dict.fromkeys("\n".join(results).splitlines()))
    body = "\n".join(findings)
    listed = "\n".join(f"- {each}" for each in _sources(body))
    return f"# {question}\n\n## Findings\n\n{body}\n\n## Sources\n\n{listed}\n"


def _sources(text: str) -> list[str]:
    return sorted(set(re.findall(r"\((\w+:\S+)\)$", text, re.MULTILINE)))


def _best_sentence(page: str, part: str) -> str:
    """The sentence with most words of the question; one with a measurement is preferred."""
    paragraphs = [line for line in page.splitlines() if ". " in line or line.endswith(".")]
    sentences = re.split(r"(?<=\.)\s+", " ".join(paragraphs))
    return max(sentences, key=lambda each: len(_words(each) & _words(part)) + _measures(each))


def _measures(sentence: str) -> int:
    return 2 if re.search(r"\d (metres|tonnes)", sentence) else 0


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 3}
