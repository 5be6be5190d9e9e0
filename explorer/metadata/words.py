"""The words people use for what the model names."""

__all__ = ["ownership", "plural", "singular"]

_WORDS = {
    "corpuser": ("person", "people"),
    "corpGroup": ("group", "groups"),
    "dataFlow": ("pipeline", "pipelines"),
    "dataJob": ("task", "tasks"),
    "dataPlatform": ("platform", "platforms"),
    "dataPlatformInstance": ("platform instance", "platform instances"),
    "dataProduct": ("data product", "data products"),
    "glossaryNode": ("glossary group", "glossary groups"),
    "glossaryTerm": ("glossary term", "glossary terms"),
    "mlFeature": ("ML feature", "ML features"),
    "mlFeatureTable": ("ML feature table", "ML feature tables"),
    "mlModel": ("ML model", "ML models"),
    "mlModelGroup": ("ML model group", "ML model groups"),
    "mlPrimaryKey": ("ML primary key", "ML primary keys"),
    "query": ("query", "queries"),
    "schemaField": ("column", "columns"),
    "structuredProperty": ("structured property", "structured properties"),
}


def singular(entity_type: str) -> str:
    """One entity of a type; a type without a word of its own is called by its name."""
    return _WORDS.get(entity_type, (entity_type,))[0]


def plural(entity_type: str) -> str:
    """Several entities of a type; a type without a word of its own is called by its name, in the
    plural: structuredProperties, entityTypes."""
    known = _WORDS.get(entity_type)
    if known is not None:
        return known[1]
    ends_in_y = entity_type.endswith("y") and entity_type[-2:-1] not in ("a", "e", "o", "u")
    return f"{entity_type[:-1]}ies" if ends_in_y else f"{entity_type}s"


def ownership(kind: str) -> str:
    """What an owner is called by the kind of ownership: `TECHNICAL_OWNER` is a technical owner."""
    words = kind.replace("_", " ").lower().replace("dataowner", "data owner")
    return "owner" if words in ("none", "") else words
