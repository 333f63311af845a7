"""Where bytes come from: `find` turns paths into sources, `records.records` turns the bytes of one into records.

Neither raises on content.
"""

from toolaudit.sources.files import Identity, Source, Unusable, find, identity_of, meets, opened

__all__ = ["Identity", "Source", "Unusable", "find", "identity_of", "meets", "opened"]
