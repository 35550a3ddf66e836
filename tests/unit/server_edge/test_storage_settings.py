"""Where workspaces are kept, from the environment: ours, and the seed's own variables."""

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.core.identity import Owner
from bathysphere.server.workspaces.service import Workspaces
from bathysphere.server.workspaces.settings import StorageSettings
from bathysphere.tenancy.errors import WorkspaceNotAllowed

ADA = Owner(tenant="acme", user="ada")


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in ("BATHYSPHERE_STORAGE_KIND", "GCS_BUCKET_NAME", "GOOGLE_CLOUD_CREDENTIALS_JSON"):
        monkeypatch.delenv(name, raising=False)


def test_nothing_set_means_no_workspaces():
    assert Workspaces.open(StorageSettings.from_environment()) is None


def test_the_seed_variables_are_read(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_STORAGE_KIND", "gcs")
    monkeypatch.setenv("GCS_BUCKET_NAME", "our-bucket")
    monkeypatch.setenv("GOOGLE_CLOUD_CREDENTIALS_JSON", '{"private_key": "hush"}')
    settings = StorageSettings.from_environment()
    assert settings.bucket == "our-bucket"
    assert settings.service_account_key.get_secret_value() == '{"private_key": "hush"}'
    assert "hush" not in repr(settings)


def test_a_bucket_of_the_seed_without_a_kind_is_used_and_named(monkeypatch):
    monkeypatch.setenv("GCS_BUCKET_NAME", "our-bucket")
    summary = StorageSettings.from_environment().summary
    assert summary == "gcs our-bucket, one workspace `main` each"


def test_without_a_file_of_tenants_each_has_one_workspace(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_STORAGE_KIND", "memory")
    workspaces = Workspaces.open(StorageSettings.from_environment())
    assert workspaces.names(ADA) == ("main",)


def test_tenants_are_read_from_their_file(monkeypatch, tmp_path):
    tenants = tmp_path / "tenants.toml"
    tenants.write_text("[tenant.acme.workspaces]\nboard = ['ada']\n")
    monkeypatch.setenv("BATHYSPHERE_STORAGE_KIND", "memory")
    monkeypatch.setenv("BATHYSPHERE_STORAGE_TENANTS", str(tenants))
    workspaces = Workspaces.open(StorageSettings.from_environment())
    assert workspaces.names(ADA) == ("board",)
    with pytest.raises(WorkspaceNotAllowed):
        workspaces.root(Owner(tenant="zenith", user="eve"), "board")


@pytest.mark.parametrize(
    "wrong",
    [
        {"BATHYSPHERE_STORAGE_KIND": "gcs"},
        {"BATHYSPHERE_STORAGE_KIND": "local"},
        {"BATHYSPHERE_STORAGE_KIND": "memory", "BATHYSPHERE_STORAGE_TENANTS": "/nowhere.toml"},
    ],
)
def test_what_is_missing_is_the_operators_to_fix(monkeypatch, wrong):
    for name, value in wrong.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError):
        Workspaces.open(StorageSettings.from_environment())


def test_a_typo_is_one_sentence_that_names_the_variable(monkeypatch):
    monkeypatch.setenv("BATHYSPHERE_STORAGE_KIND", "gsc")
    with pytest.raises(ConfigError, match="BATHYSPHERE_STORAGE_KIND"):
        StorageSettings.from_environment()
