"""The only HTTP: the app, its routes, who may use it, and what an operator sees of it."""
