"""The decoder agrees with the model on every word of a small core."""

import numpy as np
import pytest
from amaranth.sim import Simulator
from skinny.hdl.core.decoder import Decoder
from skinny.model.machine.isa import CoreConfig, Op
from skinny.model.rings import Modular


@pytest.mark.parametrize(
    ("attention", "check", "units"),
    [
        (True, True, {}),
        (False, True, {}),
        (True, False, {}),
        (True, True, {"assign": True}),
        (True, True, {"sums": True}),
        (True, True, {"assign": True, "sums": True, "relu": True, "argmax": 4}),
    ],
)
def test_malformed_words(attention, check, units):
    config = CoreConfig(Modular(8), 3, 4, 16, 3, 3, attention, check, **units)
    words = np.arange(1 << config.word_bits, dtype=np.uint64)
    decoder = Decoder(config)
    bad, writes, restarts = [], [], []

    async def bench(ctx):
        for word in words.tolist():
            ctx.set(decoder.word.as_value(), word)
            bad.append(ctx.get(decoder.control.bad))
            writes.append(ctx.get(decoder.control.write))
            restarts.append(ctx.get(decoder.control.restart))

    simulator = Simulator(decoder)
    simulator.add_testbench(bench)
    simulator.run()
    malformed = config.malformed(words)
    fields = config.decode(words)
    assert bad == malformed.astype(int).tolist()
    assert writes == ((fields["op"] >= Op.APPLY_X) & (fields["op"] <= Op.BIAS) & ~malformed).astype(int).tolist()
    assert restarts == ((fields["op"] == Op.EMIT) & (fields["flag"] == 1) & ~malformed).astype(int).tolist()
