"""Compile CRC-16/CCITT-FALSE of a message of 128 bytes over GF(2), and write messages to check."""

from pathlib import Path

import numpy as np
import skinny

FOLDER = Path(__file__).parent
BITS = 1024

lines = ["# CRC-16/CCITT-FALSE of 1,024 bits: x^16 + x^12 + x^5 + 1, all ones at first; + is the exclusive or."]
crc = ["1"] * 16
for t in range(BITS):
    lines += [f"let f{t} = {crc[15]} + b{t}", f"let g{t} = {crc[4]} + f{t}", f"let h{t} = {crc[11]} + f{t}"]
    crc = [f"f{t}", *crc[:4], f"g{t}", *crc[5:11], f"h{t}", *crc[12:15]]
lines += [f"c{n} = {crc[n]}" for n in range(16)]
# The bits come in the order in which they are used, so that the program can be rolled.
program = skinny.compile("\n".join(lines), keep="none", width=32, inputs=[f"b{t}" for t in range(BITS)])
program.save(FOLDER / "checksum.skn")

messages = [b"123456789".rjust(128, b"\0"), b"skinny" * 21 + b"!!", bytes(range(128))]
rng = np.random.default_rng(6)
messages += [rng.bytes(128) for _ in range(5)]
rows = [",".join(f"b{t}" for t in range(BITS))]
rows += [",".join(map(str, np.unpackbits(np.frombuffer(message, np.uint8)))) for message in messages]
(FOLDER / "inputs.csv").write_text("\n".join(rows) + "\n")
