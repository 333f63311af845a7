"""`python -m toolaudit`."""

from toolaudit.cli import main

if __name__ == "__main__":
    main()
