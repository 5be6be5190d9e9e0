"""Which of an entity's names to suggest for what is being typed."""

from explorer.server.search.analysed import join_names, names_of
from explorer.server.search.document import Document
from explorer.server.search.fields import Vocabulary
from explorer.server.search.matching import has_word
from explorer.server.search.query import And, Node, Word
from explorer.server.search.text import word_line

__all__ = ["suggested_name"]


def suggested_name(typed: Node, document: Document, vocabulary: Vocabulary) -> str:
    """The first name that has all words typed; the one it is shown by if none has all."""
    nodes = typed.nodes if isinstance(typed, And) else (typed,)
    tests = [has_word(node, exact=False) for node in nodes if isinstance(node, Word)]
    for name in names_of(vocabulary, document):
        line = (word_line((name, *join_names((name,)))),)
        if all(test(line) for test in tests):
            return name
    return document.name
