"""An exported report is named after its question, and a question never names a path."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.evidence.file_name import file_stem


@pytest.mark.parametrize(
    ("question", "stem"),
    [
        ("How deep did the bathysphere go?", "how-deep-did-the-bathysphere-go"),
        ('What\'s a "café" – in 1934?', "whats-a-café-in-1934"),
        ("../../etc/passwd", "etc-passwd"),
        ("C:\\Windows\\x", "c-windows-x"),
        ("深海の探検", "深海の探検"),
        ("???", "report"),
        ("", "report"),
        ("CON", "report"),
        ("word " * 40, "-".join(["word"] * 12)),
        ("x" * 100, "x" * 60),
    ],
)
def test_names(question, stem):
    assert file_stem(question) == stem


@given(st.text(max_size=300))
def test_any_question_gives_a_safe_name(question):
    stem = file_stem(question)
    assert 0 < len(stem) <= 60
    assert re.fullmatch(r"[^\W_]+(?:-[^\W_]+)*", stem)
