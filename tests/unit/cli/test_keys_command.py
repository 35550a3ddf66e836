"""`bathysphere keys`: what a key is unless the operator says otherwise."""

from argparse import ArgumentParser
from datetime import timedelta

import pytest

from bathysphere.cli import keys
from bathysphere.core.clock import SystemClock
from bathysphere.server.identity.api_keys import ApiKeys


class Made(Exception):
    """A key would be made now."""


@pytest.mark.parametrize(
    ("given", "days"), [((), 90), (("--days", "7"), 7), (("--days", "0"), None)]
)
async def test_a_key_ends_after_ninety_days_unless_another_end_is_given(monkeypatch, given, days):
    async def create(self, owner, *, label, expires_at):
        raise Made(expires_at)

    monkeypatch.setattr(ApiKeys, "create", create)
    parser = ArgumentParser()
    keys.add_arguments(parser)
    args = parser.parse_args(["create", "--tenant", "acme", "--user", "ada", *given])
    with pytest.raises(Made) as made:
        await keys._create(None, args)
    [expires_at] = made.value.args
    if days is None:
        assert expires_at is None
    else:
        left = expires_at - SystemClock().now()
        assert timedelta(days=days, minutes=-1) < left <= timedelta(days=days)
