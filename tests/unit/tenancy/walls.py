"""What must hold of the path rules, for the real ones and for each planted bug."""

import unicodedata

import attacks


class Broken(AssertionError):
    """A wall does not hold; says where."""


def hold(condition: bool, path: str, what: str) -> None:
    if not condition:
        raise Broken(f"{what}: {path!a}")


def check_path(root, refused, path: str) -> bool:
    """Whether the path was let in; fails where it could mean something outside the root."""
    try:
        key = root.key(path)
    except refused:
        return False
    inside = root.prefix + "/"
    hold(key.startswith(inside) and len(key) > len(inside), path, "outside the root")
    hold(len(key.encode()) <= 1024, path, "too long for a key")
    hold(all(len(part.encode()) <= 255 for part in key.split("/")), path, "a part is too long")
    hold(unicodedata.normalize("NFC", key) == key, path, "two forms of one name")
    for reading in attacks.readings(key):
        hold(reading.startswith(inside), path, "can be read as outside the root")
        hold(reading.count("/") == key.count("/"), path, "can be read as another folder")
    hold(root.path(key) is not None, path, "a file that cannot be listed")
    hold(root.key(root.path(key)) == key, path, "not idempotent")
    hold(root.folder_key(path) == key, path, "a file and its folder disagree")
    hold(not any(unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for c in key),
         path, "a character nobody sees")  # fmt: skip
    hold(not any(part != part.strip() for part in key.split("/")), path, "a space at an end")
    hold("~" not in {part[:1] for part in key.split("/")}, path, "a home folder")
    return True


def check_all(root, refused, paths) -> int:
    """How many of the paths were let in."""
    return sum(check_path(root, refused, path) for path in paths)


def check_roots(make_root, refused) -> None:
    """Whatever a tenant is called, its root is two parts of a key or nothing."""
    names = [*attacks.KNOWN, *attacks.generated(2000, seed=9), "a\n", "-a", "a-", "a.b", "a" * 65]
    for name in names:
        for tenant, workspace in ((name, "ws"), ("company-1", name)):
            try:
                root = make_root(tenant=tenant, workspace=workspace)
            except refused:
                continue
            hold(root.prefix.count("/") == 1, name, "a root of other parts")
            hold(name.isascii() and name.strip() == name and name != "", name, "a root nobody sees")
            hold("." not in name and "%" not in name, name, "a root that means another")
