"""Deep agents on a tether."""
