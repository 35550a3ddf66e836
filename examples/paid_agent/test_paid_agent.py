"""`pay.py` pays the real server with e-cash of a real mint, and gets the rest back."""

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
pytest_plugins = ["bathysphere.testing.fixtures"]
pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]


@pytest.fixture
def url(serve, fee_mint):
    variables = {
        "BATHYSPHERE_PAYMENTS_MINT": fee_mint.url,
        "BATHYSPHERE_PAYMENTS_SECRET": "a secret for the example, long enough",
        "BATHYSPHERE_PAYMENTS_PRICE_STEP": "2",
    }
    return serve(HERE, **variables).url


def test_it_pays_for_the_call_and_gets_the_rest_back(url):
    command = [sys.executable, "pay.py", url, "100", "How deep is the sea?"]
    done = subprocess.run(command, cwd=HERE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Price: 2 sat per model call"
    assert lines[2] == "Spent: 2 sat"
    back = int(lines[3].split()[-2])
    assert 90 < back < 98, lines  # without what was spent, and the mint's fees
    assert lines[-1].endswith("| How deep is the sea?")
