"""A memory may give anything for a word that is read in the cycle in which it is written. Proven, without a bound: no
instruction of a batch and no result reads such a word.

Synthesis may then leave out the logic that would order the two (``COLLISION_X_MASK`` of yosys). The memories are cut,
so the proof holds whatever they contain, whatever arrives at the ports and whenever reset comes.
"""

import pytest
from amaranth.back import rtlil
from skinny.hdl.core.core import Core
from skinny.model.machine.isa import CoreConfig
from skinny.model.rings import Modular
from skinny.sim.fpga.tools import run_tool

MEMORIES = {
    "program": "store.program",
    "weights": "store.weights",
    "inputs": "inputs.memory",
    "results": "results.memory",
}
PORTS = ("write", "fetch", "addr", "write_addr")
#: Signals of the core by the names they have below, with their bits. Stage f0 issues, f2 reads the operands.
SIGNALS = {
    "f0_live": ("sequencer.tag.live", 1),
    "f0_bank": ("sequencer.tag.bank", 1),
    "f1_live": ("f1_tag.live", 1),
    "f1_bank": ("f1_tag.bank", 1),
    "f2_live": ("f2_tag.live", 1),
    "f2_bank": ("f2_tag.bank", 1),
    "filled": ("inputs.filled", 2),
    "taken": ("inputs.taken", 2),
    "one": ("inputs.one", 1),
    "both": ("inputs.both", 1),
    "some": ("results.some", 1),
}

# Words that nobody needs are read too: between batches, and from an empty FIFO.
CLAIMS = {
    "program": "!(collision_program && f0_live)",
    "weights": "!(collision_weights && f2_live)",
    "inputs": "!(collision_inputs && f2_live)",
    "results": "!(collision_results && some)",
}

#: What induction needs to know. Of the batches in the input banks some wait; the others are those with an instruction
#: in f0 … f2, the one that began last in bank `last`.
INVARIANTS = ["waiting <= used", "used - waiting == in_last + in_other"]


def wrapper(core: Core, claims: list[str]) -> str:
    """Verilog that claims things about the core inside."""
    ports = [f".\\{inside} ({name})" for name, (inside, _) in SIGNALS.items()]
    lines = [f"wire [{bits - 1}:0] {name};" for name, (_, bits) in SIGNALS.items()]
    for name, inside in MEMORIES.items():
        lines.append(f"wire {name}_write, {name}_fetch;")
        lines.append(f"wire [15:0] {name}_addr, {name}_write_addr;")
        lines.append(f"wire collision_{name} = {name}_write && {name}_fetch && {name}_addr == {name}_write_addr;")
        ports += [f".\\{inside}.{port} ({name}_{port})" for port in PORTS]
    lines += ["wire [1:0] waiting = filled - taken;", "wire [1:0] used = one + both;", "wire last = !taken[0];"]
    for which, bank in (("last", "last"), ("other", "!last")):
        places = " || ".join(f"({stage}_live && {stage}_bank == {bank})" for stage in ("f0", "f1", "f2"))
        lines.append(f"wire in_{which} = {places};")
    inputs = {"clk": 1, "rst": 1, "i__valid": 1, "o__ready": 1, "load__valid": 1}
    inputs |= {f"{name}__payload": len(getattr(core, name).payload.as_value()) for name in ("i", "load")}
    ports += [f".{name}({name})" for name in inputs]
    header = ", ".join(f"input [{bits - 1}:0] {name}" for name, bits in inputs.items())
    asserts = "\n".join(f"assert ({claim});" for claim in claims)
    body = "\n".join([*lines, f"core core({', '.join(ports)});"])
    return f"module top({header});\n{body}\nalways @* begin\n{asserts}\nend\nendmodule\n"


def proven(folder, threads: int, claims: list[str]) -> bool:
    """Whether the claims hold for a core of ``threads``, by induction."""
    core = Core(CoreConfig(Modular(2), threads=threads, depth=4, inputs=2, weights=2, fifo=16))
    seen = [inside for inside, _ in SIGNALS.values()]
    seen += [f"{inside}.{port}" for inside in MEMORIES.values() for port in PORTS]
    (folder / "top.sv").write_text(wrapper(core, claims))
    (folder / "core.il").write_text(rtlil.convert(core, name="core"))
    (folder / "prove.ys").write_text(
        "read_rtlil core.il; delete t:$mem*; proc; flatten; "
        f"expose {' '.join(f'w:{name}' for name in seen)}; "
        "read_verilog -sv -formal top.sv; hierarchy -check -top top; proc; flatten; chformal -lower; opt -fast; "
        "sat -tempinduct -prove-asserts -seq 1 -maxsteps 3 top"
    )
    done = run_tool("yosys", ["-Q", "prove.ys"], folder)
    assert done.code == 0, done.log
    assert done.log.count("Import proof for assert") >= len(claims)
    proof = "Induction step proven: SUCCESS!" in done.log
    assert proof or "proof finished" in done.log or "Reached maximum number of time steps" in done.log
    return proof


@pytest.mark.parametrize("threads", [1, 2, 3, 4])
def test_no_instruction_and_no_result_reads_what_is_just_written(tmp_path, threads):
    assert proven(tmp_path, threads, [*INVARIANTS, *CLAIMS.values()])


@pytest.mark.parametrize("name", ["program", "weights", "inputs"])
def test_others_do(tmp_path, name):
    """The claims are about something: memories are read and written at one address in one cycle."""
    assert not proven(tmp_path, 2, [*INVARIANTS, f"!collision_{name}"])


@pytest.mark.parametrize("kept", INVARIANTS)
def test_the_banks_need_both_invariants(tmp_path, kept):
    assert not proven(tmp_path, 2, [kept, *CLAIMS.values()])
