"""The catalogue of models: the one that ships, and what an operator adds."""

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.models.downloads import SMALLEST, downloads
from bathysphere.models.settings import ModelSettings

HASH = "ab" * 32
FILE = f'url = "https://x.example/a.gguf"\nsha256 = "{HASH}"\nsize = 2_500_000_000\n'


def with_file(tmp_path, text):
    path = tmp_path / "catalog.toml"
    path.write_text(text, encoding="utf-8")
    return downloads(ModelSettings(catalog=path))


def test_the_model_that_ships_is_called_what_it_is():
    entry = downloads(ModelSettings())[SMALLEST]
    assert entry.model == "llamacpp:smollm2-135m"
    assert entry.summary == "98 MB, Apache-2.0; a test of the installation, nothing more"


@pytest.mark.parametrize("provider", ["ollama", "lm-studio"])
def test_a_model_that_can_talk_ships_for_each_program_and_says_that_we_did_not_test_it(provider):
    entries = [each for each in downloads(ModelSettings()).values() if each.provider == provider]
    assert entries
    assert all(each.about.endswith("not tested by us") for each in entries)


def test_an_operator_adds_models_of_every_local_provider(tmp_path):
    known = with_file(
        tmp_path,
        f'[mine]\n{FILE}licence = "MIT"\nabout = "ours"\n'
        '["qwen3:4b"]\nprovider = "ollama"\nsize = 1000000\nlicence = "Apache-2.0"\n'
        '["google/gemma"]\nprovider = "lm-studio"\nsize = 1000000\nlicence = "Gemma"\n',
    )
    assert next(iter(known)) == SMALLEST
    assert {"mine", "qwen3:4b", "google/gemma"} <= known.keys()
    assert known["mine"].summary == "2,500 MB, MIT; ours"
    assert known["qwen3:4b"].model == "ollama:qwen3:4b"
    assert known["qwen3:4b"].size == 1_000_000  # not ours
    assert known["google/gemma"].model == "lm-studio:google/gemma"


def test_an_entry_of_the_operator_replaces_ours(tmp_path):
    known = with_file(tmp_path, f'["{SMALLEST}"]\n{FILE}licence = "MIT"\n')
    assert known[SMALLEST].sha256 == HASH


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[", "is not valid TOML"),
        ("mine = 1", "[mine] not a table"),
        ("[mine]\nsize = 1\nlicence = 'MIT'", "[mine] a GGUF file needs a plain name, `url` and"),
        (f"[mine]\n{FILE}", "[mine] licence: Field required"),
        (f"[mine]\n{FILE}licence = 'MIT'\nprize = 1", "[mine] prize: Extra inputs"),
        (f"[mine]\nname = 'x'\n{FILE}licence = 'MIT'", "[mine]"),
        (f"['../mine']\n{FILE}licence = 'MIT'", "[../mine] name: "),
        (f"['a/b']\n{FILE}licence = 'MIT'", "[a/b] a GGUF file needs a plain name"),
        (f"[mine]\n{FILE.replace(HASH, 'abc')}licence = 'MIT'", "[mine] sha256: "),
        (f"[mine]\nprovider = 'ollama'\n{FILE}licence = 'MIT'", "[mine] ollama fetches its"),
        (f"[mine]\n{FILE.replace('https', 'file')}licence = 'MIT'", "[mine] url: "),
    ],
)
def test_a_wrong_entry_is_an_error_that_names_it(tmp_path, text, problem):
    with pytest.raises(ConfigError) as error:
        with_file(tmp_path, text)
    assert problem in error.value.message
    assert error.value.hint == "see docs/models.md#catalogue"


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read") as error:
        downloads(ModelSettings(catalog=tmp_path / "none.toml"))
    assert error.value.hint == "correct BATHYSPHERE_MODEL_CATALOG"
