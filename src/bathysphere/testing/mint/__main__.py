"""Install the mint and say where."""

import sys

from bathysphere.testing.mint.install import install

if __name__ == "__main__":
    sys.stdout.write(f"{install()}\n")
