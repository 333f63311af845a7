import sys
from toolaudit.engine import Audit, Options
from toolaudit.outputs import Style, output
def main():
    a = Audit(Options())
    paths=[p for p in sys.argv[2:] if not p.startswith('-') and p!='json']
    a.paths(paths)
    name = 'json' if '--output-format' in sys.argv else 'concise'
    out = output(name)(sys.stdout, Style())
    out.start()
    for e in a.report.findings: out.finding(e)
    for i in a.report.inputs: out.input(i)
    out.finish(a.report.summary)
    for i in a.report.incomplete: print(i, file=sys.stderr)
