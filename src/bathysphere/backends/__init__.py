"""One storage a file; all of them pass one contract."""
