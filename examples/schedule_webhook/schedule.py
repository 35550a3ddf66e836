"""Let an agent run on a schedule, and have every result sent to a URL.

python schedule.py http://127.0.0.1:8123 http://127.0.0.1:9000/runs "0 9 * * mon-fri"
"""

import asyncio
import sys

from langgraph_sdk import get_client

QUESTION = "What changed since yesterday?"


async def schedule(url: str, webhook: str, times: str) -> str:
    """Create the schedule and return its id."""
    async with get_client(url=url) as client:
        cron = await client.crons.create(
            "simple",
            schedule=times,
            timezone="Europe/Berlin",
            input={"messages": [{"role": "user", "content": QUESTION}]},
            webhook=webhook,
        )
    return str(cron["cron_id"])


if __name__ == "__main__":
    cron_id = asyncio.run(schedule(*sys.argv[1:4]))
    print(f"Scheduled: {cron_id}. To end it: DELETE /runs/crons/{cron_id}")
