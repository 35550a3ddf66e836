"""PostgreSQL databases that exist only during a test."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import sql

SERVER = "postgresql://root@127.0.0.1:5432"
"""The server that `scripts/services.sh` starts; it has a database `test`."""


@contextmanager
def temporary_database(prefix: str, *, server: str = SERVER) -> Iterator[str]:
    """Create an empty database with a unique name, yield its URL, and drop it at the end."""
    name = f"{prefix}_{secrets.token_hex(6)}"
    identifier = sql.Identifier(name)
    with psycopg.connect(f"{server}/test", autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(identifier))
    try:
        yield f"{server}/{name}"
    finally:
        with psycopg.connect(f"{server}/test", autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))
