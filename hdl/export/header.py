"""The head of the exported Verilog: what the module is, how to instantiate it, and its ports in a readable order."""

from __future__ import annotations

import re
from collections.abc import Sequence

from skinny.model.machine.image import MachineImage

__all__ = ["with_header"]

#: What is on each pin; a retirement port may have a number.
MEANINGS = {
    "clk": "clock: everything happens at its rising edge",
    "rst": "high for a cycle: nothing runs and no result waits; memories keep what they hold",
    "i_valid": "inputs: a word is offered; it moves when i_ready is high, too",
    "i_ready": "there is room for it",
    "i_data": "the word: the inputs of a vector one after the other",
    "i_last": "on the last word of a vector: the batch ends with it, although it is not full",
    "o_valid": "results: a word waits; it moves when o_ready is high, too",
    "o_ready": "it is taken",
    "o_data": "the word: the first output of all vectors of a batch, then the second one, ...",
    "o_last": "the last word of the batch",
    "o_fault": "do not trust this word",
    "load_valid": "loading a program: a write is offered",
    "load_ready": "it is done; high while busy is low",
    "load_space": "what is written: 0 program, 1 weights, 2 start vector, 3 settings",
    "load_address": "its address",
    "load_data": "the word",
    "busy": "a program runs",
    "fault": "something went wrong, until reset or a load",
    "retire_valid": "for checking, may stay open: an instruction is done in this cycle",
    "retire_thread": "its thread",
    "retire_pc": "its address",
    "retire_op": "its operation",
    "retire_dst": "the register that it writes",
    "retire_value": "what it writes or sends",
    "retire_fault": "it failed",
}
#: Names of inputs and outputs that are listed, and characters of a title.
MOST_NAMES, MOST_TITLE = 12, 100


def with_header(verilog: str, top: str, widths: dict[str, int], image: MachineImage) -> str:
    """The text ``verilog`` of the module ``top``, which has the ports ``widths`` (name to bits, in the order that the
    module is to have), with a comment in front that says what it is. Nothing else is changed."""
    ports = ",\n  ".join(widths)
    text, count = re.subn(rf"module {top}\([^)]*\);", f"module {top}(\n  {ports}\n);", verilog, count=1)
    assert count == 1
    return _comment(top, widths, image) + text


def _comment(top: str, widths: dict[str, int], image: MachineImage) -> str:
    config, program = image.config, image.program
    title = program.title.removeprefix("# ").partition("\n")[0]
    pins = [f".{name}({name}){'' if number == len(widths) else ','}" for number, name in enumerate(widths, 1)]
    most = max(map(len, pins))
    lines = [
        *([title if len(title) <= MOST_TITLE else f"{title[:MOST_TITLE]}..."] if title else []),
        "",
        f"A core of Skinny: {config.width} registers, {config.threads} threads, numbers of {config.ring.name}.",
        f"Words of a vector at i: {_listed(program.samples)}. Results of a vector at o: {_listed(image.outputs)}.",
        "manifest.json says what a word means, docs/ports.md of Skinny how the pins work.",
        "",
        f"  {top} core (",
        *(
            f"    {pin:<{most}}  // {bits:>2} bit  {MEANINGS[re.sub('[0-9]+', '', name)]}"
            for pin, (name, bits) in zip(pins, widths.items(), strict=True)
        ),
        "  );",
    ]
    return "".join(f"// {line}".rstrip() + "\n" for line in lines) + "\n"


def _listed(names: Sequence[str]) -> str:
    more = f", ... ({len(names):,})" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more if names else "one that means nothing"
