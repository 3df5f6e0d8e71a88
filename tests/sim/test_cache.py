"""Builds are made once, whole, and where the user wants them."""

import multiprocessing
import time

import pytest
from skinny.model.errors import InputError
from skinny.sim.cache import cache_folder, cached


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("SKINNY_CACHE", str(folder))
    return folder


def test_made_once(cache):
    made = []

    def make(folder):
        made.append(folder)
        (folder / "product").write_text("built")

    first = cached(["a", "b"], make)
    assert cached(["a", "b"], make) == first
    assert len(made) == 1
    assert (first / "product").read_text() == "built"
    assert first.parent == cache.resolve()


@pytest.mark.parametrize("parts", [["ab"], ["a", "c"], ["a", "b", ""], ["", "a", "b"]])
def test_other_parts_are_another_build(parts):
    assert cached(["a", "b"], lambda folder: None) != cached(parts, lambda folder: None)


def test_a_failed_build_leaves_nothing(cache):
    def fail(folder):
        (folder / "half").write_text("")
        raise RuntimeError("compiler")

    with pytest.raises(RuntimeError, match="compiler"):
        cached(["a"], fail)
    assert [path.suffix for path in cache.iterdir()] == [".lock"]
    assert (cached(["a"], lambda folder: (folder / "whole").write_text("")) / "whole").exists()


def _slow_build(log):
    def make(folder):
        with open(log, "a") as file:
            file.write("made\n")
        time.sleep(0.5)
        (folder / "product").write_text("x" * 100_000)

    assert len((cached(["same"], make) / "product").read_text()) == 100_000


def test_two_processes_build_once(tmp_path):
    log = tmp_path / "log"
    processes = [multiprocessing.get_context("fork").Process(target=_slow_build, args=(log,)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert log.read_text() == "made\n"


def test_folders(tmp_path, monkeypatch):
    monkeypatch.delenv("SKINNY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == (tmp_path / "xdg" / "skinny").resolve()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder() == (tmp_path / "home" / ".cache" / "skinny").resolve()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert cache_folder().parent == tmp_path.resolve()
    assert cache_folder().stat().st_mode & 0o77 == 0


def test_a_folder_that_cannot_be_made_is_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SKINNY_CACHE", str(tmp_path / "file" / "x"))
    with pytest.raises(InputError, match=r"SKINNY_CACHE=.*Not a directory"):
        cache_folder()
