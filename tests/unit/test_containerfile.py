"""The steps that `make image-root` takes are all the steps of the Containerfile."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "image"))

from containerfile import read_stages

ROOT = Path(__file__).parents[2]


def test_every_instruction_of_ours_is_a_step_or_for_the_runtime():
    path = ROOT / "deploy" / "Containerfile"
    stages = read_stages(path)
    assert [stage.name for stage in stages] == ["web", "build", "final"]
    steps = [(step.kind, step.text) for stage in stages for step in stage.steps]
    written = [line.split()[0] for line in path.read_text().splitlines() if line[:1].isupper()]
    runtime = ("FROM", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK")
    assert [kind for kind, _ in steps] == [kind for kind in written if kind not in runtime]
    assert ("USER", "10001:10001") in steps
    assert all("\\" not in text for _, text in steps)


def test_lines_are_joined_and_variables_and_lists_are_read(tmp_path):
    file = tmp_path / "Containerfile"
    file.write_text(
        'FROM a AS b\n# a comment\nENV X=1 \\\n    Y="two words"\nRUN one \\\n # inside\n && two\n'
        'ENTRYPOINT ["p", "q"]\nCOPY --from=b /x ./y\n'
    )
    [stage] = read_stages(file)
    env, run, entry, copy = stage.steps
    assert (stage.base, stage.name) == ("a", "b")
    assert env.variables == {"X": "1", "Y": "two words"}
    assert run.text.split() == ["one", "&&", "two"]
    assert entry.words == ["p", "q"]
    assert copy.words == ["--from=b", "/x", "./y"]


def test_an_instruction_that_is_not_known_is_an_error(tmp_path):
    file = tmp_path / "Containerfile"
    file.write_text("FROM a\nADD https://example.org/x /x\n")
    with pytest.raises(ValueError, match="ADD"):
        read_stages(file)
