"""Programs as files: a program that is written is read back equal, and nothing else is read at all."""

import contextlib
import io
import os
import stat
import struct
import threading
import zipfile
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skinny.model.errors import InputError
from skinny.model.files import read_text
from skinny.model.limits import Limits
from skinny.model.program.forms import Input, Linear, Weight
from skinny.model.program.program import Columns, Output, Program
from skinny.model.program.storage import load, save
from skinny.model.program.text import dumps

PROGRAM = Program(
    width=3,
    inputs=("a", "b"),
    weights=(Fraction(2), Fraction(-3, 4)),
    derived=(False, True),
    forms=(Input(0), Weight(0), Linear(((0, 0), (1, 1)), 0)),
    code=Columns.of([2, 0, 1], [1, 2, 0], [1, -1, 1], [0, 1, 2]),
    outputs=(Output("y", 0, 3), Output("y1", 2, 3, True)),
    contract="clean",
    start=(0, 1, 0),
    title="y = (a + 2*b)^3",
)
TEXT = dumps(PROGRAM)


def through_binary(program, folder):
    save(program, folder / "p.npz")
    return load(folder / "p.npz")


def rewritten(program, folder, **changes):
    """``program`` in binary form with some of its arrays exchanged; None leaves one out."""
    save(program, folder / "p.npz")
    with np.load(folder / "p.npz") as archive:
        arrays = {**archive, **changes}
    np.savez(folder / "p.npz", **{name: array for name, array in arrays.items() if array is not None})
    return folder / "p.npz"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(data=st.data())
def test_binary_round_trips(tmp_path, programs, data):
    program = data.draw(programs)
    again = through_binary(program, tmp_path)
    assert again == program
    assert again.title == program.title
    for column, was in zip(again.code.arrays(), program.code.arrays(), strict=True):
        assert column.dtype == was.dtype


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(content=st.binary(max_size=200), name=st.sampled_from(["g.skn", "g.npz"]), real=st.booleans())
def test_garbage_is_one_clear_line(tmp_path, content, name, real):
    path = tmp_path / name
    path.write_bytes((b"skinny 1\n" if name == "g.skn" else b"PK\x03\x04") * real + content)
    with pytest.raises(InputError, match=rf"^{path}:[^\n]+$"):
        load(path)


def test_damaged_binary_is_refused_or_means_the_same(tmp_path):
    save(PROGRAM, tmp_path / "p.npz")
    whole = (tmp_path / "p.npz").read_bytes()
    damaged = tmp_path / "damaged.npz"
    for end in range(0, len(whole), 7):
        damaged.write_bytes(whole[:end])
        with pytest.raises(InputError, match=rf"^{damaged}: not a skinny program[^\n]*$"):
            load(damaged)
    rng = np.random.default_rng(1)
    for place in rng.choice(len(whole), 400, replace=False).tolist():
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        with contextlib.suppress(InputError):
            assert load(damaged) == PROGRAM


def _sums(kind, index, register):
    """The arrays of one term with a register in the last form."""
    return {
        "form_sums": np.array([0, 0, 1], np.int32),
        "sum_kind": np.array([kind], np.uint8),
        "sum_index": np.array([index], np.int32),
        "sum_register": np.array([register], np.int32),
    }


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"skinny": np.array(1)}, "version 1 is not known: this program reads version 2"),
        ({"skinny": np.array("1")}, "not a skinny program (no version)"),
        ({"dst": None}, "not a skinny program, or damaged"),
        ({"dst": np.array([2, 0, 7], np.uint16)}, "instruction 2: register out of range (width 3)"),
        ({"dst": np.array([1, 0, 1], np.uint16)}, "instruction 0: dst = src"),
        ({"dst": np.array([2, 0], np.uint16)}, "the columns of the program differ in length"),
        ({"dst": np.array([2, 256, 1])}, "dst must be one column of uint16, not int64 of shape (3,)"),
        ({"mode": np.array([0, 3, 0], np.uint8)}, "instruction 1: mode is neither add, assign nor relu"),
        ({"mode": np.array([0, 0], np.uint8)}, "the columns of the program differ in length"),
        ({"sign": np.array([1, 0, 1], np.int8)}, "instruction 1: sign is neither +1 nor -1"),
        ({"form": np.array([0, 1, 3], np.int32)}, "instruction 2: form index past the end"),
        ({"form_index": np.array([2, 0, 0], np.int32)}, "form 0: input index 2 is past the end (2)"),
        ({"form_index": np.array([0, -1, 0], np.int32)}, "form 1: weight index -1 is past the end (2)"),
        ({"form_kind": np.array([0, 1, 3], np.uint8)}, "the table of forms means nothing"),
        ({"form_terms": np.array([0, 0, 3], np.int32)}, "the table of forms means nothing"),
        ({"form_terms": np.array([0, 1, 1], np.int32)}, "the table of forms means nothing"),
        ({"form_sums": np.array([0, 0, 1], np.int32)}, "the table of forms means nothing"),
        ({"sum_kind": np.array([0], np.uint8)}, "the table of forms means nothing"),
        (_sums(2, 0, 0), "the table of forms means nothing"),
        (_sums(0, 2, 0), "form 2: input index 2 is past the end (2)"),
        (_sums(1, 2, 0), "form 2: weight index 2 is past the end (2)"),
        (_sums(1, 0, 3), "form 2: register 3 is out of range (width 3)"),
        (_sums(1, 0, -1), "form 2: register -1 is out of range (width 3)"),
        ({"weights": np.frombuffer(b"2\n1/0", np.uint8)}, "weight w[1] must be an integer or a fraction, not '1/0'"),
        ({"weights": np.frombuffer(b"2", np.uint8)}, "every weight needs a 'derived' mark"),
        ({"inputs": np.frombuffer(b"a\nb c", np.uint8)}, "'b c' is not a name"),
        ({"header": np.frombuffer(b"{}", np.uint8)}, "the header means nothing"),
        ({"header": np.frombuffer(b"[" * 100_000, np.uint8)}, "the header means nothing"),
        ({"header": np.frombuffer(b"\xff", np.uint8)}, "the header means nothing"),
    ],
)
def test_binary_that_means_nothing_is_refused(tmp_path, changes, message):
    path = rewritten(PROGRAM, tmp_path, **changes)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_binary_never_unpickles(tmp_path):
    path = tmp_path / "p.npz"
    np.savez(path, skinny=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match=r"not a skinny program \(no version\)"):
        load(path)


@pytest.mark.parametrize("name", ["p.txt", "p", "p.skn.gz", ".skn"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(InputError, match=r"must end in \.skn or \.npz"):
        save(PROGRAM, tmp_path / name)
    with pytest.raises(InputError, match=r"must end in \.skn or \.npz"):
        load(tmp_path / name)


@pytest.mark.parametrize("name", ["p.skn", "p.npz"])
def test_unreadable_places_are_one_clear_line(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=r"cannot be read \(Is a directory\)$"):
        load(tmp_path / name)
    with pytest.raises(InputError, match=r"cannot be written \(Is a directory\)$"):
        save(PROGRAM, tmp_path / name)
    with pytest.raises(InputError, match=r"cannot be read \(No such file or directory\)$"):
        load(tmp_path / "missing" / name)
    with pytest.raises(InputError, match=r"cannot be written \(No such file or directory\)$"):
        save(PROGRAM, tmp_path / "missing" / name)
    assert os.listdir(tmp_path) == [name]


def test_failed_saves_leave_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "p.npz"
    save(PROGRAM, path)
    before = path.read_bytes()

    def full(file: io.BufferedWriter, **arrays):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez_compressed", full)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)$"):
        save(replace(PROGRAM, width=4, start=()), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["p.npz"]


@pytest.mark.parametrize("name", ["p.skn", "p.npz"])
def test_what_cannot_be_written_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="'a b' is not a name"):
        save(replace(PROGRAM, inputs=("a b", "c")), tmp_path / name)
    with pytest.raises(InputError, match=r"weight w\[1\] has too many digits"):
        save(replace(PROGRAM, weights=(Fraction(1), Fraction(10**4001))), tmp_path / name)
    with pytest.raises(InputError, match=r"weight w\[1\] has too many digits"):
        save(replace(PROGRAM, weights=(Fraction(1), Fraction(10**9000))), tmp_path / name)
    assert os.listdir(tmp_path) == []


def npy_header(shape, kind="<u2"):
    text = repr({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text + b"\n"


def with_part(path, key, content, packed=zipfile.ZIP_DEFLATED):
    """PROGRAM as an archive in which the part ``key`` has another content."""
    save(PROGRAM, path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", packed) as archive:
        for name, old in parts.items():
            archive.writestr(name, content if name == f"{key}.npy" else old)
    return path


@pytest.mark.parametrize(
    ("key", "content", "message"),
    [
        ("dst", npy_header((10**15,)), "1,000,000,000,000,000 entries of dst need more memory than 4G"),
        ("weights", npy_header((10**9,), "|u1"), "1,000,000,000 entries of weights need more memory than 4G"),
        ("term_input", npy_header((10**9,), "<i4"), "1,000,000,000 entries of term_input need more memory than 4G"),
        ("dst", npy_header((-5,)) + b"12345", "not a skinny program, or damaged"),
        ("dst", npy_header((3,)) + b"12", "not a skinny program, or damaged"),
        ("dst", npy_header((3,)) + bytes(10**8), "not a skinny program, or damaged"),
        ("dst", b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 31) + bytes(10**8), "not a skinny program, or damaged"),
        ("skinny", npy_header((10**15,), "<i4"), "not a skinny program (no version)"),
        ("dst", npy_header((10**8, 10**8)), "dst must be one column of uint16, not uint16 of shape"),
        ("dst", npy_header((2,), "|V999999999"), "dst must be one column of uint16, not |V999999999 of shape"),
    ],
)
def test_headers_are_believed_only_within_the_limits(memory_for, tmp_path, key, content, message):
    path = with_part(tmp_path / "p.npz", key, content)
    with memory_for(64 << 20), pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_what_unpacks_to_more_than_the_limit_is_refused_unread(memory_for, tmp_path):
    path = tmp_path / "p.npz"
    arrays = dict(np.load(rewritten(PROGRAM, tmp_path)))
    np.savez_compressed(path, **arrays | {"dst": np.zeros(1 << 28, np.uint16), "weights": np.zeros(1 << 26, np.uint8)})
    assert path.stat().st_size < 1 << 20
    for memory, said in ((4 << 30, "4G"), (1 << 20, "1M")):
        message = f"67,108,864 entries of weights need more memory than {said}: --limit memory=SIZE"
        with memory_for(64 << 20), Limits(memory=memory).applied(), pytest.raises(InputError, match=message):
            load(path)


def test_all_columns_share_the_memory(tmp_path):
    path = tmp_path / "p.npz"
    save(PROGRAM, path)
    sizes = {name: array.size for name, array in np.load(path).items() if name != "skinny"}
    code = ("dst", "src", "sign", "form", "mode")
    needed = sum(size * (16 if name in code else 128) for name, size in sizes.items())
    with Limits(memory=needed).applied():
        assert load(path) == PROGRAM
    with Limits(memory=needed - 1).applied(), pytest.raises(InputError, match="entries of derived need more memory"):
        load(path)


@pytest.mark.parametrize("packed", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings_are_refused(tmp_path, packed):
    """They cannot be unpacked piece by piece, so their size is known too late."""
    path = with_part(tmp_path / "p.npz", "dst", npy_header((3,)) + b"\2\0\0\0\1\0")
    assert load(path) == PROGRAM
    path = with_part(path, "dst", npy_header((3,)) + b"\2\0\0\0\1\0", packed)
    with pytest.raises(InputError, match="not a skinny program, or damaged"):
        load(path)


def test_archives_of_very_many_parts_are_refused_unread(tmp_path):
    path = tmp_path / "p.npz"
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(2000):
            archive.writestr(str(number), b"")
    with pytest.raises(InputError, match=r"not a skinny program \(too many parts\)$"):
        load(path)


@pytest.mark.parametrize(
    ("name", "most"), [("p.skn", 268_435_456), ("p.txt", 134_217_728)], ids=["a program", "another text"]
)
def test_text_is_read_up_to_its_limit(tmp_path, name, most):
    path = tmp_path / name
    path.write_text(TEXT)
    os.truncate(path, 10**11)  # there are no blocks behind it: it takes no room
    with pytest.raises(InputError, match=f"{name}: more than {most:,} bytes need more memory than 4G: --limit memory="):
        load(path) if name == "p.skn" else read_text(path, 32)


def test_the_limit_of_text_is_exact(tmp_path):
    path = tmp_path / "p.skn"
    text = TEXT + "\n" * 10_000
    path.write_text(text)
    with Limits(memory=16 * len(text)).applied():
        assert load(path) == PROGRAM
    with Limits(memory=16 * len(text) - 1).applied(), pytest.raises(InputError, match="bytes need more memory than"):
        load(path)


def test_pipes_and_devices_are_read_as_text(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(TEXT,))
    writer.start()
    assert load(path) == PROGRAM
    writer.join()
    with pytest.raises(InputError, match=r"^/dev/zero: more than 268,435,456 bytes"):
        load("/dev/zero")


@pytest.mark.parametrize("name", ["p.skn", "p.npz"])
def test_links_are_followed(tmp_path, name):
    (tmp_path / "other").mkdir()
    link, target = tmp_path / name, tmp_path / "other" / "target"
    link.symlink_to(target)
    for _ in ("dangling", "there"):
        save(PROGRAM, link)
        assert link.is_symlink()
        assert target.is_file()
        assert not target.is_symlink()
        assert load(link) == PROGRAM
    assert os.listdir(tmp_path / "other") == ["target"]


def test_a_link_to_itself_stays(tmp_path):
    link = tmp_path / "p.skn"
    link.symlink_to(link)
    with pytest.raises(InputError, match=r"p\.skn: cannot be written \(Too many levels of symbolic links\)"):
        save(PROGRAM, link)
    assert link.is_symlink()
    assert os.listdir(tmp_path) == ["p.skn"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_replaced_files_keep_their_permissions(tmp_path, mode):
    path = tmp_path / "p.skn"
    path.write_text("old")
    path.chmod(mode)
    save(PROGRAM, path)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert load(path) == PROGRAM


def test_new_files_have_the_usual_permissions(tmp_path):
    save(PROGRAM, tmp_path / "p.skn")
    (tmp_path / "usual").touch()
    assert (tmp_path / "p.skn").stat().st_mode == (tmp_path / "usual").stat().st_mode


@pytest.mark.parametrize("name", ["p.skn", "p.npz", "pipe"])
def test_pipes_are_written_into(tmp_path, name):
    path = tmp_path / name
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    save(PROGRAM, path)
    reader.join()
    assert stat.S_ISFIFO(path.stat().st_mode)
    (tmp_path / ("copy.npz" if name == "p.npz" else "copy.skn")).write_bytes(read[0])
    assert load(tmp_path / ("copy.npz" if name == "p.npz" else "copy.skn")) == PROGRAM


def test_devices_are_written_into(tmp_path):
    link = tmp_path / "p.skn"
    link.symlink_to("/dev/null")
    save(PROGRAM, link)
    save(PROGRAM, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert link.is_symlink()
    assert os.listdir(tmp_path) == ["p.skn"]
