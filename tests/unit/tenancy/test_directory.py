"""From an identity to a root: what it may use it may choose, and everything else fails closed."""

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.core.identity import Owner
from bathysphere.tenancy.directory import Directory, Tenant
from bathysphere.tenancy.errors import InvalidRoot, NoTenant, TenantChanged, WorkspaceNotAllowed
from bathysphere.tenancy.pin import Pin
from bathysphere.tenancy.quota import Quota
from bathysphere.tenancy.root import Root

TOML = """
[tenant.acme.workspaces]
main = "*"
board = ["ada", "grace"]

[tenant.acme.quota]
bytes = 1000
runs = 3

[tenant.zenith]
"""
ADA = Owner(tenant="acme", user="ada")
BOB = Owner(tenant="acme", user="bob")
EVE = Owner(tenant="elsewhere", user="eve")


@pytest.fixture
def directory():
    return Directory.from_toml(TOML)


def test_an_identity_chooses_among_what_it_may_use(directory):
    assert directory.workspaces(ADA) == ("board", "main")
    assert directory.workspaces(BOB) == ("main",)
    assert directory.root(ADA, "board") == Root(tenant="acme", workspace="board")


def test_the_only_workspace_needs_no_name(directory):
    assert directory.root(BOB) == Root(tenant="acme", workspace="main")
    with pytest.raises(WorkspaceNotAllowed):
        directory.root(ADA)  # it has two


@pytest.mark.parametrize("asked", ["board", "nowhere", "", "../zenith/main", "main/", "MAIN"])
def test_what_it_may_not_use_is_refused_as_what_is_not_there(directory, asked):
    with pytest.raises(WorkspaceNotAllowed) as refused:
        directory.root(BOB, asked)
    with pytest.raises(WorkspaceNotAllowed) as missing:
        directory.root(BOB, "never-heard-of")
    assert str(refused.value) == str(missing.value)


def test_a_tenant_that_is_not_listed_has_nothing(directory):
    assert directory.workspaces(EVE) == ()
    with pytest.raises(WorkspaceNotAllowed):
        directory.root(EVE, "main")
    assert directory.quota("elsewhere") == Quota(bytes=0, objects=0, runs=0)


def test_others_may_have_a_default():
    directory = Directory(others=Tenant())
    assert directory.root(EVE) == Root(tenant="elsewhere", workspace="main")


@pytest.mark.parametrize(
    "identity", [None, Owner(tenant="", user="x"), Owner(tenant="acme", user="")]
)
def test_without_an_identity_there_is_no_root(directory, identity):
    with pytest.raises(NoTenant):
        directory.root(identity, "main")


def test_a_tenant_whose_name_cannot_be_a_key_has_no_root():
    with pytest.raises(InvalidRoot):
        Directory(others=Tenant()).root(Owner(tenant="../acme", user="x"))


def test_quotas_are_read(directory):
    assert directory.quota("acme") == Quota(bytes=1000, runs=3)
    assert directory.quota("zenith") == Quota()


@pytest.mark.parametrize(
    "wrong",
    [
        "not toml at all",
        "[tenant.'a/b']",
        "[tenant.acme.workspaces]\n'../x' = '*'",
        "[tenant.acme.workspaces]\nmain = 'everyone'",
        "[tenant.acme.workspaces]\nmain = ['']",
        "[tenant.acme.quota]\nbytes = -1",
        "[tenant.acme.quota]\nbytse = 1",
        "[tenant.acme]\nworkspace = 'x'",
        "[tenants.acme]",
        "tenant = 3",
    ],
)
def test_a_directory_with_a_mistake_is_the_operators_to_fix(wrong):
    with pytest.raises(ConfigError):
        Directory.from_toml(wrong)


def test_a_pin_holds_a_thread_to_its_root():
    pin = Pin.from_json(Pin.of(Root(tenant="acme", workspace="main")).to_json())
    pin.check(Root(tenant="acme", workspace="main"))
    for other in (
        Root(tenant="acme", workspace="board"),
        Root(tenant="zenith", workspace="main"),
    ):
        with pytest.raises(TenantChanged):
            pin.check(other)


@pytest.mark.parametrize(
    "kept", [None, {}, "acme/main", {"tenant": "acme"}, {"tenant": "a", "workspace": 1}, []]
)
def test_a_pin_that_is_not_one_fails_closed(kept):
    with pytest.raises(TenantChanged):
        Pin.from_json(kept)
