"""The floors: what a bare loop costs that decodes every byte of an input, and does nothing else. Each is a program for `python -c`."""

LINES = """
import orjson, sys
for line in open(sys.argv[1], "rb", buffering=1 << 20): orjson.loads(line)
"""

DOCUMENT = """
import orjson, sys
orjson.loads(open(sys.argv[1], "rb").read())
"""

FILES = """
import orjson, os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file: orjson.loads(file.read())
"""

GZIP = """
import gzip, io, orjson, sys
for line in io.BufferedReader(gzip.open(sys.argv[1]), 1 << 20): orjson.loads(line)
"""

ZSTD = """
import io, orjson, sys, zstandard
stream = zstandard.ZstdDecompressor().stream_reader(open(sys.argv[1], "rb"), read_across_frames=True)
for line in io.BufferedReader(stream, 1 << 20): orjson.loads(line)
"""

START = "pass"

PACK_ZSTD = """
import sys, zstandard
zstandard.ZstdCompressor().copy_stream(open(sys.argv[1], "rb"), open(sys.argv[2], "wb"))
"""
"""No floor, but written likewise: it compresses a file, where `zstandard` may be installed only in another environment."""
