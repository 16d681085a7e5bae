"""The rules that decide how plans are executed, one file a rule; `make.py` has their order."""
