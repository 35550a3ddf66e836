"""What every test shares."""

pytest_plugins = ["bathysphere.testing.fixtures"]
