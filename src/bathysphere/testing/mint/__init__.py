"""A real Cashu mint on loopback: Nutshell, with a wallet that pretends to be paid.

`python -m bathysphere.testing.mint` installs it, by hash, into an environment of its own under
`.cache/mint` (its pins conflict with ours) and prints where. `LocalMint` is a process of it, with a
folder and a port of its own, and can kill, freeze, restart and rotate it. `wire.FaultyWire` loses,
cuts, delays and doubles what goes to it.
"""

from bathysphere.testing.mint.install import install
from bathysphere.testing.mint.process import LocalMint

__all__ = ["LocalMint", "install"]
