"""The front door of the command line: light, and never a traceback."""

import json
import os
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


def test_help_imports_nothing_of_the_agent_stack_and_is_quick(within):
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
    within(min(seconds), 0.2)


def test_importing_the_package_imports_nothing_of_the_agent_stack():
    code = "import sys, bathysphere; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert {name.partition(".")[0] for name in loaded.split()}.isdisjoint(HEAVY)


def test_every_module_of_the_folder_is_a_command():
    modules = {path.stem for path in FOLDER.glob("*.py")} - {
        "__init__",
        "database",
        "failures",
        "main",
        "mcp_hub",
        "model_report",
        "simple_config",
        "support_report",
        "targets",
    }
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
        "error: Unknown command: caht\nhint: did you mean `bathysphere chat`?\n"
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


ACTIONS = [
    "audit verify",
    "budgets list",
    "encryption status",
    "keys list",
    "payments audit",
    "runs dead",
    "users export ada -o ada.zip",
]


@pytest.mark.parametrize("words", ACTIONS)
def test_the_database_is_named_before_or_after_the_action(words):
    command, *action = words.split()
    where = ["--database-url", "postgresql://db/x", "--data-dir", "here"]
    parser = front.create_parser([command])
    before = parser.parse_args([command, *where, *action])
    assert (before.database_url, before.data_dir) == ("postgresql://db/x", Path("here"))
    assert parser.parse_args([command, *action, *where]) == before
    assert parser.parse_args([command, *action]).database_url is None


def test_help_is_a_command_too():
    assert bathysphere("help").stdout == bathysphere("--help").stdout
    assert bathysphere("help", "serve").stdout == bathysphere("serve", "--help").stdout


def test_serve_is_introduced_by_the_browser():
    for shown in (bathysphere("--help"), bathysphere("serve", "--help")):
        assert "in your browser" in " ".join(shown.stdout.split())


@pytest.mark.parametrize(
    ("error", "sentence", "hint"),
    [
        (ModuleNotFoundError("no", name="coincurve"), "optional dependency", "[payments]"),
        (ModuleNotFoundError("no", name="psycopg.rows"), "'psycopg' is missing", "pip install"),
        (ExceptionGroup("", [errors.ConfigError("no", hint="fix")]), "no", "fix"),
        (FileNotFoundError(2, "No such file", "a.md"), "Cannot use a.md: No such file", "path"),
    ],
)
def test_what_a_person_can_mend_is_never_called_a_bug(failing, capsys, error, sentence, hint):
    failing(error)
    assert front.main(["chat"]) == 1
    shown = capsys.readouterr().err
    assert sentence in shown.splitlines()[0]
    assert hint in shown.splitlines()[1]
    assert "bug" not in shown


def test_a_module_of_our_own_that_is_missing_is_a_bug(failing, capsys):
    failing(ModuleNotFoundError("no", name="bathysphere.nothing"))
    assert front.main(["chat"]) == 70


def test_an_unknown_agent_is_refused_before_the_stack_is_loaded():
    code = (
        "import sys\nfrom bathysphere.cli.main import main\ncode = main(['chat', 'tutro'])\n"
        "assert code == 1\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "Unknown agent: tutro" in done.stderr
    assert {name.partition(".")[0] for name in done.stdout.split()}.isdisjoint(HEAVY)


def test_every_command_reads_the_env_file_of_the_folder(monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BATHYSPHERE_SET", "outside")
    monkeypatch.delenv("BATHYSPHERE_NEW", raising=False)
    seen = {}

    class Looking(Failing):
        def run(self, args):
            seen.update(os.environ)
            return 0

    monkeypatch.setattr(front, "_module", lambda name: Looking(None))
    environment = dict(os.environ)
    try:
        (tmp_path / ".env").write_text("BATHYSPHERE_NEW=1\nBATHYSPHERE_SET=file\n")
        assert front.main(["doctor"]) == 0
        assert (seen["BATHYSPHERE_NEW"], seen["BATHYSPHERE_SET"]) == ("1", "outside")
        assert "Read BATHYSPHERE_NEW from .env." in capsys.readouterr().err
        (tmp_path / "other").write_text("BATHYSPHERE_OTHER=2\n")
        assert front.main(["doctor", "--env-file", "other"]) == 0
        assert seen["BATHYSPHERE_OTHER"] == "2"
        assert front.main(["--env-file=nowhere", "doctor"]) == 1
        assert "Cannot use nowhere" in capsys.readouterr().err
    finally:
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
