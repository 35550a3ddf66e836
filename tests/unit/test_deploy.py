"""What `deploy/` says is well formed, safe, and about settings that exist."""

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import compose_spec
import pytest
import yaml
from yamllint import linter
from yamllint.config import YamlLintConfig

sys.path.insert(0, str(Path(__file__).parent))

from manifests import BASE, DEPLOY, base_documents, kustomization, validate

from bathysphere.agents.research.settings import PREFIX as RESEARCH
from bathysphere.agents.research.settings import ResearchSettings
from bathysphere.models.settings import PREFIX as MODEL
from bathysphere.models.settings import ModelSettings
from bathysphere.server.process.settings import DRAIN_MARGIN, PREFIX, ServerSettings

CONTAINERFILE = DEPLOY / "Containerfile"
COMPOSE = DEPLOY / "compose.yaml"
YAML_FILES = sorted(path for path in DEPLOY.rglob("*.yaml") if path.parent.name != "templates")
LINT = YamlLintConfig(
    "{extends: default, rules: {line-length: {max: 140}, document-start: disable,"
    " comments-indentation: disable}}"
)
DOCUMENTS = base_documents()
BY_NAME = {(doc["kind"], doc["metadata"]["name"]): doc for doc in DOCUMENTS}
PODS = {
    name: doc["spec"]["template"]
    for (kind, name), doc in BY_NAME.items()
    if kind in ("Deployment", "Job")
}
SETTINGS = BY_NAME["ConfigMap", "bathysphere"]["data"]
COMPOSED = yaml.safe_load(COMPOSE.read_text())


def seconds(text: str) -> float:
    assert re.fullmatch(r"\d+s", text)
    return float(text[:-1])


# ── form ──


@pytest.mark.parametrize("path", YAML_FILES, ids=lambda path: path.name)
def test_yaml_is_tidy(path):
    assert [str(problem) for problem in linter.run(path.read_text(), LINT)] == []


def test_the_container_file_passes_its_linter():
    hadolint = Path(sys.executable).with_name("hadolint")
    done = subprocess.run(
        [hadolint, "--no-color", CONTAINERFILE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_the_compose_file_is_one():
    composed = compose_spec.PyCompose.from_yaml(yaml.safe_dump(COMPOSED))
    assert sorted(composed.service_names()) == ["api", "migrate", "postgres", "redis", "worker"]


@pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda doc: f"{doc['kind']}-{doc['metadata']['name']}"
)
def test_kubernetes_knows_every_field(document):
    validate(document)


def test_every_manifest_is_in_the_kustomization():
    listed = kustomization()["resources"]
    there = {path.name for path in BASE.glob("*.yaml")} - {"kustomization.yaml"}
    assert set(listed) == there


# ── settings ──


def variables() -> dict[str, set[str]]:
    named = {
        "Containerfile": set(re.findall(r"\b(BATHYSPHERE_\w+)=", CONTAINERFILE.read_text())),
        "compose": {n for s in COMPOSED["services"].values() for n in s.get("environment", {})},
        "kubernetes": set(SETTINGS)
        | {env["name"] for pod in PODS.values() for env in container(pod).get("env", [])},
    }
    return {where: {n for n in names if n.startswith(PREFIX)} for where, names in named.items()}


def container(pod: dict[str, Any]) -> dict[str, Any]:
    [only] = pod["spec"]["containers"]
    return only


@pytest.mark.parametrize("where", ["Containerfile", "compose", "kubernetes"])
def test_every_variable_is_a_setting(where):
    fields = {f"{PREFIX}{name}".upper() for name in ServerSettings.model_fields}
    fields |= {f"{RESEARCH}{name}".upper() for name in ResearchSettings.model_fields}
    fields |= {f"{MODEL}{name}".upper() for name in ModelSettings.model_fields}
    assert variables()[where], "there are some"
    assert variables()[where] <= fields


def test_the_image_can_start_with_the_settings_it_is_given(monkeypatch):
    baked = dict(re.findall(r"\b(BATHYSPHERE_\w+)=(\S+)", CONTAINERFILE.read_text()))
    for name, value in {**baked, **SETTINGS}.items():
        monkeypatch.setenv(name, value)
    settings = ServerSettings.from_environment()
    assert not settings.is_anonymous
    assert (settings.port, settings.metrics_port) == (8123, 9100)


# ── safety ──


@pytest.mark.parametrize("name", PODS)
def test_a_pod_has_no_rights_it_does_not_need(name):
    pod, inside = PODS[name]["spec"], container(PODS[name])
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] >= 10_000
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    rights = inside["securityContext"]
    assert rights["readOnlyRootFilesystem"] is True
    assert rights["allowPrivilegeEscalation"] is False
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert inside["resources"]["requests"]
    assert inside["resources"]["limits"]["memory"]


def test_no_secret_is_written_down():
    for path in (*YAML_FILES, CONTAINERFILE):
        assert not re.search(r"://[^:@/\s$]+:[^@$\s{]+@", path.read_text()), path.name
    assert "Secret" not in {kind for kind, _ in BY_NAME}
    for name, service in COMPOSED["services"].items():
        if service["image"] == "bathysphere":
            assert service["read_only"], name
            assert service["cap_drop"] == ["ALL"], name


def test_nothing_of_the_cluster_can_be_reached_from_a_tool():
    rules = BY_NAME["NetworkPolicy", "bathysphere"]["spec"]["egress"]
    [web] = [rule for rule in rules if any("ipBlock" in to for to in rule.get("to", []))]
    closed = web["to"][0]["ipBlock"]["except"]
    assert {"10.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"} <= set(closed)
    assert web["ports"] == [{"port": 443}]


# ── life ──


@pytest.mark.parametrize("name", ["bathysphere-api", "bathysphere-worker"])
def test_a_process_is_asked_how_it_is_and_given_time_to_leave(name):
    inside = container(PODS[name])
    assert inside["livenessProbe"]["httpGet"] == {"path": "/livez", "port": "probes"}
    assert inside["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "probes"}
    assert {"name": "probes", "containerPort": 9100} in inside["ports"]
    budgets = BY_NAME["PodDisruptionBudget", name]["spec"]
    assert budgets["selector"]["matchLabels"].items() <= PODS[name]["metadata"]["labels"].items()


def test_a_worker_has_longer_to_leave_than_it_needs_to_drain():
    drain = float(SETTINGS["BATHYSPHERE_DRAIN_SECONDS"]) + DRAIN_MARGIN
    assert PODS["bathysphere-worker"]["spec"]["terminationGracePeriodSeconds"] > drain
    composed = COMPOSED["services"]["worker"]
    drain = float(composed["environment"]["BATHYSPHERE_DRAIN_SECONDS"]) + DRAIN_MARGIN
    assert seconds(composed["stop_grace_period"]) > drain


def test_an_api_has_longer_to_leave_than_load_balancers_need_to_notice():
    defaults = ServerSettings.model_fields
    delay = float(SETTINGS["BATHYSPHERE_STOP_DELAY_SECONDS"])
    closing = defaults["stream_close_seconds"].default
    grace = PODS["bathysphere-api"]["spec"]["terminationGracePeriodSeconds"]
    assert grace > delay + closing + DRAIN_MARGIN


def test_selectors_find_their_pods():
    service = BY_NAME["Service", "bathysphere"]["spec"]
    api = PODS["bathysphere-api"]
    assert service["selector"].items() <= api["metadata"]["labels"].items()
    assert service["ports"][0]["targetPort"] in {p["name"] for p in container(api)["ports"]}
    for kind, name in BY_NAME:
        if kind == "Deployment":
            spec = BY_NAME[kind, name]["spec"]
            wanted = spec["selector"]["matchLabels"].items()
            assert wanted <= spec["template"]["metadata"]["labels"].items()


def test_workers_are_scaled_by_what_one_of_them_can_do_and_apis_by_load():
    scaling = BY_NAME["ScaledObject", "bathysphere-worker"]["spec"]
    assert ("Deployment", scaling["scaleTargetRef"]["name"]) in BY_NAME
    [trigger] = scaling["triggers"]
    assert trigger["type"] == "postgresql"
    assert trigger["metadata"]["targetQueryValue"] == SETTINGS["BATHYSPHERE_WORKER_CONCURRENCY"]
    assert ("TriggerAuthentication", trigger["authenticationRef"]["name"]) in BY_NAME
    target = BY_NAME["HorizontalPodAutoscaler", "bathysphere-api"]["spec"]["scaleTargetRef"]
    assert ("Deployment", target["name"]) in BY_NAME


# ── the build ──

ROOT = DEPLOY.parent


def test_build_tools_are_pinned_exactly_and_alike():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for requirement in project["build-system"]["requires"]:
        assert re.fullmatch(r"[a-z-]+==\d+(\.\d+)+", requirement), requirement
    files = (CONTAINERFILE, ROOT / "scripts" / "setup.sh")
    named = [re.findall(r"\buv([=<>~!][^\s\"]*)", f.read_text(encoding="utf-8")) for f in files]
    assert all(named)
    pins = {pin for pins in named for pin in pins}
    assert len(pins) == 1
    assert re.fullmatch(r"==\d+\.\d+\.\d+", pins.pop())


def locked(path: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+)", path.read_text(encoding="utf-8"), re.M))


def test_the_image_has_every_extra_that_a_shipped_agent_needs():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {*project["optional-dependencies"]} - {"all", "local", "testing", "eval"}
    [named] = re.findall(r"^IMAGE_EXTRAS := (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert set(named.split()) == extras
    wanted = [
        *project["dependencies"],
        *(r for e in extras for r in project["optional-dependencies"][e]),
    ]
    there = locked(DEPLOY / "requirements.lock")
    for requirement in wanted:
        [name] = re.findall(r"^[a-z0-9-]+", requirement)
        assert name in there, f"{name}: make lock"


def test_the_image_is_locked_by_hash_to_what_is_tested():
    tested = locked(ROOT / "requirements.lock")
    shipped = locked(DEPLOY / "requirements.lock")
    assert {name: tested.get(name) for name in shipped} == shipped
    assert locked(DEPLOY / "build.lock").keys() >= {"build", "cyclonedx-bom", "hatchling"}
    text = CONTAINERFILE.read_text()
    installed = re.findall(r"uv pip install (.*)", text)
    assert len(installed) == 3
    for line in installed:
        assert "--require-hashes" in line or "--no-deps" in line, line


def test_the_image_has_the_browser_app_and_a_list_of_its_parts():
    text = CONTAINERFILE.read_text()
    static = "src/bathysphere/server/static"
    assert "npm ci" in text
    assert "npm run --silent build" in text
    assert f"COPY --from=web /build/{static} ./{static}" in text
    assert "sbom/web.cdx.json" in text
    assert "sbom/python.cdx.json" in text


def test_the_build_context_has_what_is_copied_and_nothing_built_elsewhere():
    kept = (ROOT / ".dockerignore").read_text().splitlines()
    assert kept[1] == "*"
    allowed = {line[1:] for line in kept if line.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", CONTAINERFILE.read_text(), re.M)
    sources = {source.removesuffix("/") for line in copied for source in line.split()}
    assert {s for s in sources if not {s, s.split("/")[0]} & allowed} == set()
    server = "src/bathysphere/server"
    for built in (f"{server}/help", f"{server}/static", "web/node_modules", "web/weights"):
        assert built in kept


def test_the_image_has_the_documentation_site_before_the_wheel_is_built():
    text = CONTAINERFILE.read_text()
    assert text.index("-m mkdocs build") < text.index("-m build --wheel")
    pinned = (DEPLOY / "build.lock").read_text()
    assert "\nmkdocs-material==" in pinned
    assert "\nmkdocstrings-python==" in pinned


def test_the_wheel_has_the_browser_app_and_the_documentation_site():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    artifacts = project["tool"]["hatch"]["build"]["artifacts"]
    assert artifacts == [f"src/bathysphere/server/{name}/**" for name in ("static", "help")]
    assert re.search(r"^wheel: web docs ", (ROOT / "Makefile").read_text(), re.M)


def test_the_example_of_settings_is_about_what_compose_passes_on():
    example = (DEPLOY / ".env.example").read_text()
    named = set(re.findall(r"^([A-Z_]+)=", example, re.M))
    passed = {name for name, value in COMPOSED["x-bathysphere"]["environment"].items() if not value}
    assert named == passed | {"POSTGRES_PASSWORD"}
    assert "POSTGRES_PASSWORD=bathysphere" in example, "it works as it is"
    assert "deploy/.env" in (ROOT / ".gitignore").read_text().splitlines()


@pytest.mark.node
def test_the_build_writes_the_licences_of_everything_it_may_ship(tmp_path):
    package = json.loads((ROOT / "web" / "package.json").read_text(encoding="utf-8"))
    assert "vite build && node scripts/licenses.mjs" in package["scripts"]["build"]
    written = tmp_path / "THIRD_PARTY.txt"
    subprocess.run(
        ["node", ROOT / "web" / "scripts" / "licenses.mjs", written], check=True, timeout=60
    )
    text = written.read_text(encoding="utf-8")
    for name, version in {**package["dependencies"], "svelte": ""}.items():
        part = re.search(rf"^{re.escape(name)} {version}.*\n─+\n\n([\s\S]*?)(?=\n─|\Z)", text, re.M)
        assert part, name
        assert re.search("permission|permitted|Apache|Mozilla|grant", part[1], re.I), name
