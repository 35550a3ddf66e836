"""The Helm chart: rendered by Helm, known to Kubernetes, and about what the kustomize base says."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))

from manifests import CHART, Document, built_base, containers, helm, render, validate

ROOT = CHART.parents[2]
KEY = "5a" * 32
ADDRESSES = {
    "databaseUrl": "postgresql://db.example:6432/agents",
    "redisUrl": "rediss://cache.example:6380/0",
    "researchSigningKey": KEY,
}
LISTEN = {
    "name": "BATHYSPHERE_DATABASE_LISTEN_URL",
    "valueFrom": {"secretKeyRef": {"name": "direct", "key": "url"}},
}
RULE = {"to": [{"podSelector": {"matchLabels": {"app": "model"}}}], "ports": [{"port": 8000}]}
VALUES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "external database": {
        "secret": {"create": True, **ADDRESSES},
        "networkPolicy": {"databasePort": 6432, "redisPort": 6380},
        "settings": {"BATHYSPHERE_DATABASE_PREPARE": False},
        "env": [LISTEN],
    },
    "own secrets": {"secret": {"name": "ours"}, "modelsSecret": "our-models"},
    "ingress": {
        "ingress": {
            "enabled": True,
            "className": "nginx",
            "hosts": ["agents.example", "a.example"],
            "tlsSecret": "certificate",
            "annotations": {"nginx.ingress.kubernetes.io/proxy-buffering": "off"},
        }
    },
    "autoscaling": {
        "api": {"autoscaling": {"minReplicas": 4, "maxReplicas": 40, "cpuPercent": 75}},
        "worker": {"autoscaling": {"minReplicas": 3, "maxReplicas": 9}},
        "settings": {"BATHYSPHERE_WORKER_CONCURRENCY": 16},
    },
    "replicas": {
        "api": {"autoscaling": {"enabled": False}, "replicas": 3},
        "worker": {"autoscaling": {"enabled": False}, "replicas": 5},
    },
    "placement": {
        "image": {
            "repository": "registry.example/b",
            "digest": f"sha256:{KEY}",
            "pullPolicy": "Always",
        },
        "imagePullSecrets": [{"name": "registry"}],
        "service": {"type": "LoadBalancer", "port": 8080},
        "networkPolicy": {"monitoringNamespace": "metrics", "extraEgress": [RULE]},
        "api": {
            "nodeSelector": {"disk": "fast"},
            "tolerations": [{"key": "agents", "operator": "Exists"}],
            "affinity": {"podAntiAffinity": {}},
            "terminationGracePeriodSeconds": 90,
            "resources": {"limits": {"memory": "4Gi"}},
        },
        "worker": {"nodeSelector": {"disk": "fast"}, "resources": {"limits": {"memory": "8Gi"}}},
        "migrate": {"resources": {"limits": {"memory": "1Gi"}}},
    },
    "no network policy": {"networkPolicy": {"enabled": False}},
}


def written(folder: Path, values: object) -> Path:
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    return path


def rendered(folder: Path, name: str, release: str = "bathysphere") -> dict[Any, Document]:
    documents = render(written(folder, VALUES[name]), release)
    found = {(doc["kind"], doc["metadata"]["name"]): doc for doc in documents}
    assert len(found) == len(documents)
    return found


# ── form ──


@pytest.mark.parametrize("name", VALUES)
def test_helm_and_kubernetes_know_everything(name, tmp_path):
    linted = helm("lint", "--strict", CHART, "--values", written(tmp_path, VALUES[name]))
    assert linted.returncode == 0, linted.stdout
    for document in rendered(tmp_path, name).values():
        validate(document)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"worker": {"replica": 3}}, "replica"),
        ({"api": {"replicas": "three"}}, "api.replicas"),
        ({"image": {"digest": "0.1.0"}}, "image.digest"),
        ({"ingress": {"enabled": True}}, "ingress.hosts"),
        ({"secret": {"create": True, **ADDRESSES, "databaseUrl": ""}}, "secret.databaseUrl"),
        ({"settings": {"auth": "oidc"}}, "settings"),
        ({"settings": {"BATHYSPHERE_WORKER_CONCURRENCY": None}}, "is needed to scale workers"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_in_the_values_is_refused(values, said, tmp_path):
    done = helm("template", "bathysphere", CHART, "--values", written(tmp_path, values))
    assert done.returncode != 0
    assert said in done.stderr


# ── the same deployment ──

HELMS_OWN = {"app.kubernetes.io/instance", "checksum/settings"}


def described(document: Document) -> Document:
    """A manifest without what only Helm adds: its labels, its checksum, a name per revision."""
    kept = {key: value for key, value in document.items() if key != "metadata"}
    return _without(kept, HELMS_OWN)


def _without(value: Any, names: set[str]) -> Any:
    if isinstance(value, list):
        return [_without(item, names) for item in value]
    if isinstance(value, dict):
        return {key: _without(inner, names) for key, inner in value.items() if key not in names}
    return value


def test_the_defaults_and_the_kustomize_base_describe_the_same_deployment(tmp_path):
    chart = {key: described(doc) for key, doc in rendered(tmp_path, "defaults").items()}
    [job] = [key for key in chart if key[0] == "Job"]
    chart["Job", "bathysphere-migrate"] = chart.pop(job)
    base = {(doc["kind"], doc["metadata"]["name"]): described(doc) for doc in built_base()}
    assert chart == base


# ── every set of values ──


@pytest.mark.parametrize("name", VALUES)
def test_pods_have_no_rights_and_refer_to_what_is_there(name, tmp_path):
    found = rendered(tmp_path, name)
    secrets = {doc["metadata"]["name"] for (kind, _), doc in found.items() if kind == "Secret"}
    for document in found.values():
        for container in containers(document):
            pod = document["spec"]["template"]["spec"]
            assert pod["securityContext"]["runAsNonRoot"] is True
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            [settings, *_] = container["envFrom"]
            assert ("ConfigMap", settings["configMapRef"]["name"]) in found
            named = [env["valueFrom"]["secretKeyRef"]["name"] for env in container["env"]]
            assert not secrets or secrets <= {*named}


def test_an_external_database_is_reached_by_its_address_and_port(tmp_path):
    found = rendered(tmp_path, "external database")
    made = found["Secret", "bathysphere"]["stringData"]
    assert made == {
        "database-url": ADDRESSES["databaseUrl"],
        "redis-url": ADDRESSES["redisUrl"],
        "research-signing-key": KEY,
    }
    egress = found["NetworkPolicy", "bathysphere"]["spec"]["egress"]
    assert {"ports": [{"port": 6432}, {"port": 6380}]} in egress
    settings = found["ConfigMap", "bathysphere"]["data"]
    assert settings["BATHYSPHERE_DATABASE_PREPARE"] == "false"
    for document in found.values():
        for container in containers(document):
            assert LISTEN in container["env"]


def test_secrets_of_ones_own_are_used_everywhere(tmp_path):
    found = rendered(tmp_path, "own secrets")
    assert "Secret" not in {kind for kind, _ in found}
    for document in found.values():
        for container in containers(document):
            named = {env["valueFrom"]["secretKeyRef"]["name"] for env in container["env"]}
            assert named == {"ours"}
            models = [source["secretRef"]["name"] for source in container["envFrom"][1:]]
            assert models in ([], ["our-models"])
    queue = found["TriggerAuthentication", "bathysphere-queue"]["spec"]["secretTargetRef"]
    assert queue[0]["name"] == "ours"


def test_an_ingress_leads_to_the_api_and_its_hosts_are_accepted(tmp_path):
    found = rendered(tmp_path, "ingress")
    ingress = found["Ingress", "bathysphere"]["spec"]
    assert ingress["ingressClassName"] == "nginx"
    assert ingress["tls"] == [
        {"hosts": ["agents.example", "a.example"], "secretName": "certificate"}
    ]
    for rule in ingress["rules"]:
        [path] = rule["http"]["paths"]
        aim = path["backend"]["service"]
        ports = found["Service", aim["name"]]["spec"]["ports"]
        assert aim["port"]["name"] in {port["name"] for port in ports}
    settings = found["ConfigMap", "bathysphere"]["data"]
    assert settings["BATHYSPHERE_ALLOWED_HOSTS"] == "agents.example,a.example"


def test_autoscalers_have_the_limits_they_are_given(tmp_path):
    found = rendered(tmp_path, "autoscaling")
    api = found["HorizontalPodAutoscaler", "bathysphere-api"]["spec"]
    assert (api["minReplicas"], api["maxReplicas"]) == (4, 40)
    assert api["metrics"][0]["resource"]["target"]["averageUtilization"] == 75
    worker = found["ScaledObject", "bathysphere-worker"]["spec"]
    assert (worker["minReplicaCount"], worker["maxReplicaCount"]) == (3, 9)
    assert worker["triggers"][0]["metadata"]["targetQueryValue"] == "16"
    for name in ("api", "worker"):
        assert "replicas" not in found["Deployment", f"bathysphere-{name}"]["spec"]


def test_without_autoscalers_the_number_of_replicas_is_fixed(tmp_path):
    found = rendered(tmp_path, "replicas")
    assert found["Deployment", "bathysphere-api"]["spec"]["replicas"] == 3
    assert found["Deployment", "bathysphere-worker"]["spec"]["replicas"] == 5
    kinds = {kind for kind, _ in found}
    assert not kinds & {"HorizontalPodAutoscaler", "ScaledObject", "TriggerAuthentication"}


def test_pods_are_placed_and_sized_as_asked(tmp_path):
    found = rendered(tmp_path, "placement")
    api = found["Deployment", "bathysphere-api"]["spec"]["template"]["spec"]
    wanted = VALUES["placement"]["api"]
    for name in ("nodeSelector", "tolerations", "affinity", "terminationGracePeriodSeconds"):
        assert api[name] == wanted[name]
    assert api["imagePullSecrets"] == [{"name": "registry"}]
    sizes = {}
    for document in found.values():
        for container in containers(document):
            assert container["image"] == f"registry.example/b@sha256:{KEY}"
            assert container["imagePullPolicy"] == "Always"
            sizes[container["name"]] = container["resources"]["limits"]["memory"]
    assert sizes == {"api": "4Gi", "worker": "8Gi", "migrate": "1Gi"}
    service = found["Service", "bathysphere"]["spec"]
    assert (service["type"], service["ports"][0]["port"]) == ("LoadBalancer", 8080)
    policy = found["NetworkPolicy", "bathysphere"]["spec"]
    assert RULE in policy["egress"]
    assert "metrics" in json.dumps(policy["ingress"])


def test_network_policies_can_be_left_out(tmp_path):
    assert "NetworkPolicy" not in {kind for kind, _ in rendered(tmp_path, "no network policy")}


def test_two_releases_in_a_namespace_do_not_touch_each_other(tmp_path):
    one, two = (rendered(tmp_path, "defaults", name) for name in ("blue", "green"))
    assert {*one} & {*two} == set()
    for kind in ("Deployment", "Service"):
        selectors = [
            json.dumps(doc["spec"]["selector"])
            for found in (one, two)
            for (its_kind, _), doc in found.items()
            if its_kind == kind
        ]
        assert len({*selectors}) == len(selectors)


# ── what a person reads, and what is published ──


@pytest.mark.parametrize(
    ("name", "shown", "hidden"),
    [
        ("defaults", ["port-forward service/bathysphere 8123:80", "secret bathysphere"], "https"),
        ("external database", ["keys create", "port-forward"], "They need the secret"),
        ("ingress", ["https://agents.example", "BATHYSPHERE_TRUSTED_PROXIES"], "port-forward"),
    ],
)
def test_the_notes_say_what_to_do_next(name, shown, hidden, tmp_path):
    chart = tmp_path / "chart"
    shutil.copytree(CHART, chart)
    # `helm template` prints no notes: let a manifest contain them.
    shutil.move(chart / "templates" / "NOTES.txt", chart / "NOTES.txt")
    manifest = 'notes: {{ tpl (.Files.Get "NOTES.txt") . | toJson }}'
    (chart / "templates" / "notes.yaml").write_text(manifest)
    documents = render(written(tmp_path, VALUES[name]), chart=chart)
    [notes] = [doc["notes"] for doc in documents if "notes" in doc]
    for words in shown:
        assert words in notes
    assert hidden not in notes


def test_the_packaged_chart_names_the_image_that_is_published_with_it(tmp_path):
    helm("version")
    image = "ghcr.io/acme/bathysphere"
    command = ["make", "--silent", "chart", f"IMAGE={image}", f"CHARTS={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
    package = tmp_path / f"bathysphere-{version}.tgz"
    for document in render(written(tmp_path, {}), chart=package):
        for container in containers(document):
            assert container["image"] == f"{image}:{version}"
