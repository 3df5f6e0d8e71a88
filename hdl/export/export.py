"""The export: Verilog of a core, with everything that is needed to use it without Python."""

from __future__ import annotations

import dataclasses
import itertools
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from amaranth import Module, Value
from amaranth.back import verilog
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Member, Out
from skinny.hdl.core.core import Core
from skinny.hdl.parallel.engine import ParallelEngine, component
from skinny.model.cache_folder import user_cache
from skinny.model.files import write_folder
from skinny.model.machine.cycles import batch_sizes, latency
from skinny.model.machine.image import MachineImage
from skinny.model.machine.isa import Op, Setting, Space, Words, index_bits
from skinny.model.machine.streams import interleaved, padding, threads_used
from skinny.model.parallel.segments import EngineConfig
from skinny.model.program.program import Program
from skinny.model.rings import Array, Boolean, FixedPoint, Ring

from .header import with_header
from .testbench import bench_text

__all__ = ["TOP", "Pins", "design_files", "export", "manifest", "to_verilog"]

#: The name of the exported module.
TOP = "skinny_core"


class Pins(wiring.Component):
    """A core or engine with a plain port for every field: ``i_valid``, ``i_ready``, ``i_data``, ``i_last`` and so on.

    Parameters
    ----------
    core : Core or ParallelEngine
    retire : bool
        The ports ``retire`` are there; otherwise they stay open, as in a design that only computes.

    Members
    -------
    i_*, o_*, load_*, retire_*, fault, busy
        The ports of ``core``, the fields of payloads apart.
    """

    def __init__(self, core: Core | ParallelEngine, *, retire: bool = True):
        self.core = core
        self._inner: dict[str, Value] = {}
        members: dict[str, Member] = {}
        for name, member in core.signature.members.items():
            port = getattr(core, name)
            if name.startswith("retire") and not retire:
                continue
            if member.is_port:
                self._inner[name] = port
                members[name] = member
            elif isinstance(member.signature, stream.Signature):
                for field, value in (("valid", port.valid), ("ready", port.ready), *_fields(port.payload)):
                    self._inner[f"{name}_{field}"] = value
                    inward = (member.flow is In) != (field == "ready")
                    members[f"{name}_{field}"] = (In if inward else Out)(len(value))
            else:
                for field, inner in member.signature.members.items():
                    self._inner[f"{name}_{field}"] = getattr(port, field)
                    members[f"{name}_{field}"] = inner
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        m.submodules.core = self.core
        for name, member in self.signature.members.items():
            inner, outer = self._inner[name], getattr(self, name)
            m.d.comb += inner.eq(outer) if member.flow is In else outer.eq(inner)
        return m


def _fields(payload: data.View) -> list[tuple[str, Value]]:
    return [(name, Value.cast(payload[name])) for name, _ in payload.shape()]


def to_verilog(core: Core | ParallelEngine | Pins, name: str = TOP) -> str:
    """The Verilog text of ``core``, which is the same for the same design whenever and wherever it is written."""
    pins = core if isinstance(core, Pins) else Pins(core)
    with user_cache():
        text = verilog.convert(pins, name=name, emit_src=False, strip_internal_attrs=True)
    # Yosys guards each combinational block with a variable named after its own source line.
    return re.sub(r"\\\$auto\$verilog_backend\.cc:\d+:dump_module\$(\d+) ", r"initial_guard_\1 ", text)


def manifest(image: MachineImage, pins: Pins) -> dict[str, Any]:
    """Everything that one must know to drive the core, ready for JSON."""
    config = image.config
    hidden = ("ring",) if config.deep else ("ring", "pipeline")
    names = [field.name for field in dataclasses.fields(config) if field.name not in hidden]
    offsets = [0, *itertools.accumulate(config.fields.values())]
    inward = {"clk", "rst", *(name for name, member in pins.signature.members.items() if member.flow is In)}
    ports = [
        {"name": name, "direction": "input" if name in inward else "output", "bits": bits}
        for name, bits in _widths(pins).items()
    ]
    sizes = {
        Space.PROGRAM: (config.depth, config.word_bits),
        Space.WEIGHTS: (config.weights, config.bits),
        Space.START: (config.starts, config.bits),
        Space.SETTINGS: (len(Setting), config.load_bits),
    }
    described = {
        "module": TOP,
        "rom": pins.core.rom,
        "ring": {"name": config.ring.name, "word_bits": config.bits},
        "parameters": {
            **{name: getattr(config, name) for name in names},
            **({"cores": len(image.lanes)} if len(image.lanes) > 1 else {}),
        },
        "ports": ports,
        "memory_map": [
            {"space": int(space), "name": space.name.lower(), "words": words, "bits": bits}
            for space, (words, bits) in sizes.items()
            if words
        ],
        "settings": {setting.name.lower(): int(setting) for setting in Setting},
        "encoding": {
            "word_bits": config.word_bits,
            "fields": [
                {"name": name, "offset": offset, "bits": bits}
                for (name, bits), offset in zip(config.fields.items(), offsets, strict=False)
            ],
            "operations": {op.name.lower(): int(op) for op in Op},
        },
        "latency": {
            "formula": "length * threads + constant",
            "constant": latency(image) - image.steps * config.threads,
            "length": image.steps,
            "threads": config.threads,
            "cycles": latency(image),
            "meaning": "cycles from the last input word of a batch to its last result, when the core was idle and the "
            "program ends with its last output; back-to-back batches follow every length * threads cycles",
        },
        "program": {
            "title": image.program.title,
            "inputs": list(image.program.samples),
            "vector_words": image.vector,
            **_stream(image.program),
            "outputs": list(image.outputs),
            "argmax": bool(image.program.argmax),
            "linear": image.program.linear,
            "reversible": image.program.reversible,
            "self_check": image.self_check,
            "words": sum(map(len, image.lanes)),
        },
        "units": units(image.program, config.ring),
    }
    if isinstance(image.hardware, EngineConfig):
        described["engine"] = {
            "cores": len(image.lanes),
            "vectors": image.batch,
            "lane_offset": image.hardware.lane_bits,
            "lane_words": [len(lane) for lane in image.lanes],
            "combiner_settings": [
                "batches",
                *(f"{name}{n}" for n in range(len(image.lanes)) for name in ("sent", "combined")),
            ],
            "meaning": "an address at load has the number of the lane above lane_offset bits; the number after the "
            "last lane is the combiner's, whose settings are listed in the order of their addresses",
        }
    return described


def _widths(pins: Pins) -> dict[str, int]:
    """The bits of each port of the exported module, in the order in which it has them."""
    names = sorted(pins.signature.members, key=lambda name: name.startswith("retire"))
    return {"clk": 1, "rst": 1, **{name: len(getattr(pins, name)) for name in names}}


def _stream(program: Program) -> dict[str, Any]:
    """What a program keeps between runs, ready for JSON."""
    if not program.streaming:
        return {}
    return {
        "stream": {
            "states": [
                {"name": name, "register": register, "start": str(program.start[register])}
                for name, register in program.state
            ],
            "window": program.window,
            "hop": program.hop,
            "silent_vectors": padding(program),
            "meaning": "a thread is a stream, and a vector is its next sample; states keep their registers, and a "
            "window its words, until reset or a load of anything but weights; the first silent vectors of each stream "
            "fill the window and have no results",
        }
    }


def units(program: Program, ring: Ring) -> dict[str, Any]:
    """What a raw word of an input or an output means in the user's units, ready for JSON."""
    box = program.box or (None,) * len(program.inputs)
    told: dict[str, Any] = {"meaning": f"a word is an element of {ring.name}"}
    if isinstance(ring, FixedPoint):
        told = {"frac": ring.frac, "meaning": "value = raw * 2^(scale - frac), raw being the word as a signed number"}
    return told | {
        "inputs": [
            {
                "name": program.inputs[u],
                "scale": program.input_scales[u],
                "box": (side := box[u]) and [str(value) for value in side],
            }
            for u in program.sample_inputs
        ],
        "outputs": [{"name": program.argmax, "meaning": "the number of the largest output"}]
        if program.argmax
        else [
            {
                "name": output.name,
                "scale": output.scale,
                "approximation": str(output.approximation),
                "sampled": output.sampled,
            }
            for output in program.outputs
        ],
        "named_weights": [
            {
                "name": weight.name,
                **{name: str(value) for name, value in zip(("value", "low", "high"), weight[1:4], strict=True)},
                "words": [{"space": int(Space.WEIGHTS), "address": k, "factor": str(f)} for k, f in weight.words],
            }
            for weight in program.named
        ],
        "setting": "a named weight is set by writing the word of factor * value to each of its addresses at load",
    }


def design_files(image: MachineImage, elements: Array, *, rom: bool = False) -> dict[str, str]:
    """The names and texts of all exported files: the core, its manifest, listing and memory contents, and a test bench
    that compares with the golden model's results for ``elements`` of shape ``(inferences, inputs)``, for a stream
    program of shape ``(streams, samples, words)``. With ``rom`` the program is part of the design; otherwise the design
    is empty and the test bench loads the program."""
    config = image.config
    if isinstance(config.ring, Boolean):  # every slice of every word is compared
        elements = np.pad(elements, [(0, -len(elements) % config.inferences), *[(0, 0)] * (elements.ndim - 1)])
    if image.program.streaming:
        vectors = interleaved(config, elements)
        sizes = [threads_used(config, len(elements))] * elements.shape[1]
        outputs = interleaved(config, image.golden(elements))
    else:
        vectors = config.pack(elements) if elements.shape[1] else np.zeros((len(elements), 1), dtype=np.uint64)
        sizes = batch_sizes(len(vectors), image.batch)
        outputs = config.pack(image.golden(elements))
    if image.self_check:  # a status word follows
        outputs = np.column_stack([outputs, np.full(len(outputs), image.lanes[0].status, np.uint64)])
    when = image.timetable(sizes)
    inputs: list[int] = []
    for part, size in _batches(vectors, sizes):
        words = part.reshape(-1).tolist()
        inputs += [*words[:-1], words[-1] | int(size < image.batch) << config.bits]
    expected: list[int] = []
    for part, _ in _batches(outputs, sizes[padding(image.program) :]):
        results = part.T.reshape(-1).tolist()
        expected += [*results[:-1], results[-1] | 1 << config.bits]
    hardware = image.hardware
    space_bits = index_bits(len(Space))
    loads = [
        int(item.space) | item.address << space_bits | item.data << space_bits + hardware.address_bits
        for item in image.loads()
    ]
    cycles = int(when.taken[-1] - when.accepted[0])
    load = None if rom else (hardware.address_bits, hardware.load_bits, len(loads))
    pins = Pins(component(hardware, image, rom=True) if rom else component(hardware))
    files = {
        f"{TOP}.v": with_header(to_verilog(pins), TOP, _widths(pins), image),
        f"{TOP}_tb.v": bench_text(TOP, config.bits, len(inputs), len(expected), cycles, load),
        **{
            f"program{number or ''}.hex": _hex(lane.words.tolist(), config.word_bits)
            for number, lane in enumerate(image.lanes)
        },
        "weights.hex": _hex(image.lanes[0].weights.tolist(), config.bits),
        **({"start.hex": _hex(image.lanes[0].start.tolist(), config.bits)} if config.starts else {}),
        "inputs.hex": _hex(inputs, config.bits + 1),
        "expected.hex": _hex(expected, config.bits + 2),
        "listing.txt": image.listing(),
    }
    if not rom:
        files["load.hex"] = _hex(loads, space_bits + hardware.address_bits + hardware.load_bits)
    described = manifest(image, pins) | {"files": sorted([*files, "manifest.json"])}
    files["manifest.json"] = json.dumps(described, indent=2) + "\n"
    return files


def _batches(rows: Words, sizes: Sequence[int]) -> Iterator[tuple[Words, int]]:
    """The rows of each batch, and how many they are."""
    for first, size in zip(itertools.accumulate(sizes, initial=0), sizes, strict=False):
        yield rows[first : first + size], size


def _hex(words: list[int], bits: int) -> str:
    digits = (bits + 3) // 4
    return "".join(f"{word:0{digits}x}\n" for word in words)


def export(image: MachineImage, elements: Array, folder: str | Path, *, rom: bool = False) -> list[str]:
    """Write :func:`design_files` into ``folder``, which is made if needed, and return their names. Each file is written
    under another name and then renamed, the manifest last."""
    files = design_files(image, elements, rom=rom)
    write_folder(folder, {name: text.encode() for name, text in files.items()})
    return list(files)
