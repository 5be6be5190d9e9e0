"""The columns of a dataset, as ingested and as people wrote of them."""

from typing import Any

import msgspec

from explorer.metadata.aspects.record import Camel
from explorer.metadata.aspects.shared import AuditStamp, GlobalTags, GlossaryTerms

__all__ = ["EditableSchemaField", "EditableSchemaMetadata", "SchemaField", "SchemaMetadata"]


class SchemaField(Camel, frozen=True):
    """A column as ingested. `type` is `{"type": {"<record name>": {…}}}`."""

    field_path: str = ""
    description: str | None = None
    native_data_type: str = ""
    nullable: bool = False
    is_part_of_key: bool = False
    recursive: bool = False
    type: dict[str, Any] = msgspec.field(default_factory=dict)
    label: str | None = None
    global_tags: GlobalTags = GlobalTags()
    glossary_terms: GlossaryTerms = GlossaryTerms()

    @property
    def type_name(self) -> str:
        """The kind of the column in lower case, `string`, `record`; empty when it is not said."""
        inner = self.type.get("type")
        for name in inner if isinstance(inner, dict) else ():
            return str(name).rpartition(".")[2].removesuffix("Type").lower()
        return ""


class SchemaMetadata(Camel, frozen=True):
    """The schema of a dataset as ingested, its columns in order."""

    schema_name: str = ""
    platform: str = ""
    version: int = 0
    hash: str = ""
    fields: tuple[SchemaField, ...] = ()
    platform_schema: dict[str, Any] = msgspec.field(default_factory=dict)
    primary_keys: tuple[str, ...] | None = None


class EditableSchemaField(Camel, frozen=True):
    """What people wrote of one column."""

    field_path: str = ""
    description: str | None = None
    global_tags: GlobalTags = GlobalTags()
    glossary_terms: GlossaryTerms = GlossaryTerms()


class EditableSchemaMetadata(Camel, frozen=True):
    """What people wrote of a dataset's columns."""

    editable_schema_field_info: tuple[EditableSchemaField, ...] = ()
    created: AuditStamp | None = None
    last_modified: AuditStamp | None = None
