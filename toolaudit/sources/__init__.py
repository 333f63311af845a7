"""Where bytes come from: `find` turns paths into sources, `records.records` turns the bytes of one into records.

Neither raises on content.
"""

from toolaudit.sources.files import Source, Unusable, find, opened

__all__ = ["Source", "Unusable", "find", "opened"]
