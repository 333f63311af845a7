from __future__ import annotations

import inspect
import io
import os
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolaudit.errors import UsageError
from toolaudit.sources import Source, Unusable, find, globs_of, identity_of, meets, opened

ROOT = Path(__file__).resolve().parents[1]


def paths(*given: str | Path) -> list[str]:
    return [item.path for item in find([str(path) for path in given])]


def one(path: str | Path) -> Unusable:
    [item] = find([str(path)])
    assert isinstance(item, Unusable)
    assert item.named
    assert item.path == str(path)
    return item


def plant(folder: Path) -> None:
    for name in ("a.json", "b/x.jsonl", "b/.hidden.json", "c.json", ".git/config", "b/deep/y.json", "[odd].json"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    plant(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_standard_input() -> None:
    assert list(find(["-", "-"])) == [Source("<stdin>", True, None)]
    assert list(find(["-"], stdin_name="x.jsonl")) == [Source("x.jsonl", True, None)]


def test_file_is_named_and_found_file_is_not(tree: Path) -> None:
    assert list(find(["a.json"])) == [Source("a.json", True, "a.json")]
    assert list(find(["b/deep"])) == [Source("b/deep/y.json", False, "b/deep/y.json")]


def test_folder_is_walked_in_order_of_names_with_folders_between_files(tree: Path) -> None:
    expected = ["[odd].json", "a.json", "b/deep/y.json", "b/x.jsonl", "c.json"]
    assert paths(".") == expected
    assert paths("./") == expected
    assert paths(tree) == [f"{tree}/{name}" for name in expected]
    assert paths(f"{tree}/") == [f"{tree}/{name}" for name in expected]


def test_hidden_is_passed_over_unless_named(tree: Path) -> None:
    assert paths(".git") == [".git/config"]
    assert paths("b/.hidden.json") == ["b/.hidden.json"]


def test_empty_folder_gives_nothing(tmp_path: Path) -> None:
    assert paths(tmp_path) == []


def test_no_paths_give_nothing() -> None:
    assert paths() == []


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.json", ["[odd].json", "a.json", "c.json"]),
        ("?.json", ["a.json", "c.json"]),
        ("[ab]*", ["a.json", "b/deep/y.json", "b/x.jsonl"]),
        ("[odd].json", ["[odd].json"]),
        ("**/*.json", ["[odd].json", "a.json", "c.json", "b/deep/y.json"]),
        ("**/**/y.json", ["b/deep/y.json"]),
        ("b/*/y.json", ["b/deep/y.json"]),
        ("b/.h*", ["b/.hidden.json"]),
        ("./*.json", ["[odd].json", "a.json", "c.json"]),
    ],
)
def test_pattern_that_the_shell_left_alone(tree: Path, pattern: str, expected: list[str]) -> None:
    assert paths(pattern) == expected
    assert paths(tree / pattern) == [f"{tree}/{name}" for name in expected]


def test_what_a_pattern_matches_is_named(tree: Path) -> None:
    assert [item.named for item in find(["?.json"])] == [True, True]


def test_pattern_that_matches_nothing(tree: Path) -> None:
    assert one("*.csv").reason == "nothing matches this pattern"
    assert one("none/*.csv").reason == "nothing matches this pattern"


def test_pattern_with_links_that_loop_comes_to_an_end(tree: Path) -> None:
    (tree / "b/up").symlink_to(tree)
    (tree / "b/again").symlink_to(tree / "b")
    assert paths("**/y.json") == ["b/deep/y.json"]


def test_missing(tree: Path) -> None:
    assert one("none.json").reason == "there is no such file or folder"
    assert "a part of the path is a file" in one("a.json/x").reason
    assert one("").reason == "there is no such file or folder"
    assert one("nul\0").reason == "there is no such file or folder"
    assert "too long" in one("x" * 5000).reason


def test_named_link_is_followed_and_found_link_is_not(tree: Path) -> None:
    (tree / "link.json").symlink_to("a.json")
    (tree / "folder").symlink_to("b")
    assert paths("link.json", "folder") == ["link.json", "folder/deep/y.json", "folder/x.jsonl"]
    assert "link.json" not in paths(".")
    assert not [path for path in paths(".") if path.startswith("folder")]


def test_link_that_leads_nowhere(tree: Path) -> None:
    (tree / "loop").symlink_to("loop")
    (tree / "broken").symlink_to("gone")
    assert one("loop").reason == "it is a symbolic link that leads back to itself"
    assert one("broken").reason == "it is a symbolic link to something that is not there"
    assert "loop" not in paths(".")


def test_folder_that_links_to_its_parent_is_walked_once(tree: Path) -> None:
    (tree / "b/up").symlink_to("..")
    assert paths("b/up") == ["b/up/[odd].json", "b/up/a.json", "b/up/b/deep/y.json", "b/up/b/x.jsonl", "b/up/c.json"]


def test_fifo_socket_and_device(tree: Path) -> None:
    os.mkfifo(tree / "fifo")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("sock")
    assert "named pipe" in one("fifo").reason
    assert "socket" in one("sock").reason
    assert "device" in one("/dev/null").reason
    found = {item.path: item for item in find(["."]) if isinstance(item, Unusable)}
    assert {path: item.named for path, item in found.items()} == {"fifo": False, "sock": False}
    both = [item for item in find([".", "fifo"]) if item.path == "fifo"]
    assert [item.named for item in both] == [True]


def test_same_file_is_given_once(tree: Path) -> None:
    os.link("a.json", "same.json")
    assert paths("a.json", "./a.json", str(tree / "a.json"), "same.json") == ["a.json"]
    assert paths("b", "./b/", "b/deep", "b/x.jsonl") == ["b/deep/y.json", "b/x.jsonl"]
    assert paths("b/deep", "b") == ["b/deep/y.json", "b/x.jsonl"]
    assert len(paths(".", "*", "**/*")) == 5


def test_found_file_that_is_named_as_well_counts_as_named(tree: Path) -> None:
    items = {item.path: item.named for item in find(["b", "b/x.jsonl"])}
    assert items == {"b/deep/y.json": False, "b/x.jsonl": True}


def test_deep_folders_do_not_exhaust_the_stack(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*"d" * 300)
    deep.mkdir(parents=True)
    (deep / "x.json").write_text("{}")
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    try:
        found = paths(tmp_path)
    finally:
        sys.setrecursionlimit(limit)
    assert found == [str(deep / "x.json")]


def test_name_that_is_not_text_is_shown_as_text(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/\xff.json"
    try:
        Path(os.fsdecode(name)).write_text("{}")
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    [item] = find([str(tmp_path)])
    assert item.path == f"{tmp_path}/\\xff.json"
    assert isinstance(item, Source)
    stream = opened(item)
    assert not isinstance(stream, Unusable)
    with stream:
        assert stream.read() == b"{}"


def test_opened(tree: Path) -> None:
    stdin = io.BytesIO(b"[]")
    assert opened(Source("<stdin>", True, None), stdin) is stdin
    assert opened(Source("<stdin>", True, None)) == Unusable("<stdin>", "standard input is closed", True)
    assert opened(Source("gone", False, "gone")) == Unusable("gone", "there is no such file or folder", False)


@pytest.mark.parametrize(
    ("include", "exclude", "expected"),
    [
        ([], [], ["[odd].json", "a.json", "b/deep/y.json", "b/x.jsonl", "c.json"]),
        (["*.jsonl"], [], ["b/x.jsonl"]),
        (["*.jsonl", "a.*"], [], ["a.json", "b/x.jsonl"]),
        (["b/*.jsonl"], [], ["b/x.jsonl"]),
        (["x/*.jsonl"], [], []),
        (["b/**/*.json"], [], ["b/deep/y.json"]),
        (["**/y.json"], [], ["b/deep/y.json"]),
        (["/*.json"], [], ["[odd].json", "a.json", "c.json"]),
        (["b"], [], ["b/deep/y.json", "b/x.jsonl"]),
        (["deep/"], [], ["b/deep/y.json"]),
        ([], ["b"], ["[odd].json", "a.json", "c.json"]),
        ([], ["deep"], ["[odd].json", "a.json", "b/x.jsonl", "c.json"]),
        ([], ["*.json", "!a.json"], ["a.json", "b/x.jsonl"]),
        (["*.json"], ["[ab].json", "b/"], ["[odd].json", "c.json"]),
        ([".*"], [], []),
    ],
)
def test_patterns_choose_from_folders(tree: Path, include: list[str], exclude: list[str], expected: list[str]) -> None:
    globs = globs_of(include, exclude)
    for root, prefix in ((".", ""), ("./", ""), (str(tree), f"{tree}/"), (f"{tree}/", f"{tree}/"), (f"{tree}/b/..", f"{tree}/b/../")):
        assert [item.path for item in find([root], globs=globs)] == [prefix + path for path in expected]


def test_what_is_named_is_read_whatever_the_patterns_say(tree: Path) -> None:
    globs = globs_of(["*.txt"], ["b", "*.json"])
    assert [item.path for item in find(["a.json", "b", "b/x.jsonl", "*.json"], globs=globs)] == [
        "a.json",
        "b/x.jsonl",
        "[odd].json",
        "c.json",
    ]
    assert [(item.path, item.named) for item in find([".", "c.json"], globs=globs)] == [("c.json", True)]


def test_excluded_folder_is_not_walked(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walked: list[str] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (walked.append(path), scan(path))[1])
    list(find(["."], globs=globs_of([], ["b"])))
    assert walked == ["."]


@pytest.mark.parametrize("pattern", ["*.{json,jsonl}", "[z-a]", "a\\"])
def test_text_that_is_no_pattern(pattern: str) -> None:
    with pytest.raises(UsageError):
        globs_of([pattern], [])


def test_marks_of_a_file_of_patterns_mean_themselves(tree: Path) -> None:
    (tree / "#x").write_text("{}")
    (tree / "{x}").write_text("{}")
    assert [item.path for item in find(["."], globs=globs_of(["#x", "\\{x\\}"], []))] == ["#x", "{x}"]


AS_NOBODY = """
import os, sys
from toolaudit.sources import Source, Unusable, find, opened
os.setgroups([]), os.setegid(65534), os.seteuid(65534)
for found in find(sys.argv[1:]):
    item = found if isinstance(found, Unusable) else opened(found)
    if isinstance(item, Unusable):
        print(item.named, item.path, item.reason, sep="|")
    else:
        print(found.path), item.close()
"""


@pytest.fixture
def open_tree() -> Iterator[Path]:
    """A tree that everybody may enter, which a folder of pytest is not."""
    with tempfile.TemporaryDirectory() as name:
        plant(Path(name))
        for path in (name, f"{name}/b"):
            Path(path).chmod(0o755)
        yield Path(name)


def test_what_may_not_be_read(open_tree: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    if not all(path.stat().st_mode & stat.S_IXOTH for path in open_tree.parents):
        pytest.skip("the folder for temporary files is closed to others")
    (open_tree / "a.json").chmod(0)
    (open_tree / "b/deep").chmod(0)

    def run(*given: str) -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", AS_NOBODY, *given],
            cwd=open_tree,
            env={"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()

    file, folder = (
        "it may not be read: permission is denied",
        "this folder may not be read: permission is denied, so nothing in it was checked",
    )
    assert run("a.json", "b/deep") == [f"True|a.json|{file}", f"True|b/deep|{folder}"]
    assert run(".") == ["[odd].json", f"False|a.json|{file}", f"False|b/deep|{folder}", "b/x.jsonl", "c.json"]
    assert run("b", "b/deep") == [f"True|b/deep|{folder}", "b/x.jsonl"]
    assert run("b/deep/y.json") == [f"True|b/deep/y.json|{file}"]


def test_every_file_that_is_come_across_is_met_by_whatever_name(tmp_path: Path) -> None:
    plant(tmp_path)
    (tmp_path / "apart.json").write_text("{}")
    (tmp_path / "b/deep/hard.json").hardlink_to(tmp_path / "b/x.jsonl")
    (tmp_path / "soft.json").symlink_to("c.json")

    def met(path: str, *given: str) -> bool:
        identity = identity_of(str(tmp_path / path))
        assert identity is not None
        return meets([str(tmp_path / one) for one in given], identity)

    assert met("b/x.jsonl", "b")
    assert met("b/x.jsonl", "a.json", "b/deep")
    assert met("c.json", "*.json")
    assert met("soft.json", "c.json")
    assert met("c.json", "soft.json")
    assert not met("apart.json", "b", "c.json", "gone.json")
    assert not met("b/.hidden.json", "b")
    assert not meets([str(tmp_path)], identity_of(str(tmp_path / "b/x.jsonl")) or (0, 0), globs_of([], ["b"]))
    assert meets([str(tmp_path / "b/x.jsonl")], identity_of(str(tmp_path / "b/x.jsonl")) or (0, 0), globs_of([], ["b"]))
    assert identity_of("/dev/null") is None
    assert identity_of(str(tmp_path)) is None


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(alphabet=st.sampled_from("ab*?[]!-./\0\udcffé"), max_size=8), max_size=3))
def test_no_path_raises(tree: Path, given_paths: list[str]) -> None:
    inside = [path for path in given_paths if not path.startswith("/") and ".." not in path]
    for item in find(inside):
        item.path.encode()
