"""Runs that go on for weeks, for those who watch over them: metrics over HTTP, events, health, systemd, restarts.

Everything here reads what the thread of a run has published and never makes it wait. `attendance.py` puts it together
for one run; from outside, `Attendance` and `restarts` are called.
"""
