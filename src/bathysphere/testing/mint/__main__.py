"""Install the mint and print its path."""

import sys

from bathysphere.testing.mint.install import install

if __name__ == "__main__":
    sys.stdout.write(f"{install()}\n")
