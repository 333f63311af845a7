"""The first bad example of a rule, as the report that a user would see of it."""

from __future__ import annotations

import io
import json
import re

from toolaudit import formats, notation, rules
from toolaudit.engine import Audit, Options
from toolaudit.model import JSON
from toolaudit.outputs import Style, full
from toolaudit.regex import regex

_STORED = regex(r"^## Bad[^\n]*\n(?:(?!^## ).)*?^```json\n(.*?)^```", re.MULTILINE | re.DOTALL)
"""A bad example that the notation cannot show, as it is stored."""


def drawing(name: str, style: Style) -> str:
    """The report on the first bad example of the rule `name`; empty where no format can express it, or there is none."""
    page = rules.manual(name)
    block = next((text for kind, text in notation.blocks(page) if kind == "Bad"), "")
    if not block and (stored := _STORED.search(page)):
        return _report(stored[1], Options(rules=rules.select(extend=[name]), content=True, scenes=True), style)
    examples = notation.parse(block) if block else []
    for form in _fitting(examples[0].target) if examples else []:
        values = written(examples, form)
        if values is None:
            continue
        return _report(_text(values), _options(name, form, examples[0]), style)
    return ""


def written(examples: list[notation.Example], form: formats.Format) -> list[JSON] | None:
    """Examples in a format; None where it is another format's target that they are for, or where it cannot express them."""
    target = examples[0].target
    if target != form.TARGET and target in {other.TARGET for other in formats.formats()}:
        return None
    try:
        return [form.write(example.trajectory) for example in examples]
    except formats.CannotExpress:
        return None


def _fitting(target: str | None) -> list[formats.Format]:
    """The formats, those first whose own target the example names."""
    return sorted(formats.formats(), key=lambda form: target != form.TARGET)


def _options(name: str, form: formats.Format, example: notation.Example) -> Options:
    return Options(
        rules=rules.select(extend=[name]),
        target=example.target,
        input_format=form.NAME,
        sent=example.trajectory.sent,
        content=True,  # an example has no secrets
        scenes=True,
    )


def _text(values: list[JSON]) -> str:
    """Transcripts as a file would hold them: one as a document, those of a session as lines."""
    return "\n".join(json.dumps(value, indent=2 if len(values) == 1 else None, ensure_ascii=False) for value in values)


def _report(text: str, options: Options, style: Style) -> str:
    """Read back, audited, drawn."""
    run = Audit(options)
    run.paths(["-"], io.BytesIO(text.encode("utf-8", "surrogatepass")), stdin_name="example.json")
    stream = io.StringIO()
    report = full.Report(stream, style)
    for entry in run.report.findings:
        report.finding(entry)
    report.finish(run.report.summary)
    return stream.getvalue()
