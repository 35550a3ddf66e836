"""The Kubernetes manifests: of the kustomize base, and of the chart as Helm renders it."""

import copy
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
BASE = DEPLOY / "kubernetes" / "base"
CHART = DEPLOY / "helm" / "bathysphere"
KUBERNETES = "1.30"
Document = dict[str, Any]


def base_documents() -> list[Document]:
    """The base's files as they are."""
    names = kustomization()["resources"]
    return [doc for name in names for doc in yaml.safe_load_all((BASE / name).read_text())]


def kustomization() -> Document:
    return yaml.safe_load((BASE / "kustomization.yaml").read_text())


def built_base() -> list[Document]:
    """What `kubectl kustomize` makes of them: labels in selectors and pods, and the image's tag."""
    [labels], [image] = kustomization()["labels"], kustomization()["images"]
    documents = copy.deepcopy(base_documents())
    for doc in documents:
        _label(doc.get("spec", {}), labels["pairs"])
        for container in containers(doc):
            assert container["image"] == image["name"]
            container["image"] += f":{image['newTag']}"
    return documents


def _label(value: Any, pairs: dict[str, str]) -> None:
    if isinstance(value, list):
        for item in value:
            _label(item, pairs)
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        if key == "matchLabels" or (key == "selector" and "matchLabels" not in inner):
            inner.update(pairs)
        elif key == "template":
            inner["metadata"]["labels"].update(pairs)
            _label(inner, pairs)
        elif key != "namespaceSelector":
            _label(inner, pairs)


def containers(document: Document) -> list[Document]:
    if document["kind"] not in ("Deployment", "Job"):
        return []
    return document["spec"]["template"]["spec"]["containers"]


def validate(document: Document) -> None:
    """Against Kubernetes' own schema, no unknown field allowed; KEDA's kinds have none there."""
    if document["apiVersion"].startswith("keda.sh/"):
        assert set(document) == {"apiVersion", "kind", "metadata", "spec"}
        return
    kubernetes_validate.validate(document, KUBERNETES, strict=True)


def helm(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run Helm. Its program comes with the package helm-binary, for x86-64 Linux only."""
    paths = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    program = shutil.which("helm", path=paths)
    if program is None and (sys.platform, platform.machine()) != ("linux", "x86_64"):
        pytest.skip("no package with Helm for this platform")
    assert program, "Helm is missing: make setup"
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def render(values: Path, release: str = "bathysphere", chart: Path = CHART) -> list[Document]:
    done = helm("template", release, chart, "--values", values, "--kube-version", KUBERNETES)
    assert done.returncode == 0, done.stderr
    return [doc for doc in yaml.safe_load_all(done.stdout) if doc]
