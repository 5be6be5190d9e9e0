"""The registry that ships against the model that DataHub's newest package carries."""

import json
from pathlib import Path

import msgspec

from explorer.metadata import derive as derivation
from explorer.metadata.derive import derive
from explorer.metadata.registry import load_registry


def test_the_file_that_ships_is_what_the_script_makes_of_the_model(datahub_folder: Path) -> None:
    (schemas,) = datahub_folder.parent.glob("lib/python*/site-packages/datahub/metadata/schemas")
    shipped = json.loads(Path(derivation.__file__).with_name("registry.json").read_bytes())
    order = tuple(load_registry().entities)
    made = msgspec.json.encode(derive(schemas, shipped["source"], order))
    assert json.loads(made) == shipped
