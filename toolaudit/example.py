"""The first bad example of a rule, as the report that a user would see of it."""

from __future__ import annotations

import io
import json

from toolaudit import formats, notation, rules
from toolaudit.engine import Audit, Options
from toolaudit.model import JSON
from toolaudit.outputs import Style, full


def drawing(name: str, style: Style) -> str:
    """The report on the first bad example of the rule `name`; empty where no format can express it, or there is none."""
    block = next((text for kind, text in notation.blocks(rules.manual(name)) if kind == "Bad"), "")
    examples = notation.parse(block) if block else []
    for form in _fitting(examples[0].target) if examples else []:
        try:
            values = [form.write(example.trajectory) for example in examples]
        except formats.CannotExpress:
            continue
        return _report(values, _options(name, form, examples[0]), style)
    return ""


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


def _report(values: list[JSON], options: Options, style: Style) -> str:
    """Written as a file would be, read back, audited, drawn."""
    one = len(values) == 1
    text = "\n".join(json.dumps(value, indent=2 if one else None, ensure_ascii=False) for value in values)
    run = Audit(options)
    run.paths(["-"], io.BytesIO(text.encode()), stdin_name="example.json" if one else "example.jsonl")
    stream = io.StringIO()
    report = full.Report(stream, style)
    for entry in run.report.findings:
        report.finding(entry)
    report.finish(run.report.summary)
    return stream.getvalue()
