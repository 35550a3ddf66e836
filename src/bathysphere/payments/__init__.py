"""Prepaid use: e-cash in, a charge for each model call, the exact rest back."""
