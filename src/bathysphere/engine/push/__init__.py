"""Web Push: tell a person's browsers that a run has ended or waits, without saying what about."""
