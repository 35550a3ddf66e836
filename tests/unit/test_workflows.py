"""What `.github/` says is well formed, safe, and calls targets that exist."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in WORKFLOWS}
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]


def tool(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name(name), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


FORMS = sorted(
    {*(GITHUB / "ISSUE_TEMPLATE").glob("*.yml")} - {GITHUB / "ISSUE_TEMPLATE/config.yml"}
)


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("github-workflows", WORKFLOWS),
        ("github-issue-forms", FORMS),
        ("dependabot", [GITHUB / "dependabot.yml"]),
        ("citation-file-format", [ROOT / "CITATION.cff"]),
    ],
)
def test_the_schema_of_each_kind_of_file_fits(schema, paths):
    assert paths
    done = tool("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *paths)
    assert done.returncode == 0, done.stdout


def test_zizmor_finds_nothing():
    done = tool("zizmor", "--offline", "--no-progress", "--color=never", GITHUB)
    assert done.returncode == 0, done.stdout


def test_actions_and_runners_are_pinned_to_exact_versions():
    for name, text in TEXTS.items():
        for version in re.findall(r"uses: \S+@(\S+)", text):
            assert re.fullmatch(r"v\d+\.\d+\.\d+|[0-9a-f]{40}", version), f"{name}: {version}"
        assert "-latest" not in text, name


def test_every_target_that_a_workflow_calls_exists():
    targets = set(re.findall(r"^([a-z0-9_-]+):", (ROOT / "Makefile").read_text(), re.M))
    called = {
        target
        for text in TEXTS.values()
        for line in re.findall(r"run: make ([a-z0-9 _-]+)", text)
        for target in line.split()
    }
    campaigns = yaml.safe_load(TEXTS["nightly.yml"])["jobs"]["campaign"]["strategy"]["matrix"]
    called |= set(campaigns["target"])
    assert len(called) > 10
    assert called - targets == set()


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("web/package.json", r'^  "version": "(.*)"'),
        ("web/package-lock.json", r'^  "version": "(.*)"'),
        ("CITATION.cff", r"^version: (.*)$"),
        ("deploy/kubernetes/base/kustomization.yaml", r'newTag: "(.*)"'),
        ("CHANGELOG.md", r"^## (\S+)"),
    ],
)
def test_every_place_that_names_the_version_has_the_same(path, pattern):
    named = re.findall(pattern, (ROOT / path).read_text(encoding="utf-8"), re.M)
    assert named[:1] == [VERSION]


def test_the_notes_of_a_release_are_those_of_its_version():
    done = subprocess.run(
        ["make", "--silent", "release-notes"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(f"## {VERSION}")
    assert done.stdout.count("\n## ") == 0
