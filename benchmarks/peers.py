"""Other programs over the same bytes: folders of Chat message lists, a file each, which all of them say that they read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clock import Command, Failed, Turns
from benchmarks.environment import Environment, requirements
from benchmarks.rows import Bench, size

MEGABYTES = 10
ROUNDS = 3

LIBRARY = """
import orjson, pathlib, sys
{setup}
broken = files = 0
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json")):
    messages = orjson.loads(path.read_bytes())
    broken += {broken}
    files += 1
print(files, "files,", broken, "broken")
"""
"""The loop in which a user would call a library; it decodes as quickly as can be, to its advantage."""

CALL_IDS = ".[] | .tool_calls[]?.id"
JQ_LIBRARY = f"""
import jq, pathlib, sys
found = jq.compile({CALL_IDS!r})
print(sum(len(found.input_text(path.read_text()).all()) for path in pathlib.Path(sys.argv[1]).glob("*.json")), "ids")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A program, how it is run over a folder, and what its figure does not say."""

    name: str
    limits: str
    words: Callable[[Environment, Path], tuple[str, ...]]
    codes: tuple[int, ...] = (0,)
    says: bool = True
    """Its last line sums up what it found."""

    def command(self, environment: Environment, folder: Path, output: str) -> Command:
        """The command of one run. Raises Failed when the program is not to be had."""
        return Command(words=self.words(environment, folder), codes=self.codes, stdout=output)


def _tessera(environment: Environment, folder: Path) -> tuple[str, ...]:
    return (environment.script("tessera-transcript", "tessera"), "check", str(folder))


def _library(name: str, setup: str, broken: str) -> Callable[[Environment, Path], tuple[str, ...]]:
    code = LIBRARY.format(setup=setup, broken=broken)
    return lambda environment, folder: (environment.python(name), "-c", code, str(folder))


def _tracelint(environment: Environment, folder: Path) -> tuple[str, ...]:
    return (environment.script("tracelint", "tracelint"), "check", "--format", "openai", *map(str, sorted(folder.glob("*.json"))))


def _jq(environment: Environment, folder: Path) -> tuple[str, ...]:
    if program := shutil.which("jq"):
        return (program, "-r", CALL_IDS, *map(str, sorted(folder.glob("*.json"))))
    return (environment.python("jq"), "-c", JQ_LIBRARY, str(folder))


PEERS = (
    Peer(
        name="tessera-transcript",
        limits="pairing in Messages and Chat; a file is one message list; no tables of rules, arguments, tools or places",
        words=_tessera,
        codes=(0, 1),
    ),
    Peer(
        name="turnsafe",
        limits="a library: pairing in Messages and Chat; reads no files, and is called here in a loop that does",
        words=_library("turnsafe", "import turnsafe", "not turnsafe.validate(messages)"),
    ),
    Peer(
        name="tool-call-repair",
        limits="a library: pairing in Messages and Chat; reads no files, and is called here in a loop that does",
        words=_library("tool-call-repair", "import toolrepair", "bool(toolrepair.validate(messages))"),
    ),
    Peer(
        name="tracelint",
        limits="other questions: loops, repeated and invented arguments; what is missing it does not report",
        words=_tracelint,
        codes=(0, 1, 2),
        says=False,
    ),
    Peer(
        name="jq",
        limits="judges nothing: it prints the ids of the calls",
        words=_jq,
        says=False,
    ),
)


def compare(bench: Bench) -> Iterator[str]:
    """A line for each peer: how many times as long as the check it takes, or why there is no figure."""
    folder = bench.corpora.path("lists", MEGABYTES)
    yield f"peers, over {size(folder)} of Chat message lists:"
    versions = {name: line.partition("==")[2] for name, line in requirements().items()}
    for peer in PEERS:
        yield f"  {peer.name} {versions.get(peer.name, '')}".rstrip() + ": " + _compared(bench, peer, folder) + f" ({peer.limits})"


def _compared(bench: Bench, peer: Peer, folder: Path) -> str:
    with tempfile.NamedTemporaryFile() as output:
        try:
            command = peer.command(bench.environment, folder, output.name)
            turns = Turns.of([command, bench.check(folder)], min(ROUNDS, bench.rounds))
        except Failed as failed:
            return f"no figure: {failed}"
        said = output.read().decode(errors="replace").strip().splitlines()
    own, other = turns.median(1, "cpu"), turns.median(0, "cpu")
    says = f', says "{_plain(said[-1])}"' if peer.says and said else f", ended with {turns.usages[0][-1].code}"
    return f"{turns.ratio('cpu'):.2f} x the check: {other:.2f} s against {own:.2f} s cpu{says}"


def _plain(line: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in line)[:80]
