"""How well search answers questions: whether the tables that a question is about come first.

    python -m tests.benchmarks.questions QUESTIONS.json [--undocumented] [--meaning] [--wrong N]
    python -m tests.benchmarks.questions --sample [--meaning] [--wrong N]
    python -m tests.benchmarks.questions --datasets 100000

The file has `tables` by name, each with its `columns`, their `words` and `types` and a `title`, and
`questions`, each a `text` with the names of its tables in `gold`; where one of several is as right,
they are separated by `|`. With `--sample` they are those of `sample_questions.json`, over the
sample.
Prints, for search and for plain BM25 of the same run: how often all tables are among the first ten,
the mean reciprocal rank of the first right one, how often nothing was found, and the milliseconds a
question (median, 99th percentile). For search also of two halves of the databases: what is tuned is
tuned on the first, and the second tells whether it holds elsewhere. With `--meaning`, with the
model of that extra.

`--datasets` makes a catalog of that size in a temporary folder and measures only the time: of
questions, of pages of one and two words, and of columns.
"""

import argparse
import json
import math
import random
import re
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any

from explorer.metadata import Urn, load_registry
from explorer.query import Filter
from explorer.server.search.columns import MOST_TABLES
from explorer.server.search.document import Document, build_document
from explorer.server.search.fields import Vocabulary
from explorer.server.search.index import SearchIndex
from explorer.server.search.meaning import MeaningIndex
from explorer.server.search.query import SearchQuery
from tests.server.search.answers import (
    SAMPLE_QUESTIONS,
    Search,
    find_names,
    judge,
    name_of,
    sample_documents,
)

_TYPES = {"number": "NumberType", "time": "TimeType", "boolean": "BooleanType"}
_BATCH = 2_000
_TIMES = 200
# Searches of generated catalogs; X is a word of their names.
_ASKED = {
    "question": (
        "how many X per X",
        "which tables have the total X of each X by X",
        "what is the average amount of X for all X in europe",
        "list all X that were delayed last month and their X",
    ),
    "one word": ("X",),
    "two words": ("X X",),
}
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


def _plain_bm25(documents: Iterable[Document], vocabulary: Vocabulary) -> Search:
    def words_of(document: Document) -> list[str]:
        fields = vocabulary.weights(document.entity_type).keys() & document.fields.keys()
        texts = [str(value) for field in fields for value in document.fields[field]]
        return _WORD.findall(" ".join((document.name, *texts)).lower().replace("_", " "))

    counts = {name_of(document.urn): Counter(words_of(document)) for document in documents}
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


def _measure(count: int) -> None:
    """Print the milliseconds a search takes in a catalog of `count` datasets."""
    sys.path.insert(0, str(Path(__file__).parent))
    from generated_catalog import GeneratedCatalog

    catalog, registry = GeneratedCatalog(count), load_registry()
    with TemporaryDirectory() as folder:
        index = SearchIndex(Path(folder) / "index", registry)
        begin = time.perf_counter()
        for start in range(0, count, _BATCH):
            numbers = range(start, min(start + _BATCH, count))
            urns = [(Urn.parse(catalog.urn(number)), catalog.aspects(number)) for number in numbers]
            documents = [build_document(registry, urn, aspects) for urn, aspects in urns]
            index.apply(numbers[-1] + 1, documents)
        index.flush()
        print(f"{count:,} datasets, indexed in {time.perf_counter() - begin:.0f} s")
        searches: dict[str, Callable[[str], object]] = {
            "page": lambda text: index.search(SearchQuery(text, None, Filter(), 0, 20)),
            "columns": lambda text: index.find_tables(
                SearchQuery(text, None, Filter(), 0, 20), MOST_TABLES
            ),
        }
        rare = random.Random(7)
        nouns = sorted({word for number in range(99) for word in catalog.table(number).split("_")})
        nouns = [noun for noun in nouns if noun.isalpha()]

        def fill(pattern: str) -> str:
            return re.sub("X", lambda _: rare.choice(nouns), pattern)

        for kind, search in searches.items():
            for label, patterns in _ASKED.items():
                seconds = []
                for at in range(_TIMES):
                    text = fill(patterns[at % len(patterns)])
                    begin = time.perf_counter()
                    search(text)
                    seconds.append(time.perf_counter() - begin)
                print(
                    f"{kind}, {label:<10} {median(seconds) * 1e3:6.1f} / "
                    f"{quantiles(seconds, n=100)[-1] * 1e3:.1f} ms"
                )
        index.close()


def _half_of(question: Mapping[str, Any]) -> int:
    """Return 0 or 1, the same for all questions about a database."""
    return zlib.crc32(question["gold"][0].rpartition(".")[0].encode()) % 2


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--sample", action="store_true", help="questions over the sample")
    parser.add_argument("--datasets", type=int, help="only the time, with so many datasets")
    parser.add_argument("--undocumented", action="store_true", help="leave out all descriptions")
    parser.add_argument("--meaning", action="store_true", help="find by meaning too")
    parser.add_argument("--wrong", type=int, default=0, help="show so many wrong answers")
    options = parser.parse_args()
    if options.datasets:
        _measure(options.datasets)
        return
    if not options.sample and options.file is None:
        parser.error("give a file, --sample or --datasets")
    registry = load_registry()
    if options.sample:
        documents = sample_documents(registry)
        questions = json.loads(SAMPLE_QUESTIONS.read_text(encoding="utf-8"))
    else:
        data = json.loads(options.file.read_text(encoding="utf-8"))
        questions = data["questions"]
        documented = not options.undocumented
        documents = [
            build_document(registry, _urn(name), _aspects(name, table, documented=documented))
            for name, table in data["tables"].items()
        ]
    meaning = MeaningIndex(None) if options.meaning else None
    index = SearchIndex(None, registry, meaning=meaning)
    index.apply(1, documents)
    while meaning is not None and (not meaning.is_ready or meaning.describe()["unread"]):
        time.sleep(0.1)
    print(f"{len(documents)} tables, {len(questions)} questions")
    judge("plain BM25", _plain_bm25(documents, index.vocabulary), questions)
    wrong, _ = judge("search", lambda text: find_names(index, text), questions)
    for half in (0, 1):
        part = [question for question in questions if _half_of(question) == half]
        if part:
            judge(f"half {half + 1}", lambda text: find_names(index, text), part)
    for question in wrong[: options.wrong]:
        print(f"\n{question['text']}\n  {question['gold']}\n  {question['found']}")
    index.close()


if __name__ == "__main__":
    main()
