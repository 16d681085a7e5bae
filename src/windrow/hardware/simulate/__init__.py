"""A circuit, cycle by cycle: words go in, a trace of what came out and when comes back.

`simulation.py` is what to call, `trace.py` what comes back. `compiled.py` runs a circuit as C++ (CXXRTL, with the loop
over cycles in `driver.cc`), `interpreted.py` in Amaranth's own simulator, which writes waveforms too; both give the
same trace. `verilog_tools.py` asks other tools what they think of the Verilog.
"""
