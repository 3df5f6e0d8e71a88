"""Builds are made once, whole, and where the user wants them."""

import multiprocessing
import time

import pytest
from skinny.model.errors import InputError
from skinny.sim.cache import cached


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


def test_a_full_disk_is_named_before_and_after(cache, monkeypatch):
    def fail(folder):
        raise RuntimeError("g++ failed (exit code 1):\n can't write 81 bytes: 'No space left on device'")

    with pytest.raises(InputError, match=r"cache: No space left on device: SKINNY_CACHE names another folder for"):
        cached(["a"], fail)
    monkeypatch.setattr("skinny.sim.cache.LEAST", 1 << 80)
    with pytest.raises(InputError, match=r"cache: no space is left for builds \([0-9,]+ bytes\): SKINNY_CACHE names"):
        cached(["a"], fail)


def test_a_folder_that_is_a_file_inside_is_named(cache):
    cache.mkdir()
    done = cached(["a"], lambda folder: None)
    done.rmdir()
    cache.joinpath(f"{done.name}.lock").unlink()
    cache.joinpath(f"{done.name}.lock").mkdir()
    with pytest.raises(InputError, match=r"cache: cannot be used for builds \(Is a directory\)"):
        cached(["a"], lambda folder: None)
