"""Where bytes come from: `find` turns paths into sources, `opened` a source into bytes or the members of an archive, and
`records.records` turns the bytes of one into records.

None of them raises on content.
"""

from toolaudit.sources.files import Archive, Identity, Member, Source, Unusable, find, globs_of, identity_of, meets, opened

__all__ = ["Archive", "Identity", "Member", "Source", "Unusable", "find", "globs_of", "identity_of", "meets", "opened"]
