"""How well search answers questions: whether the tables that a question is about come first.

    python -m tests.benchmarks.questions QUESTIONS.json [--undocumented] [--meaning] [--wrong N]

The file has `tables` by name, each with its `columns`, their `words` and `types` and a `title`, and
`questions`, each a `text` with the names of its tables in `gold`. Prints, for search and for plain
BM25 of the same run: how often all tables are among the first ten, the mean reciprocal rank of the
first right one, how often nothing was found, and the milliseconds a question (median, 99th
percentile). For search also of two halves of the databases: what is tuned is tuned on the first,
and the second tells whether it holds elsewhere. With `--meaning`, with the model of that extra.
"""

import argparse
import json
import math
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from explorer.metadata import Urn, load_registry
from explorer.query import Filter
from explorer.server.search.document import build_document
from explorer.server.search.index import SearchIndex
from explorer.server.search.meaning import MeaningIndex
from explorer.server.search.query import SearchQuery

_TYPES = {"number": "NumberType", "time": "TimeType", "boolean": "BooleanType"}
_TEN = 10
_WORD = re.compile(r"[a-z0-9]+")


def _urn(name: str) -> Urn:
    return Urn.dataset("sqlite", name, "PROD")


def _aspects(name: str, table: Mapping[str, Any], *, documented: bool) -> dict[str, Any]:
    def column(path: str, words: str, type_: str) -> dict[str, Any]:
        kind: dict[str, Any] = {f"com.linkedin.schema.{_TYPES.get(type_, 'StringType')}": {}}
        field = {"fieldPath": path, "nativeDataType": type_, "type": {"type": kind}}
        return {**field, "description": words} if documented else field

    columns = zip(table["columns"], table["words"], table["types"], strict=True)
    schema = {
        "schemaName": name,
        "platform": "urn:li:dataPlatform:sqlite",
        "version": 0,
        "hash": "",
        "platformSchema": {"com.linkedin.schema.OtherSchema": {"rawSchema": ""}},
        "fields": [column(*row) for row in columns],
    }
    title = {"description": table["title"]} if documented else {}
    return {
        "datasetKey": {"name": name, "origin": "PROD", "platform": "urn:li:dataPlatform:sqlite"},
        "datasetProperties": {"name": name.rpartition(".")[2], "qualifiedName": name, **title},
        "schemaMetadata": schema,
    }


def _plain_bm25(tables: Mapping[str, Any], *, documented: bool) -> Callable[[str], list[str]]:
    def words_of(name: str, table: Mapping[str, Any]) -> list[str]:
        texts = [name, *table["columns"]]
        texts += [table["title"], *table["words"]] if documented else []
        return _WORD.findall(" ".join(texts).lower().replace("_", " "))

    counts = {name: Counter(words_of(name, table)) for name, table in tables.items()}
    lengths = {name: sum(counted.values()) for name, counted in counts.items()}
    average = sum(lengths.values()) / len(lengths)
    having = Counter(word for counted in counts.values() for word in counted)

    def score(name: str, words: Sequence[str]) -> float:
        total = 0.0
        for word in words:
            if count := counts[name][word]:
                rarity = math.log(1 + (len(counts) - having[word] + 0.5) / (having[word] + 0.5))
                weight = 1.2 * (0.25 + 0.75 * lengths[name] / average)
                total += rarity * count * 2.2 / (count + weight)
        return total

    def search(text: str) -> list[str]:
        words = _WORD.findall(text.lower())
        scores = {name: score(name, words) for name in counts}
        return sorted(filter(scores.__getitem__, scores), key=lambda name: (-scores[name], name))

    return search


def _judge(
    label: str, search: Callable[[str], list[str]], questions: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Print how well a search answers questions; return those without all tables in the first
    ten."""
    wrong: list[Mapping[str, Any]] = []
    reciprocal = nothing = 0.0
    seconds: list[float] = []
    for question in questions:
        begin = time.perf_counter()
        names = search(question["text"])
        seconds.append(time.perf_counter() - begin)
        places = [names.index(name) for name in question["gold"] if name in names]
        reciprocal += 1 / (1 + min(places)) if places else 0
        nothing += not names
        if not set(question["gold"]) <= set(names[:_TEN]):
            wrong.append({**question, "found": names[:_TEN]})
    count = len(questions)
    print(
        f"{label:<12} all in the first ten {1 - len(wrong) / count:.3f}   "
        f"reciprocal rank {reciprocal / count:.3f}   nothing {nothing / count:.1%}   "
        f"{median(seconds) * 1e3:.1f} / {quantiles(seconds, n=100)[-1] * 1e3:.1f} ms"
    )
    return wrong


def _half_of(question: Mapping[str, Any]) -> int:
    """Return 0 or 1, the same for all questions about a database."""
    return zlib.crc32(question["gold"][0].rpartition(".")[0].encode()) % 2


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--undocumented", action="store_true", help="leave out all descriptions")
    parser.add_argument("--meaning", action="store_true", help="find by meaning too")
    parser.add_argument("--wrong", type=int, default=0, help="show so many wrong answers")
    options = parser.parse_args()
    documented = not options.undocumented
    data = json.loads(options.file.read_text(encoding="utf-8"))
    tables, registry = data["tables"], load_registry()
    meaning = MeaningIndex(None) if options.meaning else None
    index = SearchIndex(None, registry, meaning=meaning)
    index.apply(
        1,
        (
            build_document(registry, _urn(name), _aspects(name, table, documented=documented))
            for name, table in tables.items()
        ),
    )
    while meaning is not None and (not meaning.is_ready or meaning.describe()["unread"]):
        time.sleep(0.1)
    names_by_urn = {str(_urn(name)): name for name in tables}

    def search(text: str) -> list[str]:
        page = index.search(SearchQuery(text, None, Filter(), 0, _TEN))
        return [names_by_urn[hit.urn] for hit in page.hits]

    print(f"{len(tables)} tables, {len(data['questions'])} questions")
    _judge("plain BM25", _plain_bm25(tables, documented=documented), data["questions"])
    wrong = _judge("search", search, data["questions"])
    for half in (0, 1):
        part = [question for question in data["questions"] if _half_of(question) == half]
        _judge(f"half {half + 1}", search, part)
    for question in wrong[: options.wrong]:
        print(f"\n{question['text']}\n  {question['gold']}\n  {question['found']}")
    index.close()


if __name__ == "__main__":
    main()
