"""What a terminal shows of the bytes that a program sends it: text in cells, without colours."""

import codecs
import re
import unicodedata

_PIECE = re.compile(
    r"\x1b\[(?P<marks>[<-?]?)(?P<numbers>[\d;:]*)[ -/]*(?P<final>[@-~])"
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\)"
    r"|\x1b[ -/]*[0-OQ-WYZ\\`-~]"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
    r"|(?P<text>[^\x00-\x1f\x7f]+)",
    re.DOTALL,
)


class Screen:
    """The cells of a terminal of `columns` by `rows`; `feed` is given what the program wrote.

    It knows what full-screen programs use: the cursor put somewhere, text, and clearing. Colours,
    modes and titles are passed over. A wide character takes its cell and leaves the next one empty.
    """

    def __init__(self, columns: int, rows: int) -> None:
        self.columns = columns
        self.rows = rows
        self.row = self.column = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._cells = [[" "] * columns for _ in range(rows)]

    @property
    def lines(self) -> list[str]:
        """The rows from the top, without blanks at their ends."""
        return ["".join(row).rstrip() for row in self._cells]

    @property
    def text(self) -> str:
        """The rows as one text."""
        return "\n".join(self.lines)

    @property
    def visible(self) -> int:
        """How many cells show something."""
        return sum(cell not in (" ", "") for row in self._cells for cell in row)

    def feed(self, data: bytes) -> None:
        """Show what came; half a sequence or half a character waits for its end."""
        text = self._rest + self._decoder.decode(data)
        at = 0
        while found := _PIECE.match(text, at):
            at = found.end()
            if written := found["text"]:
                self._write(written)
            elif control := found["control"]:
                self._obey(control)
            elif final := found["final"]:
                self._command(found["marks"], found["numbers"], final)
        self._rest = text[at:]

    def _write(self, text: str) -> None:
        for char in text:
            wide = unicodedata.east_asian_width(char) in "WF"
            if unicodedata.combining(char):
                continue
            if self.column >= self.columns:
                self.column = 0
                self._down()
            self._cells[self.row][self.column] = char
            self.column += 1
            if wide and self.column < self.columns:
                self._cells[self.row][self.column] = ""
                self.column += 1

    def _obey(self, control: str) -> None:
        match control:
            case "\r":
                self.column = 0
            case "\n" | "\x0b" | "\x0c":
                self._down()
            case "\b":
                self.column = max(0, self.column - 1)
            case "\t":
                self.column = min(self.columns - 1, (self.column // 8 + 1) * 8)

    def _down(self) -> None:
        if self.row < self.rows - 1:
            self.row += 1
        else:
            self._cells = [*self._cells[1:], [" "] * self.columns]

    def _command(self, marks: str, numbers: str, final: str) -> None:
        given = [int(one) if one.isdigit() else 0 for one in numbers.split(";")]
        many = max(1, given[0])
        if marks:
            if final == "h" and 1049 in given:
                self._clear(0, self.rows * self.columns)
            return
        here = self.row * self.columns + self.column
        match final:
            case "H" | "f":
                self.row = min(many, self.rows) - 1
                self.column = min(max(1, given[1] if len(given) > 1 else 1), self.columns) - 1
            case "A":
                self.row = max(0, self.row - many)
            case "B":
                self.row = min(self.rows - 1, self.row + many)
            case "C":
                self.column = min(self.columns - 1, self.column + many)
            case "D":
                self.column = max(0, self.column - many)
            case "G":
                self.column = min(many, self.columns) - 1
            case "d":
                self.row = min(many, self.rows) - 1
            case "X":
                self._clear(here, here + many)
            case "J":
                whole = self.rows * self.columns
                self._clear(0 if given[0] else here, here if given[0] == 1 else whole)
            case "K":
                begin = self.row * self.columns
                end = here if given[0] == 1 else begin + self.columns
                self._clear(begin if given[0] else here, end)

    def _clear(self, begin: int, end: int) -> None:
        for at in range(begin, min(end, self.rows * self.columns)):
            row, column = divmod(at, self.columns)
            self._cells[row][column] = " "
