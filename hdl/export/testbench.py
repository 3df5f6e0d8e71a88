"""A self-checking test bench in plain Verilog, for any simulator, without Python."""

from __future__ import annotations

from string import Template

__all__ = ["bench_text"]

TEXT = Template("""\
// Self-checking test bench of $top: expected results are the golden model's.
//
//   $$ iverilog -o bench ${top}_tb.v $top.v && vvp -N bench
//   $$ verilator --binary --timing -Wno-fatal ${top}_tb.v $top.v && obj_dir/V${top}_tb
//
// Run it in this folder: it reads the .hex files. It prints PASS, or FAIL with every difference and stops.
`timescale 1ns / 1ps

module ${top}_tb;
  localparam INPUTS = $inputs;      // words offered at i
  localparam RESULTS = $results;    // words expected at o
  localparam CYCLES = $cycles;      // from the first input word to the last result
$load_parameters
  reg clk = 0;
  reg rst = 1;
  reg i_valid = 0;
  reg i_last = 0;
  reg [$high:0] i_data = 0;
  wire i_ready;
  wire o_valid;
  wire [$high:0] o_data;
  wire o_last;
  wire o_fault;
  wire fault;
$load_signals
  reg [$high + 1:0] inputs [0:INPUTS - 1];      // {last, data}
  reg [$high + 2:0] expected [0:RESULTS - 1];   // {fault, last, data}

  integer cycle = 0;
  integer first = 0;
  integer sent = 0;
  integer taken = 0;
  integer errors = 0;
  integer quiet = 0;

  $top dut (
    .clk(clk),
    .rst(rst),
    .i_valid(i_valid),
    .i_ready(i_ready),
    .i_data(i_data),
    .i_last(i_last),
    .o_valid(o_valid),
    .o_ready(1'b1),
    .o_data(o_data),
    .o_last(o_last),
    .o_fault(o_fault),
$load_ports    .fault(fault)
  );

  always #5 clk = ~clk;

  initial begin
    $$readmemh("inputs.hex", inputs);
    $$readmemh("expected.hex", expected);
$load_read  end

  // At the falling edge outputs have settled, and what is driven is there at the next rising edge.
  always @(negedge clk) begin
    cycle = cycle + 1;
    if (cycle == 4) rst = 0;
    if (cycle > 4 $load_done) begin
      i_valid = sent < INPUTS;
      if (i_valid) begin
        {i_last, i_data} = inputs[sent];
        if (i_ready) begin
          if (sent == 0) first = cycle;
          sent = sent + 1;
        end
      end
      if (o_valid) begin
        if (taken >= RESULTS) begin
          errors = errors + 1;
          $$display("FAIL: more than %0d results", RESULTS);
        end else if ({o_fault, o_last, o_data} !== expected[taken]) begin
          errors = errors + 1;
          $$display("FAIL: result %0d: expected %h, got %h", taken, expected[taken], {o_fault, o_last, o_data});
        end
        taken = taken + 1;
        if (taken == RESULTS && cycle - first != CYCLES) begin
          errors = errors + 1;
          $$display("FAIL: %0d cycles, expected %0d", cycle - first, CYCLES);
        end
      end
    end
$load_step    if (taken >= RESULTS) quiet = quiet + 1;
    if (fault !== 0 && cycle > 4) begin
      errors = errors + 1;
      quiet = 100;
      $$display("FAIL: fault in cycle %0d", cycle);
    end
    if (cycle > CYCLES + $limit && taken < RESULTS) begin
      errors = errors + 1;
      quiet = 100;
      $$display("FAIL: %0d of %0d results after %0d cycles", taken, RESULTS, cycle);
    end
    if (quiet == 100) begin
      if (errors == 0) begin
        $$display("PASS: %0d results, %0d cycles", RESULTS, CYCLES);
        $$finish;
      end else begin
        $$display("FAIL: %0d differences", errors);
        $$stop;
        $$finish;
      end
    end
  end
endmodule
""")

LOAD_SIGNALS = Template("""\
  reg load_valid = 0;
  reg [1:0] load_space = 0;
  reg [$address_high:0] load_address = 0;
  reg [$data_high:0] load_data = 0;
  wire load_ready;
  reg [$address_high + $data_high + 3:0] loads [0:LOADS - 1];   // {data, address, space}
  integer loaded = 0;
""")
LOAD_PORTS = """\
    .load_valid(load_valid),
    .load_ready(load_ready),
    .load_space(load_space),
    .load_address(load_address),
    .load_data(load_data),
"""
# After the inputs in the text, so that the last word is written before the first input is offered.
LOAD_STEP = """\
    load_valid = cycle > 4 && loaded < LOADS;
    if (load_valid) begin
      {load_data, load_address, load_space} = loads[loaded];
      if (load_ready) loaded = loaded + 1;
    end
"""


def bench_text(
    top: str, bits: int, inputs: int, results: int, cycles: int, load: tuple[int, int, int] | None = None
) -> str:
    """The text of the test bench of module ``top``, for ``inputs`` and ``results`` words of ``bits`` bits that take
    ``cycles`` cycles. ``load`` gives the address bits, the data bits and the number of writes at the load port; without
    it the core has no load port."""
    fields = dict.fromkeys(("parameters", "signals", "ports", "read", "done", "step"), "")
    limit = 1000
    if load is not None:
        address, data, count = load
        limit += count
        fields = {
            "parameters": f"  localparam LOADS = {count};       // writes at the load port\n",
            "signals": LOAD_SIGNALS.substitute(address_high=address - 1, data_high=data - 1),
            "ports": LOAD_PORTS,
            "read": '    $readmemh("load.hex", loads);\n',
            "done": "&& loaded == LOADS",
            "step": LOAD_STEP,
        }
    return TEXT.substitute(
        top=top,
        high=bits - 1,
        inputs=inputs,
        results=results,
        cycles=cycles,
        limit=limit,
        **{f"load_{name}": text for name, text in fields.items()},
    )
