"""Puts the published schemas, which lie in the repository's own folder, into the package that is built.

Mapping the folder to a package in `pyproject.toml` would do the same, but then an editable install needs an import hook, which
doubles the start-up time of every Python in that environment.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class Build(build_py):
    """The ordinary build, with the schemas."""

    def run(self) -> None:
        """Build, then copy; an editable install reads them where they are."""
        super().run()
        if not self.editable_mode:
            shutil.copytree("schemas", Path(self.build_lib, "toolaudit", "_schemas"), dirs_exist_ok=True)


setup(cmdclass={"build_py": Build})
