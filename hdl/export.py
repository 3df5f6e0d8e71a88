"""Verilog of a core."""

from __future__ import annotations

import re

from amaranth import Elaboratable, Module, Signal, Value
from amaranth.back import verilog

from .core import Core

__all__ = ["TOP", "Pins", "to_verilog"]

#: The name of the exported module.
TOP = "skinny_core"


class Pins(Elaboratable):
    """A core with a plain port for every field: ``i_valid``, ``i_ready``, ``i_data``, ``i_last`` and so on.

    Members
    -------
    ports : dict of str to (Signal, bool)
        Name to signal, and whether it is an input.
    """

    def __init__(self, core: Core):
        self.core = core
        self.ports: dict[str, tuple[Signal, bool]] = {}
        self._joined: list[tuple[Value, Signal, bool]] = []
        for name in ("i", "o", *["load"] * (not core.rom)):
            stream = getattr(core, name)
            inward = name != "o"
            self._add(f"{name}_valid", stream.valid, inward)
            self._add(f"{name}_ready", stream.ready, not inward)
            for field, _ in stream.payload.shape():
                self._add(f"{name}_{field}", stream.payload[field], inward)
        for field in core.retire.signature.members:
            self._add(f"retire_{field}", getattr(core.retire, field), False)
        self._add("fault", core.fault, False)
        self._add("busy", core.busy, False)

    def _add(self, name: str, inner: Value, inward: bool) -> None:
        outer = Signal(len(Value.cast(inner)), name=name)
        self.ports[name] = (outer, inward)
        self._joined.append((Value.cast(inner), outer, inward))

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = self.core
        for inner, outer, inward in self._joined:
            m.d.comb += inner.eq(outer) if inward else outer.eq(inner)
        return m


def to_verilog(core: Core, name: str = TOP) -> str:
    """The Verilog text of ``core``: the same for the same design, whenever and wherever it is written."""
    pins = Pins(core)
    ports = [signal for signal, _ in pins.ports.values()]
    text = verilog.convert(pins, name=name, ports=ports, emit_src=False, strip_internal_attrs=True)
    # Yosys guards each combinational block with a variable named after its own source line.
    return re.sub(r"\\\$auto\$verilog_backend\.cc:\d+:dump_module\$(\d+) ", r"initial_guard_\1 ", text)
