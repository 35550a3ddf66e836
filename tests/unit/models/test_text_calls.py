"""Calls in text: what is one, what is quoted, and how long the reading takes."""

import json
import time

import pytest

from bathysphere.models.text_calls import MAX_PROSE, TextCall, read_calls, unwrapped

NAMES = ("write_file", "ls", "task")
CALL = {"name": "write_file", "arguments": {"file_path": "/a.md", "content": "```py\n1\n```"}}
BODY = json.dumps(CALL)
WANTED = (TextCall("write_file", CALL["arguments"]),)
LS = (TextCall("ls", {"path": "/"}),)
PROSE = "A sentence that says something. " * 20


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        json.dumps(CALL, indent=2),
        f"```json\n{BODY}\n```",
        f"```\n{BODY}\n```",
        f"```json\n{BODY}",  # the end was cut off
        f"Sure, I will write it:\n\n```json\n{BODY}\n```\nThat is all.",
        f"Okay.\n{BODY}",
        f"<think>Should I write? {BODY}</think>{BODY}",
        f"<tool_call>\n{BODY}\n</tool_call>",
        f"<tool_call>{BODY}",
        f"I write it.\n<tool_call>\n{BODY}\n</tool_call>",
        f"[TOOL_CALLS] [{BODY}]",
        f"[TOOL_CALLS]write_file[ARGS]{json.dumps(CALL['arguments'])}",
        f"<|python_tag|>{BODY}<|eom_id|>",
        f"<function=write_file>{json.dumps(CALL['arguments'])}</function>",
        f">>>write_file\n{json.dumps(CALL['arguments'])}",
        json.dumps({"name": "write_file", "parameters": CALL["arguments"]}),
        json.dumps({"tool": "write_file", "args": CALL["arguments"]}),
        json.dumps({"action": "write_file", "action_input": CALL["arguments"]}),
        json.dumps({"type": "function", "function": CALL}),
        json.dumps({"tool_calls": [{"id": "1", "type": "function", "function": CALL}]}),
        json.dumps({"name": "write_file", "arguments": json.dumps(CALL["arguments"])}),
        json.dumps({"write_file": CALL["arguments"]}),
        json.dumps({"name": "write_file", **CALL["arguments"]}),
        json.dumps([CALL]),
    ],
)
def test_the_formats_of_local_models_are_read(text):
    found = read_calls(text, NAMES)
    assert found is not None
    assert found.calls == WANTED
    assert found.is_alone


def test_parameters_in_tags_are_read():
    text = (
        "<tool_call>\n<function=ls>\n<parameter=path>\n/\n</parameter>\n</function>\n</tool_call>"
    )
    assert read_calls(text, NAMES).calls == LS
    number = "<function=ls><parameter=depth>2</parameter></function>"
    assert read_calls(number, NAMES).calls == (TextCall("ls", {"depth": 2}),)


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"name": "ls", "arguments": {"path": "/"}}\n```\n' * 2,
        '<tool_call>{"name": "ls", "arguments": {"path": "/"}}</tool_call>' * 2,
        '<|python_tag|>{"name": "ls", "parameters": {"path": "/"}}; '
        '{"name": "ls", "parameters": {"path": "/"}}',
        '{"name": "ls", "arguments": {"path": "/"}}\n{"name": "ls", "arguments": {"path": "/"}}',
    ],
)
def test_several_calls_are_read(text):
    assert read_calls(text, NAMES).calls == LS * 2


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Hello.",
        "Use `ls` to list files.",
        '{"name": "Ann", "age": 7}',
        '{"name": "ls"} lists files.' + PROSE,
        f"{PROSE}\n```json\n{BODY}\n```",
        f"```json\n{BODY}\n```\n{PROSE}",
        f"```json\n{BODY}\n```\n```python\nprint()\n```",
        f"In Qwen's format it is:\n```xml\n<tool_call>{BODY}</tool_call>\n```",
        '{"person": {"name": "ls"}, "items": []}',
        '[{"name": "Ann"}, {"name": "Bob"}]',
        '{"name": "Ann Lee", "parameters": {"age": 7}}',  # no name of a tool
        '{"name": "ls", "arguments": {"path"',
        "<tool_call>nothing</tool_call>",
        ">>> ls",
        '```json\n{"name": "config", "version": 2}\n```',
    ],
)
def test_an_ordinary_answer_is_left_alone(text):
    assert read_calls(text, NAMES) is None


def test_a_call_of_an_unknown_tool_is_read_if_its_form_is_clear():
    assert read_calls('{"name": "browse", "arguments": {}}', NAMES).calls == (
        TextCall("browse", {}),
    )
    assert read_calls('{"name": "browse"}', NAMES) is None


@pytest.mark.parametrize(
    "text", [f"{PROSE}<tool_call>{BODY}</tool_call>", f"[TOOL_CALLS] [{BODY}]"]
)
def test_a_tag_in_much_prose_may_be_quoted(text):
    found = read_calls(text, NAMES)
    assert found.calls == WANTED
    assert found.is_alone == (not text.startswith("A sentence"))


def test_prose_is_little_up_to_a_limit():
    call = '\n{"name": "ls", "arguments": {"path": "/"}}'
    assert read_calls("x" * (MAX_PROSE - 10) + call, NAMES).calls == LS
    assert read_calls("x" * (MAX_PROSE + 10) + call, NAMES) is None


@pytest.mark.parametrize(
    "unit",
    ["{", "[", "```", "```json\n{", "<tool_call>", "<tool_call>{", "<function=", "[TOOL_CALLS]",
     "<parameter=", '{"name": "ls", "arguments": {}} ', "\n{", "<think>", '{"a":'],
)  # fmt: skip
def test_reading_takes_linear_time(unit):
    def seconds(length):
        text = unit * (length // len(unit))
        began = time.process_time()
        read_calls(text, NAMES)
        return time.process_time() - began

    assert seconds(400_000) < 40 * min(seconds(40_000) for _ in range(3)) + 0.05


def test_an_answer_in_the_form_of_a_call_is_unwrapped():
    assert unwrapped({"name": "answer", "arguments": {"claims": []}}) == {"claims": []}
    plain = {"objective": "x", "steps": []}
    assert unwrapped(plain) == plain
