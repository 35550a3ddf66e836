"""No module imports itself through others, not even for types only."""

import grimp


def cycles(imports: dict[str, set[str]]) -> list[set[str]]:
    """The strongly connected components of more than one module, by Tarjan's algorithm."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[set[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        path.append(module)
        for other in imports.get(module, set()):
            if other not in order:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in path:
                lowest[module] = min(lowest[module], order[other])
        if lowest[module] == order[module]:
            start = path.index(module)
            if len(path) - start > 1:
                found.append(set(path[start:]))
            del path[start:]

    for module in imports:
        if module not in order:
            visit(module)
    return found


def test_a_cycle_is_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]
    assert cycles({"a": {"b"}, "b": {"c"}, "d": {"a"}}) == []


def test_no_modules_import_each_other():
    graph = grimp.build_graph("bathysphere")
    imports = {m: set(graph.find_modules_directly_imported_by(m)) for m in graph.modules}
    assert cycles(imports) == []
