"""Documentation as files that people edit: CSV, XLSX, JSON, Markdown.

Every format gives back exactly the rows that were written to it. A line that cannot be read is
given with its problem and stops nothing.
"""

from explorer.stewardship.files.formats import FORMATS, Format, format_of, read_rows, write_rows

__all__ = ["FORMATS", "Format", "format_of", "read_rows", "write_rows"]
