"""What every part may use and what uses nothing of ours: errors, ids, the clock."""
