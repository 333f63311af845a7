"""Other programs over the same bytes: folders of Chat message lists, a file each, which all of them say that they read."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.clock import Command, Failed, Turns
from benchmarks.environment import Environment
from benchmarks.rows import Bench, seconds

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
    megabytes: float = 100
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
        limits="pairing in Messages and Chat; a file is one message list, or one message a line",
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
        limits="other questions: errors, loops, repeated and invented arguments; a call without a result is no finding of it",
        words=_tracelint,
        megabytes=10,
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


def compare(bench: Bench, among: Sequence[Peer] = PEERS) -> Iterator[str]:
    """A line for each peer: how many times as long as the check it takes, or why there is no figure."""
    yield "peers, over message lists of Chat, a file each:"
    for peer in among:
        try:
            yield f"  {_compared(bench, peer)} [{peer.limits}]"
        except Failed as failed:
            yield f"  {peer.name}: no figure: {failed} [{peer.limits}]"


def _compared(bench: Bench, peer: Peer) -> str:
    folder = bench.corpora.path("lists", peer.megabytes)
    with tempfile.NamedTemporaryFile() as output:
        command = peer.command(bench.environment, folder, output.name)
        turns = Turns.of([command, bench.check(folder)], min(ROUNDS, bench.rounds))
        lines = output.read().decode(errors="replace").strip().splitlines()
    other, own = seconds(turns.median(0, "cpu")), seconds(turns.median(1, "cpu"))
    said = f'it says "{_plain(lines[-1])}"' if peer.says and lines else f"it ended with {turns.usages[0][-1].code}"
    name = bench.environment.installed(peer.name) if command.words[0].startswith(str(bench.environment.folder)) else peer.name
    return f"{name}: {turns.ratio('cpu'):.2f} x the check, {other} against {own} cpu; {said}, the check {_found(bench, folder)}"


def _found(bench: Bench, folder: Path) -> str:
    """What the check says of a folder, to hold against what a peer says."""
    found = bench.report(folder)
    broken = {finding["path"] for finding in found["findings"] if finding["severity"] == "error"}
    return f'"{found["summary"]["files"]} files, {len(broken)} broken"'


def _plain(line: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in line)[:80]
