#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fuzz_hosts.py READ-HOSTS SECONDS [SEED]: host files grown from what people
write, by mutation. Each must be read to hosts, every one once with a number of
slots, or be refused with code 2 and one sentence; never anything else, and
never for long."""
import os
import random
import re
import subprocess
import sys
import tempfile
import time

SEEDS = [
    b"n1 slots=8\nn2 slots=8\n", b"n1:8\nn2:4\n", b"a\na\nb\n",
    b"# x\r\n\xef\xbb\xbfn1 slots=2\r\n", b"n[01-16,18] max_slots=8\n",
    b"[2001:db8::1]:8\n2001:db8::2 slots=4\nfe80::1%eth0\n",
    b"r[1-2]n[1-4]-ib:4\n", b"10.0.0.1 cpu=2\n10.0.0.2 count = 3 # y\n",
    b"n9 slots=999999\nn10 slots=1000000\n", b"n[1-2000]\n"]
WORDS = [b"slots=", b"max_slots=", b":", b"::", b"[", b"]", b"-", b",", b"#",
         b"\r\n", b"\n", b" ", b"\t", b"%", b"=", b"0", b"9", b"99999999999",
         b"[1-3]", b"\0", b"\xff", b"'", b'"', b"$(x)", b"`", b"\\", b"%s"]
HOST = re.compile(rb"[A-Za-z0-9_:][A-Za-z0-9_.:%-]* [1-9][0-9]{0,5}")


def mutate(rng, text):
    for _ in range(rng.randint(1, 6)):
        at = rng.randint(0, len(text))
        to = min(len(text), at + rng.randint(0, 8))
        how = rng.randrange(5)
        if how == 0:
            text = text[:at] + rng.choice(WORDS) + text[at:]
        elif how == 1:
            text = text[:at] + text[to:]
        elif how == 2:
            text = text[:at] + bytes([rng.randrange(256)]) + text[at + 1:]
        elif how == 3:
            text = text[:at] + text[at:to] * rng.randint(2, 9) + text[to:]
        else:
            text += rng.choice(SEEDS)
    return text[:4096]


def fault_of(reader, path):
    """What is wrong with the answer; None: nothing. And the answer's kind."""
    try:
        done = subprocess.run([reader, path], capture_output=True, timeout=20)
    except subprocess.TimeoutExpired:
        return "no answer in 20 s", None
    out, err = done.stdout, done.stderr
    if done.returncode == 0:
        lines = out.splitlines()
        names = [line.split(b" ")[0] for line in lines]
        if err or not lines:
            return "0, and %r %r" % (out[:80], err[:80]), 0
        if len(set(names)) != len(names):
            return "a host twice", 0
        bad = [line for line in lines if not HOST.fullmatch(line)]
        return ("the line %r" % bad[0] if bad else None), 0
    if done.returncode == 2:
        told = err.startswith(b"stepscale-mpirun: ") and err.endswith(b"\n")
        if out or not told or err.count(b"\n") != 1:
            return "2, and %r %r" % (out[:80], err[:200]), 2
        return None, 2
    return "code %d: %r" % (done.returncode, err[:200]), None


def main():
    reader, seconds = sys.argv[1], float(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    rng = random.Random(seed)
    until = time.monotonic() + seconds
    count = {0: 0, 2: 0}
    corpus = list(SEEDS)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hosts")
        whole = list(SEEDS)  # first as they are
        while whole or time.monotonic() < until:
            text = whole.pop() if whole else mutate(rng, rng.choice(corpus))
            with open(path, "wb") as file:
                file.write(text)
            fault, kind = fault_of(reader, path)
            if fault:
                print("seed %d: %r: %s" % (seed, text, fault))
                return 1
            count[kind] += 1
            if kind == 0 and len(corpus) < 500:
                corpus.append(text)
    print("%d host files, seed %d: %d read, %d refused" %
          (sum(count.values()), seed, count[0], count[2]))
    return 0 if count[0] and count[2] else 1


if __name__ == "__main__":
    sys.exit(main())
