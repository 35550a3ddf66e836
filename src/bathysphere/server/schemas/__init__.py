"""What clients send and get: pydantic at the edge, one file for each kind of thing."""
