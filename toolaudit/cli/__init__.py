from toolaudit.cli.tmp import main
