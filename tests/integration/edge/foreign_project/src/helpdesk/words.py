"""Found by a relative import."""

ASKED = "Asked for"
