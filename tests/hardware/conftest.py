"""Prints a line for each kernel: what was compared, and how far the results were apart."""

from agreement import HAS_GPU, VERDICTS


def pytest_terminal_summary(terminalreporter):
    if HAS_GPU or terminalreporter.verbosity > 0:
        for verdict in VERDICTS:
            terminalreporter.write_line(str(verdict))
