"""Programs as files: what is written is read back equal, and nothing else is read at all."""

import contextlib
import io
import os
import resource
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
from skinny.model.limits import Limits
from skinny.model.program import Columns, Input, Linear, Output, Program, Weight
from skinny.model.storage import load, read_text, save, write_file
from skinny.model.text import dumps, loads

TEXT = """\
skinny 1
# y = (a + 2*b)^3
width 3
contract clean
start 0 1 0
inputs a b
weight w[0] = 2
weight w[1] = -3/4 derived
form f[0] = w[0]*a + w[1]*b + w[0]
R2 += a*R1
R0 -= w[0]*R2
R1 += f[0]*R0
emit y = R0
emit y1 = R2 restart
end
"""
#: TEXT, built by hand.
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


@st.composite
def programs(draw):
    width = draw(st.integers(2, 6))
    inputs = draw(st.lists(st.sampled_from(["a", "R1", "w", "f", "emit", "end", "x_1", "restart"]), unique=True))
    weights = draw(st.lists(st.fractions(max_denominator=1000), max_size=5))
    plain = [Input(u) for u in range(len(inputs))] + [Weight(k) for k in range(len(weights))]
    forms = draw(st.lists(st.sampled_from(plain), unique=True)) if plain else []
    if weights:
        index = st.integers(0, len(weights) - 1)
        terms = st.lists(st.tuples(index, st.integers(0, max(0, len(inputs) - 1))), max_size=3 if inputs else 0)
        linear = st.builds(lambda t, b: Linear(tuple(t), b), terms, st.none() | index)
        forms = draw(st.permutations(forms + draw(st.lists(linear, max_size=3))))
    length = draw(st.integers(0, 12)) if forms else 0
    dst = draw(st.lists(st.integers(0, width - 1), min_size=length, max_size=length))
    src = [(j + draw(st.integers(1, width - 1))) % width for j in dst]
    sign = draw(st.lists(st.sampled_from([1, -1]), min_size=length, max_size=length))
    form = draw(st.lists(st.integers(0, max(0, len(forms) - 1)), min_size=length, max_size=length))
    places = sorted(draw(st.lists(st.integers(0, length), min_size=1, max_size=3)))
    outputs = tuple(
        Output(f"y{n}", draw(st.integers(0, width - 1)), at, draw(st.booleans())) for n, at in enumerate(places)
    )
    return Program(
        width=width,
        inputs=tuple(inputs),
        weights=tuple(weights),
        derived=tuple(draw(st.booleans()) for _ in weights),
        forms=tuple(forms),
        code=Columns.of(dst, src, sign, form),
        outputs=outputs,
        contract=draw(st.sampled_from(["clean", "in-place"])),
        start=tuple(draw(st.lists(st.integers(-9, 2**70), min_size=width, max_size=width))),
        self_check=draw(st.booleans()),
        title=draw(st.sampled_from(["", "y = a", "y = a # twice\n\n  z = b", "ä·b"])),
    )


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


def test_text_is_what_the_documentation_shows():
    assert dumps(PROGRAM) == TEXT
    assert loads(TEXT) == PROGRAM
    assert loads(TEXT).title == PROGRAM.title


def test_an_input_and_a_weight_of_one_number_are_two_scalars():
    assert Input(0) != Weight(0)
    read = replace(PROGRAM, forms=(Input(0), Weight(0), Input(1)))
    assert replace(PROGRAM, forms=(Weight(0), Input(0), Input(1))) != read
    assert Program.concatenate([read]).forms == (Input(0), Weight(0), Input(1))


@given(programs())
def test_text_round_trips(program):
    again = loads(dumps(program))
    assert again == program
    assert again.title == program.title
    assert dumps(again) == dumps(program)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(programs())
def test_binary_round_trips(tmp_path, program):
    again = through_binary(program, tmp_path)
    assert again == program
    assert again.title == program.title
    for column, was in zip(again.code.arrays(), program.code.arrays(), strict=True):
        assert column.dtype == was.dtype


def test_tables_out_of_order_keep_their_order():
    odd = replace(PROGRAM, forms=(*PROGRAM.forms, Input(1)), outputs=PROGRAM.outputs[:1]).inverse()
    assert "table a w[0] f[0] b" in dumps(odd)
    assert loads(dumps(odd)) == odd


def test_a_scalar_listed_twice_is_merged():
    twice = replace(PROGRAM, forms=(Input(0), Input(0), Linear(((0, 0),))), outputs=(Output("y", 0, 3),))
    merged = loads(dumps(twice))
    assert merged.forms == (Input(0), Linear(((0, 0),)))
    assert merged.code.form.tolist() == [0, 0, 1]


def test_hand_written_text_is_read_generously():
    head = "skinny 1\r\nwidth 3  # three\n\n inputs a\nweight w[0]=+6/4\n"
    program = loads(head + "R0+=a * R1 # first\n\tR2 -= w[00]*R0\nemit y=R2\nend")
    assert program.weights == (Fraction(3, 2),)
    assert program.start == (0, 1, 0)
    assert program.contract == "clean"
    assert program.forms == (Input(0), Weight(0))
    assert [column.tolist() for column in program.code.arrays()] == [[0, 2], [1, 0], [1, -1], [0, 1]]
    assert program.outputs == (Output("y", 2, 2),)


def broken(old, new):
    assert TEXT.count(old) == 1
    return TEXT.replace(old, new)


MALFORMED = [
    (TEXT.replace("start 0", "self-check on\nstart 0"), 5, "nothing may follow 'self-check', found 'on'"),
    (TEXT.replace("start 0", "self-check\nself-check\nstart 0"), 6, "'self-check' is given twice"),
    ("", 1, "the first line must be 'skinny 1'"),
    (broken("skinny 1", "skinny 2"), 1, "version 2 is not known: this program reads version 1"),
    (broken("skinny 1", "skinny"), 1, "the first line must be 'skinny 1'"),
    (broken("skinny 1\n", ""), 1, "the first line must be 'skinny 1'"),
    (broken("end\n", ""), 14, "the program is cut off: its last line must be 'end'"),
    (broken("end\n", "end\nR0 += a*R1\n"), 16, "nothing may follow 'end'"),
    (broken("end\n", "end\nend\n"), 16, "nothing may follow 'end'"),
    (broken("width 3", "width 1"), 3, "the width must be 2 to 255, not '1'"),
    (broken("width 3", "width 3\nwidth 3"), 4, "'width' is given twice"),
    (broken("width 3\n", ""), 4, "'width' must come first"),
    (broken("contract clean", "contract tidy"), 4, "the contract must be in-place or clean, not 'tidy'"),
    (broken("start 0 1 0", "start 0 1"), 5, "the start vector must have 3 entries, not 2"),
    (broken("start 0 1 0", "start 0 1 x"), 5, "a start value must be an integer, not 'x'"),
    (broken("inputs a b", "inputs a 2b"), 6, "an input must be a name, not '2b'"),
    (broken("inputs a b", "inputs a b a"), 6, "the input 'a' is given twice"),
    (broken("w[0] = 2\n", "w[1] = 2\n"), 7, "expected 'w[0] = …', found 'w[1] = 2'"),
    (broken("w[0] = 2\n", "w[0] = 2x\n"), 7, "a weight must be an integer or a fraction, not '2x'"),
    (broken("w[0] = 2\n", "w[0] = 2/0\n"), 7, "a weight cannot have the denominator zero"),
    (broken("-3/4 derived", "-3/4 guessed"), 8, "only 'derived' may follow the value of a weight, not 'guessed'"),
    (broken("w[1]*b + w[0]", "w[1]*c + w[0]"), 9, "unknown input 'c'"),
    (broken("w[1]*b + w[0]", "w[2]*b + w[0]"), 9, "weight index w[2] is past the end (2)"),
    (broken("w[1]*b + w[0]", "w[1] + w[0]"), 9, "a form has at most one bias"),
    (broken("w[1]*b + w[0]", "b*w[1]"), 9, "a term of a form must be like 'w[0]*x' or 'w[0]', not 'b*w[1]'"),
    (broken("R2 += a*R1", "R3 += a*R1"), 10, "register R3 is out of range (width 3)"),
    (broken("R2 += a*R1", "R2 += a*R7"), 10, "register R7 is out of range (width 3)"),
    (broken("R2 += a*R1", "R2 += a*R2"), 10, "dst = src: an instruction cannot read and write R2"),
    (broken("R0 -= w[0]*R2", "R0 -= a*R0"), 11, "dst = src: an instruction cannot read and write R0"),
    (broken("R2 += a*R1", "R2 += c*R1"), 10, "unknown input 'c'"),
    (broken("R2 += a*R1", "R2 += w[5]*R1"), 10, "weight index w[5] is past the end (2)"),
    (broken("R2 += a*R1", "R2 += f[1]*R1"), 10, "form index f[1] is past the end (1)"),
    (broken("R2 += a*R1", "table a w[0]\nR2 += a*R1"), 13, "the table does not list 'f[0]'"),
    (broken("R2 += a*R1", "table a a"), 10, "the table lists 'a' twice"),
    (
        broken("R2 += a*R1", "R2 = a*R1"),
        10,
        "expected an instruction like 'R0 += x*R1' or a declaration, found 'R2 = a*R1'",
    ),
    (broken("R2 += a*R1", "R2 += a*R1 R0"), 10, "expected an instruction like 'R0 += x*R1', found 'R2 += a*R1 R0'"),
    (broken("R2 += a*R1", "R2 += a*R1\nwidth 3"), 11, "'width' must come before the first instruction"),
    (broken("emit y = R0", "emit y = R3"), 13, "register R3 is out of range (width 3)"),
    (broken("emit y = R0", "emit y1 = R0"), 14, "the output 'y1' is given twice"),
    (
        broken("emit y = R0", "emit 1 = R0"),
        13,
        "expected 'emit NAME = R0' or 'emit NAME = R0 restart', found 'emit 1 = R0'",
    ),
]


@pytest.mark.parametrize(("text", "line", "message"), MALFORMED)
def test_malformed_text_is_refused_with_its_line(text, line, message):
    with pytest.raises(InputError) as caught:
        loads(text, "p.skn")
    assert str(caught.value) == f"p.skn:{line}: {message}"


def test_text_without_outputs_is_refused():
    with pytest.raises(InputError, match=r"^p\.skn: a program needs at least one output$"):
        loads(TEXT.replace("emit y = R0\nemit y1 = R2 restart\n", ""), "p.skn")


def test_text_that_is_cut_off_anywhere_is_refused():
    for end in range(len(TEXT) - 1):
        with pytest.raises(InputError):
            loads(TEXT[:end])


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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"skinny": np.array(2)}, "version 2 is not known: this program reads version 1"),
        ({"skinny": np.array("1")}, "not a skinny program (no version)"),
        ({"dst": None}, "not a skinny program, or damaged"),
        ({"dst": np.array([2, 0, 7], np.uint8)}, "instruction 2: register out of range (width 3)"),
        ({"dst": np.array([1, 0, 1], np.uint8)}, "instruction 0: dst = src"),
        ({"dst": np.array([2, 0], np.uint8)}, "the columns of the program differ in length"),
        ({"dst": np.array([2, 256, 1])}, "dst must be one column of uint8, not int64 of shape (3,)"),
        ({"sign": np.array([1, 0, 1], np.int8)}, "instruction 1: sign is neither +1 nor -1"),
        ({"form": np.array([0, 1, 3], np.int32)}, "instruction 2: form index past the end"),
        ({"form_index": np.array([2, 0, 0], np.int32)}, "form 0: input index 2 is past the end (2)"),
        ({"form_index": np.array([0, -1, 0], np.int32)}, "form 1: weight index -1 is past the end (2)"),
        ({"form_kind": np.array([0, 1, 3], np.uint8)}, "the table of forms means nothing"),
        ({"form_terms": np.array([0, 0, 3], np.int32)}, "the table of forms means nothing"),
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


def npy_header(shape, kind="|u1"):
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
        ("weights", npy_header((10**9,)), "1,000,000,000 entries of weights need more memory than 4G"),
        ("term_input", npy_header((10**9,), "<i4"), "1,000,000,000 entries of term_input need more memory than 4G"),
        ("dst", npy_header((-5,)) + b"12345", "not a skinny program, or damaged"),
        ("dst", npy_header((3,)) + b"12", "not a skinny program, or damaged"),
        ("dst", npy_header((3,)) + bytes(10**8), "not a skinny program, or damaged"),
        ("dst", b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 31) + bytes(10**8), "not a skinny program, or damaged"),
        ("skinny", npy_header((10**15,), "<i4"), "not a skinny program (no version)"),
        ("dst", npy_header((10**8, 10**8)), "dst must be one column of uint8, not uint8 of shape"),
        ("dst", npy_header((2,), "|V999999999"), "dst must be one column of uint8, not |V999999999 of shape"),
    ],
)
def test_headers_are_believed_only_within_the_limits(tmp_path, key, content, message):
    path = with_part(tmp_path / "p.npz", key, content)
    with memory_for(64 << 20), pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: {message}")


@contextlib.contextmanager
def memory_for(size):
    """What is done inside cannot make the process larger by more than ``size`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def test_what_unpacks_to_more_than_the_limit_is_refused_unread(tmp_path):
    path = tmp_path / "p.npz"
    arrays = dict(np.load(rewritten(PROGRAM, tmp_path)))
    np.savez_compressed(path, **arrays | {"dst": np.zeros(1 << 28, np.uint8), "weights": np.zeros(1 << 26, np.uint8)})
    assert path.stat().st_size < 1 << 20
    for memory, said in ((4 << 30, "4G"), (1 << 20, "1M")):
        message = f"67,108,864 entries of weights need more memory than {said}: --limit memory=SIZE"
        with memory_for(64 << 20), Limits(memory=memory).applied(), pytest.raises(InputError, match=message):
            load(path)


def test_all_columns_share_the_memory(tmp_path):
    path = tmp_path / "p.npz"
    save(PROGRAM, path)
    sizes = {name: array.size for name, array in np.load(path).items() if name != "skinny"}
    code = ("dst", "src", "sign", "form")
    needed = sum(size * (16 if name in code else 128) for name, size in sizes.items())
    with Limits(memory=needed).applied():
        assert load(path) == PROGRAM
    with Limits(memory=needed - 1).applied(), pytest.raises(InputError, match="entries of derived need more memory"):
        load(path)


@pytest.mark.parametrize("packed", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings_are_refused(tmp_path, packed):
    """They cannot be unpacked piece by piece, so their size is known too late."""
    path = with_part(tmp_path / "p.npz", "dst", npy_header((3,)) + b"\2\0\1")
    assert load(path) == PROGRAM
    path = with_part(path, "dst", npy_header((3,)) + b"\2\0\1", packed)
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


def test_long_lines_are_refused():
    text = TEXT.replace("inputs a b", "inputs a b" + " " * 1000)
    with Limits(memory=256 * 1010).applied():
        assert loads(text) == PROGRAM
    message = "<text>:6: a line of more than 1,009 characters: --limit memory=SIZE raises that"
    with Limits(memory=256 * 1010 - 1).applied(), pytest.raises(InputError, match=message):
        loads(text)


def test_pipes_and_devices_are_read_as_text(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(TEXT,))
    writer.start()
    assert load(path) == PROGRAM
    writer.join()
    with pytest.raises(InputError, match=r"^/dev/zero: more than 268,435,456 bytes"):
        load("/dev/zero")


def test_many_short_lines_take_little_memory():
    text = "skinny 1\n" + "\n" * (32 << 20)
    with memory_for(64 << 20), pytest.raises(InputError, match="<text>:33554433: the program is cut off"):
        loads(text)


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


def test_long_names_can_be_written(tmp_path):
    path = tmp_path / ("ü" * 125 + ".skn")
    write_file(path, lambda file: file.write(b"x"))
    assert os.listdir(tmp_path) == [path.name]
