"""Structured properties in the query language, by every form of the client."""

import asyncio
from typing import Any

import pytest

from explorer.client import AsyncCatalog
from explorer.errors import InvalidInput
from explorer.metadata import Proposal, Urn
from tests.client.conftest import Site

TIER = Urn.of("structuredProperty", "io.words.tier")
DAYS = Urn.of("structuredProperty", "io.words.days")
TABLES = {"gold": ("Gold", 30), "lead": ("Lead", 400)}


@pytest.fixture(scope="module", autouse=True)
def _defined(site: Site) -> None:
    def definition(urn: Any, kind: Any, *allowed: Any) -> Any:
        return Proposal(
            urn,
            "propertyDefinition",
            {
                "qualifiedName": urn.name,
                "displayName": f"{urn.name.rpartition('.')[2].title()} of a table",
                "valueType": f"urn:li:dataType:datahub.{kind}",
                "entityTypes": ["urn:li:entityType:datahub.dataset"],
                **({"allowedValues": [{"value": one} for one in allowed]} if allowed else {}),
            },
        )

    proposals = [
        definition(TIER, "string", {"string": "Gold"}, {"string": "Lead"}, {"string": "Tin can"}),
        definition(DAYS, "number"),
        *(
            Proposal(
                Urn.dataset("hive", f"words.{name}"),
                "structuredProperties",
                {
                    "properties": [
                        {"propertyUrn": str(TIER), "values": [{"string": tier}]},
                        {"propertyUrn": str(DAYS), "values": [{"double": days}]},
                    ]
                },
            )
            for name, (tier, days) in TABLES.items()
        ),
    ]

    async def load() -> Any:
        async with AsyncCatalog(url=site.address) as catalog:
            return await catalog.ingest_batch(proposals)

    assert asyncio.run(load()).refused == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("structuredProperties.io.words.tier:Gold", ["words.gold"]),
        ("structuredProperties.io.words.tier:(Gold OR Lead)", ["words.gold", "words.lead"]),
        ("structuredProperties.io.words.days>100", ["words.lead"]),
        ("structuredProperties.io.words.days:[10 TO 100]", ["words.gold"]),
        (
            "structuredProperties.io.words.tier:* -structuredProperties.io.words.tier:G*",
            ["words.lead"],
        ),
    ],
)
def test_a_filters_text_names_properties(client: Any, text: str, found: Any) -> None:
    page = client.search("*", entity="dataset", filter=text)
    assert sorted(hit.urn.name for hit in page) == found


def test_a_property_that_is_not_defined_is_an_unknown_field(site: Site) -> None:
    async def ask() -> None:
        async with AsyncCatalog(url=site.address) as catalog:
            await catalog.search("*", filter="structuredProperties.io.words.teir:Gold")

    with pytest.raises(InvalidInput, match=r"structuredProperties\.io\.words\.tier"):
        asyncio.run(ask())


def test_properties_and_their_values_are_completed(client: Any) -> None:
    for typed in ("structuredProperties.io.w", "tier"):
        offers = {one.label: one for one in client.complete_filter(typed, len(typed))}
        assert offers["structuredProperties.io.words.tier"].hint == "Tier of a table", typed
    typed = "structuredProperties.io.words.tier:"
    for entity in (None, "dataset"):
        offers = client.complete_filter(typed, len(typed), entity=entity)
        assert [(one.text, one.count) for one in offers] == [
            ("Gold", None),
            ("Lead", None),
            ('"Tin can"', None),
        ]
