"""Draw docstrings, error messages and interface texts at random, to be read as a stranger would.

The last line is JSON: how many there are of each, and the sizes of modules and functions.
"""

import argparse
import ast
import json
import random
import re
from pathlib import Path

SAMPLE = 100
MAX_MODULE_LINES, MAX_FUNCTION_LINES = 400, 40
_LABEL = re.compile(r"(\w+): (?:\([^()\n]*\) => )?('[^'\n]{2,}'|`[^`\n]{2,}`)")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def words_of_python(sources: dict[Path, ast.Module]) -> tuple[list[str], list[str]]:
    """Return the docstrings, and what is raised with a message."""
    docstrings, errors = [], []
    for path, tree in sources.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | Function) and (
                text := ast.get_docstring(node)
            ):
                docstrings.append(f"{path} {getattr(node, 'name', 'module')} | {text}")
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                raised = ast.unparse(node.exc)
                if "'" in raised or '"' in raised:
                    errors.append(f"{path} {node.lineno} | {raised}")
    return docstrings, errors


def words_of_web() -> list[str]:
    """Return the labels and messages of the browser app."""
    files = [*Path("web/src").rglob("*text.ts"), *Path("web/src").rglob("labels.ts")]
    found = {
        f"{path} {label} | {text}"
        for path in files
        for label, text in _LABEL.findall(path.read_text())
    }
    return sorted(found)


def sizes(sources: dict[Path, ast.Module]) -> dict[str, int]:
    """Count functions, and what is longer than it should be."""
    functions = [
        node for tree in sources.values() for node in ast.walk(tree) if isinstance(node, Function)
    ]
    lines = [(node.end_lineno or 0) - node.lineno + 1 for node in functions]
    modules = [len(path.read_text().splitlines()) for path in sources]
    return {
        "modules_over_400_lines": sum(count > MAX_MODULE_LINES for count in modules),
        "functions": len(functions),
        "functions_over_40_lines": sum(count > MAX_FUNCTION_LINES for count in lines),
    }


def main() -> None:
    """Print the samples and the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=26)
    draw = random.Random(parser.parse_args().seed)
    files = sorted(Path("src/bathysphere").rglob("*.py"))
    sources = {path: ast.parse(path.read_text()) for path in files}
    docstrings, errors = words_of_python(sources)
    kinds = {"docstrings": docstrings, "errors": errors, "interface_texts": words_of_web()}
    for kind, texts in kinds.items():
        print(f"== {kind}")
        for text in draw.sample(texts, SAMPLE):
            print("-", " ".join(text.split())[:400])
    print(json.dumps({**{kind: len(texts) for kind, texts in kinds.items()}, **sizes(sources)}))


if __name__ == "__main__":
    main()
