"""A text that is sent and never shown."""

from base64 import b64encode
from typing import NoReturn
from urllib.parse import unquote, urlsplit, urlunsplit

from explorer.errors import InvalidInput

__all__ = ["Secret", "part_login"]


class Secret:
    """What is shown to a server in its `Authorization` header, and to nobody else.

    It has no text of its own in a message, a log, a traceback with its locals or a pickle.
    """

    __slots__ = ("__header",)

    def __init__(self, header: str) -> None:
        self.__header = header

    @classmethod
    def of(cls, token: "str | Secret | None") -> "Secret | None":
        """An access token, without the spaces and line ends around it; nothing for none."""
        if isinstance(token, Secret):
            return token
        return cls(f"Bearer {token.strip()}") if token else None

    @property
    def mark(self) -> str:
        """A text that is equal for equal secrets, and tells nothing of them."""
        # Most catalogs have no secret, and the cryptography is half a megabyte.
        from hashlib import sha256

        return sha256(self.__header.encode(errors="surrogatepass")).hexdigest()

    def check(self) -> None:
        """Raises `InvalidInput`, which does not say what it was, for what no header can carry."""
        _, _, shown = self.__header.partition(" ")
        if not shown or not all("!" <= char <= "~" for char in shown):
            raise InvalidInput(
                "the token given is no token: it is empty, or holds spaces, line ends or letters "
                "outside ASCII"
            )

    @property
    def header(self) -> str:
        """The header's text; not to be kept in a variable."""
        return self.__header

    def cut_from(self, body: bytes) -> bytes:
        """What a server said, without the secret where it is repeated."""
        _, _, shown = self.__header.partition(" ")
        return body.replace(shown.encode(), b"(the token)") if shown else body

    def __repr__(self) -> str:
        return "Secret(…)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not pickled")


def part_login(address: str) -> tuple[str, Secret | None]:
    """An address without the name and password in it, and these as what a server is shown."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address, None
    login, found, host = parts.netloc.rpartition("@")
    if not found:
        return address, None
    shown = b64encode(unquote(login).encode()).decode()
    return urlunsplit(parts._replace(netloc=host)), Secret(f"Basic {shown}")
