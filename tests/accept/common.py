# SPDX-License-Identifier: Apache-2.0
"""What the acceptance tests share: how the program is run, how two numbers
are compared, and one line a check. It must not know what any number means.
"""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
MPIRUN = os.path.join(HERE, "..", "support", "mpirun")
# Codes of `run` that are answers about the cluster, not failures of the tool.
ANSWERS = (0, 10, 11)


class Check:
    """Counts checks; prints what failed and one summary line."""

    def __init__(self, name):
        self.name = name
        self.passed = 0
        self.failed = 0
        self.case = ""

    def that(self, ok, text):
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print("not ok: %s: %s" % (self.case, text), flush=True)
        return ok

    def equal(self, what, got, want):
        return self.that(got == want, "%s is %r, expected %r" %
                         (what, got, want))

    def near(self, what, got, want, share=1e-3, floor=1e-6):
        """Within `share` of what is expected; a planted 0 is a 0 within
        `floor` (the resolution of one ns in ms)."""
        if want is None or got is None:
            return self.equal(what, got, want)
        limit = max(share * abs(want), floor)
        return self.that(math.isfinite(got) and abs(got - want) <= limit,
                         "%s is %.10g, expected %.10g" % (what, got, want))

    def end(self):
        print("%s: %d checks passed, %d failed" %
              (self.name, self.passed, self.failed), flush=True)
        return 1 if self.failed or not self.passed else 0


class Program:
    """The program under test, with a folder of its own for result files."""

    def __init__(self, binary):
        self.binary = os.path.abspath(binary)
        self.folder = tempfile.mkdtemp(prefix="accept-")
        self.count = 0

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self, argv, timeout, environment):
        env = {k: v for k, v in os.environ.items() if not k.startswith("SS_")}
        env.update(environment or {})
        return subprocess.run(argv, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=timeout,
                              env=env, text=True, check=False)

    def run(self, ranks, options, timeout=60, environment=None, launcher=None):
        """`stepscale run` on so many MPI ranks; the result file's name."""
        self.count += 1
        out = os.path.join(self.folder, "run%d.h5" % self.count)
        argv = list(launcher or [MPIRUN, str(ranks)])
        argv += [self.binary, "run", "--out", out] + list(options)
        done = self._start(argv, timeout, environment)
        if done.returncode not in ANSWERS:
            raise RuntimeError("%s: exit code %d\n%s%s" % (
                " ".join(argv), done.returncode, done.stdout[-2000:],
                done.stderr[-4000:]))
        return out

    def report(self, path, ranks="all"):
        """The JSON that `stepscale report` prints of a file."""
        done = self._start([self.binary, "report", path, "--format", "json",
                            "--ranks", ranks], 60, None)
        if done.returncode != 0:
            raise RuntimeError("report %s: exit code %d\n%s" %
                               (path, done.returncode, done.stderr[-4000:]))
        return json.loads(done.stdout, parse_constant=_no_constants)

    def text(self, *words):
        """stdout of another subcommand."""
        done = self._start([self.binary] + list(words), 60, None)
        if done.returncode != 0:
            raise RuntimeError("%s: exit code %d\n%s" % (
                " ".join(words), done.returncode, done.stderr[-4000:]))
        return done.stdout


def _no_constants(word):
    raise ValueError("%s in JSON" % word)


def main(name, body):
    """Runs body(program, check) on the binary named by the first argument."""
    if len(sys.argv) < 2:
        print("usage: %s STEPSCALE [case...]" % sys.argv[0])
        return 2
    program = Program(sys.argv[1])
    check = Check(name)
    try:
        body(program, check, sys.argv[2:])
    finally:
        program.close()
    return check.end()
