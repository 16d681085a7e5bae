"""What other tools think of our Verilog: Icarus simulates it, Verilator looks for faults in it. Neither is needed."""

from __future__ import annotations

from pathlib import Path

from amaranth.lib import wiring

from windrow.errors import ConfigurationError
from windrow.hardware.packing import Words
from windrow.hardware.simulate.interpreted import from_integers, to_integers
from windrow.hardware.simulate.trace import Streams, checked, streams_of
from windrow.hardware.tools import Progress, Tool, ToolRun, installed, made
from windrow.hardware.verilog import verilog_text

ICARUS, ICARUS_RUN, VERILATOR = "iverilog", "vvp", "verilator"
TESTBENCH = """`timescale 1ns/1ns
module testbench;
  reg clk = 0, rst = 0, input_valid = 0, output_ready = 1;
  reg [{input_high}:0] elements [0:{last}];
  wire [{output_high}:0] output_payload;
  wire input_ready, output_valid;
  integer next = 0, quiet = 0, file;
  wire [{input_high}:0] input_payload = elements[next];
  top circuit(.clk(clk), .rst(rst), .input_valid(input_valid), .input_ready(input_ready),
    .input_payload(input_payload), .output_valid(output_valid), .output_ready(output_ready),
    .output_payload(output_payload){configure});
  initial begin
    $readmemh("elements.hex", elements);
    file = $fopen("results.hex", "w");
    rst = 1;
    repeat (2) begin
      #5 clk = 1;
      #5 clk = 0;
    end
    rst = 0;
    input_valid = 1;
    while (quiet < {patience}) begin
      #4;
      quiet = quiet + 1;
      if (output_valid) begin
        $fdisplay(file, "%h", output_payload);
        quiet = {done} ? {patience} : 0;
      end
      if (input_valid && input_ready) begin
        quiet = 0;
        #1 clk = 1;
        #1 next = next + 1;
        input_valid = next < {rows};
      end else begin
        #1 clk = 1;
        #1;
      end
      #4 clk = 0;
    end
    $fclose(file);
    $finish;
  end
endmodule
"""


def lint(component: wiring.Component, *, progress: Progress | None = None) -> None:
    """Have Verilator read the Verilog of a circuit; what it finds wrong is an error with its words.

    Widths and unused signals are not asked for: they are the rule in what a program has written.
    """
    tool = _required(VERILATOR)
    flags = (
        "--lint-only",
        "-Wno-fatal",
        "-Werror-MULTIDRIVEN",
        "-Werror-LATCH",
        "-Werror-COMBDLY",
        "--top-module",
        "top",
    )
    text = verilog_text(component)
    made(ToolRun(tool, (*flags, "top.v"), {"top.v": text, "linted": ""}, ("linted",)), progress=progress)


def simulate_verilog(
    component: wiring.Component, elements: Words, *, patience: int = 5_000, progress: Progress | None = None
) -> Words:
    """The results that Icarus gets from the Verilog of a circuit, with a reader that is always ready."""
    compiler, runner = _required(ICARUS, "-V"), _required(ICARUS_RUN, "-V")
    streams = streams_of(component)
    words = checked(elements, streams.input.bits)
    sources = {"top.v": verilog_text(component), "testbench.v": _testbench(streams, len(words), patience)}
    compile_run = ToolRun(
        compiler, ("-g2005-sv", "-o", "circuit.vvp", "top.v", "testbench.v"), sources, ("circuit.vvp",)
    )
    program = made(compile_run, progress=progress)["circuit.vvp"].read_bytes()
    given = "".join(f"{word:x}\n" for word in to_integers(words)) or "0\n"
    inputs: dict[str, str | bytes] = {"circuit.vvp": program, "elements.hex": given}
    results = made(ToolRun(runner, ("-n", "circuit.vvp"), inputs, ("results.hex",)), progress=progress)["results.hex"]
    return _read(results, streams.output.bits)


def _testbench(streams: Streams, rows: int, patience: int) -> str:
    done = f"output_payload[{streams.done_bit}]" if streams.done_bit >= 0 else "0"
    return TESTBENCH.format(
        input_high=streams.input.bits - 1,
        output_high=streams.output.bits - 1,
        last=max(rows, 1),
        rows=rows,
        patience=patience,
        done=done,
        configure=", .configure_valid(1'b0)" if streams.configure else "",
    )


def _read(path: Path, bits: int) -> Words:
    lines = path.read_text(encoding="ascii").split()
    return from_integers((int(line, 16) for line in lines), bits) if lines else from_integers([], bits)


def _required(name: str, version: str = "--version") -> Tool:
    found = installed(name, version)
    if found is None:
        raise ConfigurationError(
            "is not installed", parameter=name, hint="install it, or simulate with the backends python or cxxrtl"
        )
    return found
