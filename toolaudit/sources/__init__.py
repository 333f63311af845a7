"""Where bytes come from: what the user named becomes sources, and a source becomes records.

`files` turns paths into sources, `records` turns the bytes of a source into records. Neither raises on anything it meets.
"""

from toolaudit.sources.files import Source, Unusable, find, opened
from toolaudit.sources.records import NotJSON, NotText, Record, Unreadable, decode, records, reread, salvage, unreadable

__all__ = [
    "NotJSON",
    "NotText",
    "Record",
    "Source",
    "Unreadable",
    "Unusable",
    "decode",
    "find",
    "opened",
    "records",
    "reread",
    "salvage",
    "unreadable",
]
