"""A memory may give anything for a word that is read in the cycle in which it is written. Proven, without a bound: no
instruction of a batch and no result reads such a word.

Synthesis may then leave out the logic that would order the two (``COLLISION_X_MASK`` of yosys). The memories are cut,
so the proof holds whatever they contain, whatever arrives at the ports and whenever reset comes.
"""

from dataclasses import replace

import pytest
from amaranth.back import rtlil
from skinny.hdl.core.core import Core
from skinny.hdl.core.register_memory import operand_latency, summand_latency
from skinny.model.machine.isa import CoreConfig, index_bits
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


#: The same for registers in memory, in which a read of the operands is two modules deep.
DEEP_MEMORIES = {
    "program": "store.program",
    "weights": "store.weights.memory",
    "inputs": "inputs.memory.memory",
    "results": "results.memory",
    **{name: f"datapath.registers.{name}_copy.memory" for name in ("src", "sum", "dst")},
}


#: With a window the place of the newest word is read in f0. That words of a window are not overwritten while it is read
#: follows from what is in that memory (a ring of two windows, to which a vector adds one at most), which is cut here.
WINDOW_CLAIMS = {name: claim for name, claim in CLAIMS.items() if name != "inputs"}
WINDOW_CLAIMS["newest"] = "!(collision_newest && f0_live)"
WINDOW_INVARIANTS = [*INVARIANTS, "!(vector_ended && both)"]


def live(stage: int) -> str:
    return f"f{stage}_live" if stage < 3 else f"t{stage}_live"


def writing(pipeline: int) -> range:
    """The stages from whose registers on it is known that an instruction will write."""
    return range(3 if pipeline == 6 else 4, pipeline + 1)


def deep_signals(pipeline: int, threads: int) -> dict[str, tuple[str, int]]:
    """The tags of all stages, and whether their instructions will write, beside :data:`SIGNALS`."""
    tags = {0: "sequencer.tag", 1: "f1_tag", 2: "f2_tag"}
    tags |= {stage: f"datapath.t{stage}_tag" for stage in range(3, pipeline + 1)}
    signals = dict(SIGNALS)
    for stage, tag in tags.items():
        signals |= {live(stage): (f"{tag}.live", 1), f"thread{stage}": (f"{tag}.thread", index_bits(threads))}
    for stage in writing(pipeline):
        signals[f"write{stage}"] = (f"datapath.t{stage}_effect.write", 1)
    return signals


def deep_invariants(pipeline: int, threads: int) -> list[str]:
    """A batch goes through the stages thread by thread without a gap, and only instructions of a batch write."""
    found = [f"!{live(0)} || thread0 < {threads}"]
    for younger in range(pipeline):
        older = younger + 1
        follows = f"({live(older)} && thread{older} != {threads - 1})"
        found += [
            f"!{live(older)} || thread{older} < {threads}",
            f"!{follows} || ({live(younger)} && thread{younger} == thread{older} + 1)",
            f"{follows} || !{live(younger)} || thread{younger} == 0",
        ]
    return found + [f"!write{stage} || {live(stage)}" for stage in writing(pipeline)]


def deep_claims(pipeline: int) -> list[str]:
    config = CoreConfig(Modular(2), threads=16, registers="memory", pipeline=pipeline)
    # Factors are read in stage 2; a summand comes when the product does, two registers after the factors or, when the
    # product is negated in a stage of its own, three.
    summand = 2 + operand_latency(config) + (2 if pipeline < 8 else 3) - summand_latency(config)
    return [f"!(collision_{name} && {live(stage)})" for name, stage in (("src", 2), ("sum", 2), ("dst", summand))]


def with_loops(signals: dict[str, tuple[str, int]]) -> dict[str, tuple[str, int]]:
    """The same for a core that repeats: operands are read, and registers addressed, a stage after the word came."""
    names = {inside: inside.replace("f2_tag", "word_tag") for inside, _ in signals.values()}
    late = {name: (names[inside], bits) for name, (inside, bits) in signals.items()}
    return late | {name.replace("f2", "fetched"): signals[name] for name in ("f2_live", "f2_bank")}


def wrapper(core: Core, claims: list[str], memories: dict[str, str], signals: dict[str, tuple[str, int]]) -> str:
    """Verilog that claims things about the core inside."""
    ports = [f".\\{inside} ({name})" for name, (inside, _) in signals.items()]
    lines = [f"wire [{bits - 1}:0] {name};" for name, (_, bits) in signals.items()]
    for name, inside in memories.items():
        lines.append(f"wire {name}_write, {name}_fetch;")
        lines.append(f"wire [15:0] {name}_addr, {name}_write_addr;")
        lines.append(f"wire collision_{name} = {name}_write && {name}_fetch && {name}_addr == {name}_write_addr;")
        ports += [f".\\{inside}.{port} ({name}_{port})" for port in PORTS]
    lines += ["wire [1:0] waiting = filled - taken;", "wire [1:0] used = one + both;", "wire last = !taken[0];"]
    stages = [name.removesuffix("_bank") for name in signals if name.endswith("_bank")]
    for which, bank in (("last", "last"), ("other", "!last")):
        places = " || ".join(f"({stage}_live && {stage}_bank == {bank})" for stage in stages)
        lines.append(f"wire in_{which} = {places};")
    inputs = {"clk": 1, "rst": 1, "i__valid": 1, "o__ready": 1, "load__valid": 1}
    inputs |= {f"{name}__payload": len(getattr(core, name).payload.as_value()) for name in ("i", "load")}
    ports += [f".{name}({name})" for name in inputs]
    header = ", ".join(f"input [{bits - 1}:0] {name}" for name, bits in inputs.items())
    asserts = "\n".join(f"assert ({claim});" for claim in claims)
    body = "\n".join([*lines, f"core core({', '.join(ports)});"])
    return f"module top({header});\n{body}\nalways @* begin\n{asserts}\nend\nendmodule\n"


def proven(folder, threads: int, claims: list[str], pipeline: int = 0, repeat: int = 0, window: bool = False) -> bool:
    """Whether the claims hold for a core of ``threads``, by induction; with a ``pipeline`` its registers are in
    memory."""
    config = CoreConfig(Modular(2), threads=threads, depth=4, inputs=2, weights=2, fifo=16, repeat=repeat)
    memories, signals = MEMORIES, SIGNALS
    if pipeline:
        memories, signals = DEEP_MEMORIES, deep_signals(pipeline, threads)
        config = replace(config, width=4, threads=16, registers="memory", pipeline=pipeline)
        object.__setattr__(config, "threads", threads)  # a configuration refuses too few
    if window:
        memories = memories | {"newest": "inputs.ends"}
        signals = signals | {"vector_ended": ("inputs.vector_ended", 1)}
        config = replace(config, window=True)
    if repeat:
        signals = with_loops(signals)
    core = Core(config)
    seen = [inside for inside, _ in signals.values()]
    seen += [f"{inside}.{port}" for inside in memories.values() for port in PORTS]
    (folder / "top.sv").write_text(wrapper(core, claims, memories, signals))
    (folder / "core.il").write_text(rtlil.convert(core, name="core"))
    (folder / "prove.ys").write_text(
        "read_rtlil core.il; delete t:$mem*; proc; flatten; "
        f"expose {' '.join(f'w:{name}' for name in seen)}; "
        "read_verilog -sv -formal top.sv; hierarchy -check -top top; proc; flatten; chformal -lower; opt -fast; "
        f"sat -tempinduct -prove-asserts -seq 1 -maxsteps {6 if repeat else 3} top"
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


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_no_instruction_reads_where_a_window_ends_that_is_just_written(tmp_path, threads):
    assert proven(tmp_path, threads, [*WINDOW_INVARIANTS, *WINDOW_CLAIMS.values()], window=True)


def test_without_an_instruction_some_do(tmp_path):
    assert not proven(tmp_path, 2, [*WINDOW_INVARIANTS, "!collision_newest"], window=True)


def test_nor_does_it_in_a_core_that_repeats(tmp_path):
    assert proven(tmp_path, 4, [*INVARIANTS, *CLAIMS.values()], repeat=2)


@pytest.mark.parametrize(("pipeline", "threads"), [(6, 5), (7, 6), (8, 7), (9, 8), (7, 9)])
def test_no_instruction_reads_a_register_in_memory_that_is_just_written(tmp_path, pipeline, threads):
    claims = [*INVARIANTS, *CLAIMS.values(), *deep_invariants(pipeline, threads), *deep_claims(pipeline)]
    assert proven(tmp_path, threads, claims, pipeline)


@pytest.mark.parametrize("pipeline", [6, 7, 8, 9])
def test_with_one_thread_less_some_do(tmp_path, pipeline):
    """A factor is then read in the cycle in which the instruction before writes it."""
    threads = pipeline - 2
    claims = [*INVARIANTS, *CLAIMS.values(), *deep_invariants(pipeline, threads), *deep_claims(pipeline)]
    assert not proven(tmp_path, threads, claims, pipeline)


@pytest.mark.parametrize("name", ["program", "weights", "inputs"])
def test_others_do(tmp_path, name):
    """The claims are about something: memories are read and written at one address in one cycle."""
    assert not proven(tmp_path, 2, [*INVARIANTS, f"!collision_{name}"])


@pytest.mark.parametrize("kept", INVARIANTS)
def test_the_banks_need_both_invariants(tmp_path, kept):
    assert not proven(tmp_path, 2, [kept, *CLAIMS.values()])
