"""The text of the test bench: the numbers it was given, and a load port only where the core has one."""

import re

import pytest
from skinny.hdl.export.testbench import bench_text


@pytest.mark.parametrize("load", [None, (6, 23, 40)])
def test_numbers_and_ports(load):
    text = bench_text("chip", bits=16, inputs=12, results=5, cycles=77, load=load)
    told = {name: int(value) for name, value in re.findall(r"localparam (\w+) = (\d+);", text)}
    assert told == {"INPUTS": 12, "RESULTS": 5, "CYCLES": 77} | ({"LOADS": 40} if load else {})
    assert "module chip_tb;" in text
    assert "\n  chip dut (" in text
    assert "reg [15:0] i_data" in text
    assert (".load_valid(load_valid)" in text) is bool(load)
    assert ("reg [5:0] load_address" in text) is bool(load)
    assert ("reg [22:0] load_data" in text) is bool(load)
    assert "$readmemh" in text
    assert not re.search(r"\$\{|\$load_|\$top", text)
