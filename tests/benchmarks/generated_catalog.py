"""Catalogs of any size that look like real ones: names by Zipf's law, lineage in layers, usage.

What a dataset has depends on its number and the seed alone, but for the days of its timeseries.
"""

import itertools
import json
import random
import time
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from search import DOMAINS, ENDINGS, LAYERS, NOUNS, PLATFORMS

COLUMNS = 15
LONG_SERIES = 10_000
"""Documents that the dataset with the number 0 has of its use."""
HUB = 1
"""The number of the dataset with the most below it."""

_DAY_MILLIS = 86_400_000
_TYPES = ("String", "Number", "Date", "Boolean", "Time")
_SYLLABLES = ("or", "da", "men", "ti", "cu", "sto", "re", "pla", "no", "vel", "qua", "sim")
# One dataset in so many has usage, and a profile.
_MEASURED = 50

Proposal = dict[str, Any]


class GeneratedCatalog:
    """The datasets of a catalog of `count`, each with 15 columns and seven to eight aspects."""

    def __init__(self, count: int, seed: int = 7) -> None:
        self.count = count
        self._seed = seed

    @cached_property
    def _words(self) -> tuple[list[str], list[float]]:
        chance = random.Random(self._seed)
        made = {"".join(chance.choices(_SYLLABLES, k=chance.randint(2, 5))) for _ in range(40_000)}
        words = [*NOUNS, *sorted(made)][:30_000]
        return words, list(itertools.accumulate(1 / (rank + 3) for rank in range(len(words))))

    @cached_property
    def _nouns(self) -> list[float]:
        return list(itertools.accumulate(1 / (rank + 3) for rank in range(len(NOUNS))))

    def table(self, number: int) -> str:
        """The name of a dataset's table."""
        chance = random.Random(self._seed << 40 | number)
        first, second = chance.choices(NOUNS, cum_weights=self._nouns, k=2)
        return f"{chance.choice(LAYERS)}_{first}_{second}_{chance.choice(ENDINGS)}_{number}"

    def platform(self, number: int) -> str:
        return PLATFORMS[number % len(PLATFORMS)]

    def folder(self, number: int) -> str:
        return DOMAINS[number % len(DOMAINS)]

    def urn(self, number: int) -> str:
        name = f"prod.{self.folder(number)}.{self.table(number)}"
        return f"urn:li:dataset:(urn:li:dataPlatform:{self.platform(number)},{name},PROD)"

    def aspects(self, number: int) -> dict[str, Any]:
        """What a dataset has, by the names of its aspects."""
        chance = random.Random(self._seed << 40 | number)
        table = self.table(number)
        words, weights = self._words
        stamp = {"time": 1_700_000_000_000, "actor": "urn:li:corpuser:ingestion"}

        def sentence(length: int) -> str:
            return " ".join(chance.choices(words, cum_weights=weights, k=length))

        fields: list[dict[str, Any]] = []
        for at in range(COLUMNS):
            name = "_".join(chance.choices(NOUNS, cum_weights=self._nouns, k=2))
            if at and chance.random() < 0.15:
                name = f"{fields[-1]['fieldPath'].partition('.')[0]}.{name}"
            kind = chance.choice(_TYPES)
            field = {
                "fieldPath": f"{name}_{at}",
                "nativeDataType": kind.lower(),
                "type": {"type": {f"com.linkedin.schema.{kind}Type": {}}},
            }
            if chance.random() < 0.5:
                field["description"] = sentence(4)
            fields.append(field)
        found: dict[str, Any] = {
            "datasetProperties": {
                "name": table,
                "description": sentence(20),
                "customProperties": {"team": self.folder(number), "tier": str(number % 4)},
            },
            "schemaMetadata": {
                "schemaName": table,
                "platform": f"urn:li:dataPlatform:{self.platform(number)}",
                "version": 0,
                "hash": "",
                "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
                "fields": fields,
            },
            "ownership": {
                "owners": [
                    {"owner": f"urn:li:corpuser:u{chance.randrange(2_000)}", "type": "DATAOWNER"}
                ],
                "lastModified": stamp,
            },
            "globalTags": {
                "tags": [
                    {"tag": f"urn:li:tag:t{tag}"}
                    for tag in chance.sample(range(60), chance.choice((0, 0, 1, 2)))
                ]
            },
            "domains": {"domains": [f"urn:li:domain:{self.folder(number)}"]},
            "subTypes": {"typeNames": [chance.choice(("Table", "View"))]},
            "status": {"removed": False},
        }
        if number > HUB:
            # Most are made of one that is nearby; some of the hub.
            sources = {HUB if chance.random() < 0.02 else max(HUB, number // 4)}
            sources.add(max(HUB, number - chance.randint(1, 50)))
            found["upstreamLineage"] = {
                "upstreams": [
                    {"auditStamp": stamp, "dataset": self.urn(one), "type": "TRANSFORMED"}
                    for one in sorted(sources)
                ]
            }
        return found

    def documents(self, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """The documents of timeseries aspects that a dataset has, by the names of these."""
        chance = random.Random(self._seed << 41 | number)
        today = int(time.time() // 86_400) * _DAY_MILLIS
        days = LONG_SERIES if number == 0 else 30 if number % _MEASURED == 0 else 0
        for day in range(days):
            yield (
                "datasetUsageStatistics",
                {
                    "timestampMillis": today - day * _DAY_MILLIS // (24 if number == 0 else 1),
                    "eventGranularity": {"unit": "HOUR" if number == 0 else "DAY", "multiple": 1},
                    "uniqueUserCount": chance.randrange(1, 40),
                    "totalSqlQueries": int(chance.paretovariate(1)),
                },
            )
        if number % _MEASURED == 0:
            rows = int(1_000 * chance.paretovariate(0.5))
            yield (
                "datasetProfile",
                {"timestampMillis": today, "rowCount": rows, "columnCount": COLUMNS},
            )

    def proposals(self, number: int) -> list[Proposal]:
        """All of a dataset, as `catalog load` and the service take it."""
        urn = self.urn(number)
        given = [*self.aspects(number).items(), *self.documents(number)]
        return [
            {
                "entityType": "dataset",
                "entityUrn": urn,
                "changeType": "UPSERT",
                "aspectName": aspect,
                "aspect": {"value": json.dumps(value), "contentType": "application/json"},
                "systemMetadata": {"runId": "benchmark", "lastObserved": 1_700_000_000_000},
            }
            for aspect, value in given
        ]
