"""What every test shares."""

from hypothesis import settings

pytest_plugins = ["bathysphere.testing.fixtures"]

# How long one example takes says nothing on a busy machine; pytest-timeout bounds the whole test.
settings.register_profile("bathysphere", deadline=None)
settings.load_profile("bathysphere")
