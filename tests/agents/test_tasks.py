"""Eighty questions about the sample are answered in few calls and tokens."""

from pathlib import Path

import pytest

from explorer.client import AsyncCatalog
from tests.agents.tasks import MOST_CALLS, MOST_TOKENS, TASKS, asking, our_steps, work

pytestmark = pytest.mark.anyio


async def test_who_follows_the_descriptions_has_the_facts_in_four_calls_and_8000_tokens(
    sample: Path,
) -> None:
    assert len(TASKS) == 80
    failures = []
    async with AsyncCatalog(data_dir=sample) as catalog:
        for task in TASKS:
            effort = await work(task, our_steps(task), asking(catalog))
            if effort.lacks or effort.calls > MOST_CALLS or effort.tokens > MOST_TOKENS:
                failures.append((task.question, effort))
    assert failures == []
