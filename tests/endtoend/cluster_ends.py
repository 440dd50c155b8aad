#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""stepscale-mpirun over 4 virtual hosts, when clusters do what clusters do: a
host dies, a link is cut, a process is killed or stands still, an op never ends.
Whatever it is, the job ends in time with 13 (11 for a stop), every point that
was finished is readable, and no rank remains on any host.

cluster_ends.py [--jobs N] [--seed S] WHAT...
WHAT: `each` (every way once), a way's name, or a number (so many random ones).
Prints a line an end and, for results/, a table by way. 77: cannot run here."""
import concurrent.futures
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import e2e

ROOT = os.path.realpath(os.path.join(e2e.HERE, "..", ".."))
VCLUSTER = os.path.join(ROOT, "tests", "cluster", "vcluster")
LAUNCHER = os.path.join(ROOT, "launch", "stepscale-mpirun")
HOSTS = 4
DEADLINE = 10  # s: the least between blocks, whatever deadline.block
DEADLINES = {"null": ["deadline.block=4s", "deadline.connect=8s"],
             "host": ["deadline.block=10s", "deadline.connect=10s"]}
HOST_ENGINE = ("--engine host model.layers=1 model.hidden=64 model.tokens=64 "
               "scaling.min_tokens=1 measure.min_blocks=40 "
               "measure.max_blocks=40 measure.min_block=10ms "
               "measure.budget=1h measure.max_seconds=1h device.threads=1 "
               "groups.mode=both --sizes 1,2,3,4 out.format=none").split()
ENGINES = {"null": e2e.PACED, "host": HOST_ENGINE}
# Ops of one layer on 4 ranks, one for each phase of its plan, in the 6th point:
# 4 ranks together. `stepscale plan` lists them.
PHASES = {"forward": 0, "backward": 3, "dp_comm": 7, "optimizer": 8}


class Failed(Exception):
    pass


def expect(truth, *words):
    if not truth:
        raise Failed("\n".join(str(word) for word in words))


class End:
    """One job on a cluster of its own, from its start to its end."""

    def __init__(self, way, engine, chance):
        self.way, self.engine, self.chance = way, engine, chance
        self.culprit = None  # the logical rank that must be named
        self.suspect = None  # the one that may be
        self.host = "n1"
        self.folder = tempfile.mkdtemp(prefix="ss-ends-")
        self.out = self.folder + "/r.h5"
        self.env = {"VCLUSTER_DIR": self.folder + "/cluster"}
        self.job = None

    def vcluster(self, *words):
        done = subprocess.run([VCLUSTER, *words], capture_output=True,
                              text=True, env=dict(os.environ, **self.env))
        expect(done.returncode == 0, "vcluster", words, done.stderr)

    def pick(self, first):
        """A host from n<first> on; its rank may be named."""
        number = self.chance.randint(first, HOSTS)
        self.suspect = number - 1
        self.host = f"n{number}"
        return self.host

    def process(self, *names):
        """A process of the job by the name of its program."""
        found = []
        for pid in self.job.pids():
            try:
                name = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
            except OSError:
                continue
            if name in names and not e2e.is_zombie(pid):
                found.append(pid)
        expect(found, "no process", names)
        return self.chance.choice(sorted(found))

    # --- the ways ----------------------------------------------------------

    def lost_host(self):
        self.vcluster("crash", self.pick(2))

    def lost_host_of_rank_0(self):
        self.suspect = 0
        self.vcluster("crash", "n1")

    def cut_link(self):
        self.vcluster("cut", self.pick(2))
        self.culprit = self.suspect

    def cut_link_of_rank_0(self):
        self.culprit = self.suspect = 0
        self.vcluster("cut", "n1")

    def killed_rank(self):
        self.suspect = self.chance.randrange(HOSTS)
        os.kill(self.job.rank_pids()[self.suspect], signal.SIGKILL)

    def stopped_rank(self):
        self.culprit = self.suspect = self.chance.randrange(HOSTS)
        os.kill(self.job.rank_pids()[self.culprit], signal.SIGSTOP)

    def killed_daemon(self):
        os.kill(self.process("orted", "prted"), signal.SIGKILL)

    def killed_mpirun(self):
        os.kill(self.process("orterun", "mpirun", "prterun"), signal.SIGKILL)

    def stop(self):
        """To stepscale-mpirun: `vcluster front` has become it."""
        scripts = []
        for pid in self.job.pids():
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if LAUNCHER.encode() in file.read().split(b"\0")[:2]:
                    scripts.append(pid)
        expect(scripts, "no launcher")
        os.kill(min(scripts), signal.SIGTERM)

    # --- one end -------------------------------------------------------------

    def words(self):
        if self.way in PHASES:
            self.culprit = self.suspect = 2
            return e2e.MANY + [f"null.hang_op=2:6:{PHASES[self.way]}"]
        return ENGINES[self.engine]

    def middle(self):
        """Waits for some finished points; how many there are then."""
        least = self.chance.randint(1, 3)
        part = self.out + ".part"
        expect(e2e.wait_for(
            lambda: len(e2e.finished_parts(part)) >= least
            or self.job.process.poll() is not None, 120), "no point in time")
        expect(self.job.process.poll() is None, "over too early")
        time.sleep(self.chance.uniform(0, 0.4))
        return len(e2e.finished_parts(part))

    def run(self):
        self.vcluster("up", str(HOSTS))
        words = ["front", "1", LAUNCHER, "--hostfile",
                 self.env["VCLUSTER_DIR"] + "/hostfile", "run", *self.words(),
                 *DEADLINES[self.engine], "--out", self.out]
        self.job = e2e.Job(words, program=VCLUSTER,
                           env=dict(self.env, STEPSCALE=e2e.PROGRAM))
        finished = 1
        began = self.job.began
        if self.way not in PHASES:
            finished = self.middle()
            began = time.monotonic()
            getattr(self, self.way)()
        code = self.job.wait(DEADLINE + 60)
        return self.judge(code, time.monotonic() - began, finished)

    def judge(self, code, took, finished):
        said = self.job.stderr()
        expect(code == (11 if self.way == "stop" else 13), "code", code)
        # launcher daemons of a host that is cut off may remain, ranks not
        expect(e2e.wait_for(lambda: not self.job.rank_pids(), 10),
               "ranks remain", self.job.rank_pids())
        whole = os.path.exists(self.out)
        result = e2e.report(self.out if whole else self.out + ".part")
        expect(len(result["points"]) >= finished, "of", finished,
               "finished points the report has", len(result["points"]))
        # one function decides, in the run and in the report of what it left
        expect(result["verdict"]["exit_code"] == code, "the report's code",
               result["verdict"]["exit_code"], "and not", code)
        named = {f["culprit"]["rank"] for f in result["findings"]
                 if f["kind"] in ("hang", "lost_rank")}
        expect(self.culprit is None or self.culprit in named,
               "named", named, "and not", self.culprit)
        spoken = {int(r) for r in re.findall(r"\branks? (\d+)\b", said)}
        return {"way": self.way, "engine": self.engine, "code": code,
                "seconds": took, "points": len(result["points"]),
                "verdict": result["verdict"]["exit_code"],
                "named": "-" if self.suspect is None else
                "yes" if self.suspect in named else
                "said" if self.suspect in spoken or self.host in said
                else "no"}

    def close(self, failed):
        if self.job:
            if failed:
                print(self.job.stderr())
            self.job.__exit__()
        subprocess.run([VCLUSTER, "down"], env=dict(os.environ, **self.env))
        shutil.rmtree(self.folder, ignore_errors=True)


WAYS = ["lost_host", "lost_host_of_rank_0", "cut_link", "cut_link_of_rank_0",
        "killed_rank", "stopped_rank", "killed_daemon", "killed_mpirun",
        "stop"]


def one(way, engine, seed):
    """A row, or None after saying what went wrong."""
    end = End(way, engine, random.Random(seed))
    failed = True
    try:
        row = end.run()
        failed = False
        print(f"ok {way} ({engine}, seed {seed}): code {row['code']} after "
              f"{row['seconds']:.1f} s, {row['points']} points, culprit "
              f"named: {row['named']}", flush=True)
        return row
    except (Failed, OSError, SystemExit, ProcessLookupError) as error:
        print(f"not ok {way} ({engine}, seed {seed}): {error}", flush=True)
        return None
    finally:
        end.close(failed)


def plan(words, seed):
    chance = random.Random(seed)
    ends = []
    for word in words:
        if word == "each":
            ends += [(way, "null") for way in WAYS + list(PHASES)]
        elif word.isdigit():
            ends += [(chance.choice(WAYS[:-1]), chance.choice(list(ENGINES)))
                     for _ in range(int(word))]
        else:
            ends.append((word, "null"))
    return [(way, engine, seed + i) for i, (way, engine) in enumerate(ends)]


def print_table(rows):
    print("| way | engine | jobs | code | seconds, median and longest | "
          "culprit in the report | in the log only |")
    print("|---|---|---|---|---|---|---|")
    for way, engine in sorted({(r["way"], r["engine"]) for r in rows}):
        mine = [r for r in rows if (r["way"], r["engine"]) == (way, engine)]
        times = sorted(r["seconds"] for r in mine)
        named = [r["named"] for r in mine]
        codes = ", ".join(str(c) for c in sorted({r["code"] for r in mine}))
        print(f"| {way.replace('_', ' ')} | {engine} | {len(mine)} | {codes} "
              f"| {times[len(times) // 2]:.1f}, {times[-1]:.1f} "
              f"| {named.count('yes')} | {named.count('said')} |")


def option(words, name, default):
    if name not in words:
        return default
    at = words.index(name)
    value = words[at + 1]
    del words[at:at + 2]
    return int(value)


def main():
    words = sys.argv[1:]
    jobs, seed = option(words, "--jobs", 3), option(words, "--seed", 1)
    if os.geteuid() != 0:
        print("skipped: virtual hosts need root")
        return 77
    for tool in ("ip", "mpirun", "unshare"):
        if not shutil.which(tool):
            print("skipped: no", tool)
            return 77
    probe = subprocess.run(["unshare", "--net", "--uts", "--ipc", "--mount",
                            "--pid", "--fork", "true"], capture_output=True)
    if probe.returncode != 0:
        print("skipped: this kernel or container gives no namespaces")
        return 77
    ends = plan(words or ["each"], seed)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        rows = list(pool.map(lambda end: one(*end), ends))
    good = [row for row in rows if row]
    print_table(good)
    print(f"{len(good)} of {len(rows)} ends as they should be")
    return 0 if len(good) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
