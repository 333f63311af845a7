"""`toolaudit formats`."""

from __future__ import annotations

from toolaudit.cli import Work


def formats() -> Work:
    """List the formats that are recognised, with what is read of each and whose law it is judged by."""
    return _list


def _list() -> int:
    from toolaudit import formats as known
    from toolaudit.cli._page import Page

    page = Page()
    for number, form in enumerate(known.formats()):
        page.blank(number)
        page.head(form.NAME, f"{form.TITLE}; judged as {form.TARGET}")
        for paragraph in (form.__doc__ or "").split("\n\n"):
            page.paragraph(paragraph, indent=2)
    return page.show()
