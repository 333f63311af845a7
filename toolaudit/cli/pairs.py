"""`toolaudit pairs`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolaudit.cli import Work
from toolaudit.cli._options import At, InputFormat, OutputFile, Paths, Quiet, RecordSize, Sent, StdinFilename, Target, Verbose

if TYPE_CHECKING:
    from toolaudit.cli._given import Given


def pairs(
    paths: Paths = None,
    target: Target = None,
    sent: Sent = False,
    input_format: InputFormat = None,
    at: At = None,
    quiet: Quiet = 0,
    verbose: Verbose = 0,
    stdin_filename: StdinFilename = "-",
    output: OutputFile = None,
    max_record_size: RecordSize = "1G",
) -> Work:
    """Write the pair model as JSON Lines: a call with the results that answer it, without content.

    The shape of a line is `toolaudit schema pairs-v1`. Exits 0, or 2 when something could not be read.
    """
    options = locals()  # before anything else is in it: each parameter is a field of `Given`
    from toolaudit.cli._given import Given

    given = Given(**{name: value for name, value in options.items() if value is not None})
    return lambda: _pairs(given)


def _pairs(given: Given) -> int:
    from toolaudit.cli import _audit, _faults, _terminal
    from toolaudit.outputs.json import encoded
    from toolaudit.pairs import Pairs
    from toolaudit.sources import identity_of

    options = _audit.options(given)
    _audit.ready(given)
    with _terminal.opened(given.output) as stream:
        ascii_only = _terminal.style(stream).ascii
        write = lambda line: stream.write(encoded(line, ascii_only=ascii_only) + "\n")  # noqa: E731
        run = Pairs(options, write, identity_of(_terminal.descriptor(stream)))
        try:
            _audit.read(run, given)
        except BrokenPipeError:
            _faults.hush()
    _audit.complain(run.report, given)
    if not (given.verbose or given.quiet):
        _audit.warn(run.report.inputs)  # there are no findings that say so
    return _audit.verdict(run.report)
