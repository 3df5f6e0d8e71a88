"""The decoder of registers in memory agrees with the model on words of a small core."""

import numpy as np
import pytest
from amaranth.sim import Simulator
from skinny.hdl.core.deep_decoder import DeepDecoder
from skinny.model.machine.isa import ONE, CoreConfig, Op
from skinny.model.rings import Modular


@pytest.mark.parametrize("registered", [False, True])
@pytest.mark.parametrize(
    "units",
    [{}, {"attention": False}, {"check": False}, {"relu": True, "argmax": 4}],
    ids=lambda units: ",".join(units) or "plain",
)
def test_random_words(units, registered):
    config = CoreConfig(Modular(8), width=5, threads=8, inputs=2, weights=3, registers="memory", **units)
    words = np.random.default_rng(1).integers(0, 1 << config.word_bits, 2000, dtype=np.uint64)
    decoder = DeepDecoder(config, registered)
    names = ("bad", "write", "use_x", "use_w", "use_sum", "use_src", "one", "fresh", "onto_sum")
    seen = {name: [] for name in names}

    async def bench(ctx):
        for word in words.tolist():
            ctx.set(decoder.word.as_value(), word)
            if registered:
                await ctx.tick()
            for name in names:
                seen[name].append(ctx.get(decoder.control[name]))

    simulator = Simulator(decoder)
    if registered:
        simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    found = {name: np.array(values, dtype=bool) for name, values in seen.items()}
    f = config.decode(words)
    op, good = f["op"], ~config.malformed(words)
    applies = np.isin(op, (Op.APPLY_X, Op.APPLY_W, Op.APPLY_S))
    zero = (op == Op.EMIT) & (f["src"] & 3 == 2) & (config.argmax > 0)
    assert (found["bad"] == ~good).all()
    assert (found["write"] == good & (applies | (op == Op.ATTEND))).all()
    assert (found["use_x"] == good & np.isin(op, (Op.APPLY_X, Op.ATTEND))).all()
    assert (found["use_w"] == good & np.isin(op, (Op.APPLY_W, Op.ATTEND))).all()
    assert (found["use_sum"] == good & (op == Op.APPLY_S)).all()
    assert (found["use_src"] == applies & (f["src"] != ONE))[good].all()
    assert (found["one"] == applies & (f["src"] == ONE))[good].all()
    assert (found["fresh"] == ~good | (f["flag"] == 1) & (applies | (op == Op.ATTEND)) | zero).all()
    assert (found["onto_sum"] == (f["dst"] == ONE))[found["write"]].all()
