"""Pages that are expensive to parse; looks at a clock, so it runs alone."""

import asyncio
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tools"))

from loopback import response
from page_server import ARTICLE, door

from bathysphere.tools.parser_pool import ParseLimits
from bathysphere.tools.parsing_budget import ParsingQuota


async def test_hostile_pages_of_three_accounts_do_not_delay_another_person_page(within):
    """What took the process's threads for minutes is refused; each hostile account pays itself."""
    slow = b"<html><body>" + b"<p>a word</p>" * 70_000
    parsing = ParseLimits(deadline_s=9.0, cpu_s=3, quota=ParsingQuota(user_cpu=4, tenant_cpu=8))
    async with door(parsing=parsing) as (site, ask):
        site.answers["/many"] = response(b"<html><body>" + b"<p>" * 600_000)
        site.answers["/charset"] = response(b"a-" * 40_000, kind="text/html; charset=punycode")
        site.answers["/slow"] = response(slow)
        site.answers["/reef"] = response(ARTICLE)
        assert (await ask("http://site.example/reef", user="bob")).status_code == 200

        async def attack(user):
            return [
                (await ask(f"http://site.example/{path}", user=user)).status_code
                for path in ("many", "slow", "charset", "slow", "slow")
            ]

        accounts = ("mallory", "mallory", "trudy", "trudy", "oscar", "oscar")
        attacks = [asyncio.create_task(attack(user)) for user in accounts]
        took = []
        while not all(task.done() for task in attacks):
            began = asyncio.get_running_loop().time()
            answer = await ask("http://site.example/reef", user="bob")
            took.append(asyncio.get_running_loop().time() - began)
            assert answer.status_code == 200, answer.text
            await asyncio.sleep(0.2)  # bob's own budget is as small as theirs
        statuses = [status for task in attacks for status in task.result()]
        assert set(statuses) <= {200, 422, 429}
        assert 429 in statuses
        within(max(took), 10, took)  # a process that is started while both cores are busy
        within(sorted(took)[len(took) // 2], 2, took)
