"""A real Cashu mint on loopback: Nutshell, with simulated Lightning payments.

`python -m bathysphere.testing.mint` installs it, with hashes, into a separate environment under
`.cache/mint` (its pins conflict with ours) and prints the path. `LocalMint` runs it as a process
with its own folder and port, and can kill, freeze, restart and rotate it. `wire.FaultyWire` drops,
cuts, delays and duplicates its traffic.
"""

from bathysphere.testing.mint.install import install
from bathysphere.testing.mint.process import LocalMint

__all__ = ["LocalMint", "install"]
