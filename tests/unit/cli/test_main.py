"""The front door of the command line: light, and never a traceback."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from bathysphere.cli import main as front
from bathysphere.core import errors

HEAVY = ("langgraph", "langchain", "langchain_core", "deepagents", "pydantic", "httpx", "rich")
FOLDER = Path(front.__file__).parent


def bathysphere(*args, **env):
    return subprocess.run(
        [sys.executable, "-m", "bathysphere.cli.main", *args],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "120", **env},
        timeout=50,
    )


class Failing:
    """A command that raises."""

    HELP = "fail"

    def __init__(self, error):
        self.error = error

    def add_arguments(self, parser):
        pass

    def run(self, args):
        raise self.error


@pytest.fixture
def failing(monkeypatch):
    def make(error):
        monkeypatch.delenv(front.DEBUG, raising=False)
        monkeypatch.setattr(front, "_module", lambda name: Failing(error))

    return make


def test_help_lists_every_command_with_a_line():
    shown = bathysphere("--help")
    assert shown.returncode == 0
    lines = [line.split(None, 1) for line in shown.stdout.splitlines() if line.startswith("    ")]
    assert {line[0]: line[1] for line in lines} == {
        name: front._module(name).HELP for name in front.COMMANDS
    }
    assert bathysphere().stdout == shown.stdout


def test_help_imports_nothing_of_the_agent_stack_and_is_quick():
    code = (
        "import json, sys\nfrom bathysphere.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    )
    seconds = []
    for _ in range(3):  # the machine's other work only ever adds: the least is the command's own
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    loaded = {name.partition(".")[0] for name in json.loads(shown.stderr)}
    assert "bathysphere" in loaded
    assert loaded.isdisjoint(HEAVY)
    assert min(seconds) < 0.2


def test_importing_the_package_imports_nothing_of_the_agent_stack():
    code = "import sys, bathysphere; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert {name.partition(".")[0] for name in loaded.split()}.isdisjoint(HEAVY)


def test_every_module_of_the_folder_is_a_command():
    modules = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "main"}
    assert modules == set(front.COMMANDS)
    for name in front.COMMANDS:
        module = front._module(name)
        assert module.HELP
        assert callable(module.add_arguments)
        assert callable(module.run)


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit) as left:
        front.main(["--version"])
    assert left.value.code == 0
    assert capsys.readouterr().out == "bathysphere 0.1.0\n"


def test_an_unknown_command_suggests_one(capsys):
    assert front.main(["caht"]) == 2
    assert capsys.readouterr().err == (
        "error: there is no command 'caht'\nhint: did you mean `bathysphere chat`?\n"
    )


def test_a_command_like_no_other_points_to_the_help(capsys):
    assert front.main(["zzz"]) == 2
    assert "hint: see `bathysphere --help`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.ConfigError("no", hint="fix"), 1),
        (errors.ModelUnavailable("no", hint="fix"), 1),
        (errors.CallerError("no", hint="fix"), 1),
        (errors.NotAllowed("no", hint="fix"), 1),
        (errors.UpstreamError("no", hint="fix"), 2),
    ],
)
def test_an_error_of_ours_is_a_sentence_a_hint_and_an_exit_code(failing, capsys, error, code):
    failing(error)
    assert front.main(["chat"]) == code
    assert capsys.readouterr().err == "error: no\nhint: fix\n"


def test_the_table_of_exit_codes_knows_only_codes_that_exist():
    codes = {
        error.code
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.BathysphereError)
    }
    assert front.EXIT_CODES.keys() <= codes


def test_a_bug_is_a_sentence_too(failing, capsys):
    failing(ZeroDivisionError("oh"))
    assert front.main(["chat"]) == 70
    shown = capsys.readouterr().err
    assert shown.startswith("error: ZeroDivisionError: oh\n")
    assert "BATHYSPHERE_DEBUG=1" in shown


def test_debugging_shows_the_traceback(failing, monkeypatch):
    failing(errors.ConfigError("no"))
    monkeypatch.setenv(front.DEBUG, "1")
    with pytest.raises(errors.ConfigError):
        front.main(["chat"])


def test_ctrl_c_is_an_exit_code(failing):
    failing(KeyboardInterrupt())
    assert front.main(["chat"]) == 130


def test_a_reader_that_goes_away_is_no_traceback():
    child = subprocess.run(
        f"{sys.executable} -m bathysphere.cli.main agents simple | head -1",
        shell=True,
        capture_output=True,
        text=True,
    )
    assert child.stdout == "agent simple\n"
    assert "Traceback" not in child.stderr
