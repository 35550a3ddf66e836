"""One tree of errors: each says what happened and what to do."""

from bathysphere.core import errors


def test_an_error_says_what_to_do():
    error = errors.missing_extra("The local model", "local")
    assert str(error) == (
        'The local model needs an optional dependency (pip install "bathysphere[local]")'
    )
    assert error.code == "config_error"
