"""PostgreSQL: the pool, the embedded server, migrations, row security, stored bytes."""
