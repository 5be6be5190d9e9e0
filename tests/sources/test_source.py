"""Entities have the URNs that DataHub's connectors give them."""

import pytest

from explorer.sources.source import DatasetWriter, SourceOptions, datahub_guid


@pytest.mark.parametrize(
    ("instance", "path", "guid"),
    [
        (None, ("shop",), "ea3682d9b15a15aab92e076074c2394c"),
        (None, ("shop", "sales"), "bd81a7cee40a653e7511c89b04ee6749"),
        ("x", ("shop", "sales"), "6792fe89bcf2dfc741ae1c61cc82788c"),
    ],
)
def test_containers_have_the_ids_that_datahub_1_7_gives_them(
    instance: str | None, path: tuple[str, ...], guid: str
) -> None:
    writer = DatasetWriter("postgres", SourceOptions("PROD", instance))
    assert str(writer.container(path)) == f"urn:li:container:{guid}"


def test_assertions_have_the_ids_that_datahub_1_7_gives_them() -> None:
    key = {"platform": "dbt", "name": "test.shop.a"}
    assert datahub_guid(key) == "23dbc781d6eb7ae83540dea999a56dc3"
