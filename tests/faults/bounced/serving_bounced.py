"""The conformance suite's server behind PgBouncer: `python serving_bounced.py URL REDIS|- DIRECT`.

`URL` goes through PgBouncer in transaction mode, `DIRECT` reaches PostgreSQL itself. Only the two
settings that `docs/engine.md` documents for this are different.
"""

import asyncio
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

import serving

from bathysphere.engine.database.pool import Database

if __name__ == "__main__":
    url, redis, direct = sys.argv[1:]
    serving.Database = partial(Database, prepare_threshold=None, listen_url=direct)
    asyncio.run(serving.main(url, None if redis == "-" else redis))
