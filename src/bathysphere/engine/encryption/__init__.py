"""Encryption of stored contents: keys per tenant, values sealed to the place they are stored at."""
