"""An announcement is short, says what comes next, and asks nothing."""

import pytest

from bathysphere.models.announcements import is_announcement


@pytest.mark.parametrize(
    "text",
    ["Let me look at the files first.", "I will now do what you asked.", "Step 1:",
     "I'll start by reading the file.", "I am going to list the files, then write.", "Sure:"],
)  # fmt: skip
def test_an_announcement(text):
    assert is_announcement(text)


@pytest.mark.parametrize(
    "text",
    ["", "Done.", "I will remember that.", "Let me know if you need more.",
     "Let me check: what do you mean?", "I'll keep it in mind.", "The file is empty.",
     "I will write " + "many words " * 40],
)  # fmt: skip
def test_an_answer(text):
    assert not is_announcement(text)
