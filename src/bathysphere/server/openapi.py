"""Write the OpenAPI schema: `python -m bathysphere.server.openapi` updates `openapi.json`.

The file is committed, so that changes of the HTTP API show up in reviews.
"""

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

from bathysphere.server.app import describe_app

PATH = Path(str(files("bathysphere.server").joinpath("openapi.json")))


def render() -> str:
    """The schema as formatted JSON, the content of `openapi.json`."""
    schema: dict[str, Any] = describe_app().openapi()
    return json.dumps(schema, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
    sys.stdout.write(f"wrote {PATH}\n")
