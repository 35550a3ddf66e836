"""Stories that measure how a page draws, and so run without others beside them."""

import pytest

from bathysphere.testing import says, slowly

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(120)]

READING = r'''Pressure grows with depth: $p = \rho g h$, or in full

$$
p(h) = p_0 + \int_0^h \rho(z)\, g \,dz
- \frac{1}{2}\rho v^2
$$

where $\vec{g}$ points down, and for a layered sea

\[
\begin{pmatrix} p_1 \\ p_2 \\ p_3 \end{pmatrix}
= \sum_{i=1}^{n} \rho_i \, g \, \Delta h_i \begin{pmatrix} 1 \\ 1 \\ 1 \end{pmatrix}
\]

# Costs and numbers

It costs \$5 to $10 a day; $\notacommand{1}$ means nothing.

## In numbers

| where | depth in m | bar | note |
|---|---|---|---|
| surface | 0 | 1.0 | =1+1 |
| Beebe, 1934 | 923 | 93.9 | $p$ |

```python
def pressure(depth: float) -> float:
    """The pressure in bar; 0 is the surface."""
    return 1.0 + depth * 0.1  # roughly
```

```whalesong
sing <script>window.hacked = 1</script>
```

That is all.'''


def test_an_answer_is_read_with_formulas_code_and_tables(story, within):
    figures = story("reading", [slowly(says(READING), pause=0.01)])
    within(figures["layout_shift"], 0.02, figures)


def test_a_long_answer_with_many_calls_never_blocks_the_page(story, within):
    figures = story("long")
    assert figures["characters"] > 100_000  # of 200 kB of Markdown
    within(figures["longest_task_ms"], 100, figures)


def test_a_conversation_of_two_thousand_messages_is_opened_and_continued(story, within):
    figures = story("long_thread")
    within(figures["opened_ms"], 1_500, figures)
    within(figures["longest_task_ms"], 100, figures)
    assert figures["heap_after_mb"] < 150


@pytest.mark.long(
    "tests/e2e/web/test_measured_stories.py"
    "::test_a_conversation_of_two_thousand_messages_is_opened_and_continued"
)
def test_five_hundred_conversations_are_listed_and_one_is_found(story, within):
    figures = story("many_conversations")
    within(figures["opened_ms"], 1_500, figures)


@pytest.mark.long(
    "tests/e2e/web/test_measured_stories.py::test_an_answer_is_read_with_formulas_code_and_tables"
)
def test_every_page_is_drawn_soon_and_nothing_jumps(story, within):
    figures = story("paint", [says(READING)])
    within(figures["layout_shift"], 0.02, figures)
    within(figures["largest_ms"], 1_200, figures)
