"""The head of the exported Verilog: a template that can be used as it is, ports in order, and nothing else changed."""

import json
import re
import subprocess

import numpy as np
import pytest
from skinny.hdl.export.export import TOP, Pins, design_files, to_verilog
from skinny.hdl.export.header import MEANINGS
from skinny.hdl.parallel.engine import component
from skinny.model.parallel.image import ImageOptions, build_image
from skinny.model.program.text import loads
from skinny.model.rings import FixedPoint

TEXT = """\
skinny 1
# y = a*b, for the test
# and a second line
width 3
inputs a b
R2 += b*R1
R0 += a*R2
emit y = R0
end
"""
STREAMS = ["i_valid", "i_ready", "i_data", "i_last", "o_valid", "o_ready", "o_data", "o_last", "o_fault"]
LOAD = ["load_valid", "load_ready", "load_space", "load_address", "load_data"]
RETIRED = ["valid", "thread", "pc", "op", "dst", "value", "fault"]


def export(*, lanes=1, rom=False):
    image = build_image(loads(TEXT), FixedPoint(16, 8), ImageOptions(lanes=lanes))
    files = design_files(image, np.array([[3, 5], [7, 2]]) << 8, rom=rom)
    pins = Pins(component(image.hardware, image, rom=True) if rom else component(image.hardware))
    return files[f"{TOP}.v"], json.loads(files["manifest.json"]), to_verilog(pins)


@pytest.mark.parametrize("given", [{}, {"rom": True}, {"lanes": 2}])
def test_the_template_is_an_instance_and_the_rest_is_as_ever(given, tmp_path):
    text, manifest, plain = export(**given)
    comment, _, rest = text.partition("\n\n")
    lines = [line.removeprefix("//").strip() for line in comment.splitlines()]
    assert lines[0] == "y = a*b, for the test"
    assert "Words of a vector at i: a, b. Results of a vector at o: y." in lines
    wires = [f"wire [{port['bits'] - 1}:0] {port['name']};" for port in manifest["ports"]]
    template = lines[lines.index(f"{TOP} core (") :]
    (tmp_path / "top.v").write_text("\n".join(["module top;", *wires, *template, "endmodule", text]))
    done = subprocess.run(
        ["iverilog", "-Wportbind", "-s", "top", "-o", tmp_path / "out", tmp_path / "top.v"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0
    assert "port" not in done.stderr
    names = [port["name"] for port in manifest["ports"]]
    assert [line.partition("(")[0].removeprefix(".") for line in template if line.startswith(".")] == names

    def without_ports(verilog):
        head, ports, body = re.fullmatch(rf"(.*?module {TOP}\()([^)]*)(\);.*)", verilog, re.DOTALL).groups()
        return head, sorted(re.findall(r"\w+", ports)), body

    assert without_ports(rest) == without_ports(plain)
    assert re.findall(r"\w+", re.search(rf"module {TOP}\(([^)]*)\)", rest)[1]) == names


def test_the_order_of_the_ports():
    text, *_ = export()
    ports = re.findall(r"\w+", re.search(rf"module {TOP}\(([^)]*)\)", text)[1])
    assert ports == ["clk", "rst", *STREAMS, *LOAD, "fault", "busy", *(f"retire_{name}" for name in RETIRED)]
    assert set(ports) == set(MEANINGS)
