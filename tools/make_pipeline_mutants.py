#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tests/vectors/pipeline_mutants.jsonl: tables of pipeline schedules with one change each, and whether they are safe.

Reads the tables of tests/vectors/pipeline.jsonl. Verdicts come from `is_safe`, a greedy run of the rows that shares nothing
with the library. Deterministic: the same tables give the same file.

usage: python3 tools/make_pipeline_mutants.py                      writes the file
       python3 tools/make_pipeline_mutants.py --check              fails where the file differs from what would be written
       python3 tools/make_pipeline_mutants.py --unsafe N FILE      writes N unsafe tables of each class, all different
"""
import argparse
import collections
import itertools
import json
import pathlib
import random
import re
import sys

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "tests" / "vectors"
CELL = re.compile(r"(\d+)(F|I|W|B|SEND_F|RECV_F|SEND_B|RECV_B)(\d+)$")
PAIR = re.compile(r"\((\d+F\d+);(\d+[IB]\d+)\)OVERLAP_F_B$")
ROWS_OF_A_CLASS = 20


class Source:
    """Random choices that are the same in every Python."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def below(self, n, begin=0):
        return begin + int(self.random.random() * (n - begin))

    def choice(self, items):
        return items[self.below(len(items))]

    def two(self, items):
        i, j = self.below(len(items)), self.below(len(items) - 1)
        return items[i], items[j + (j >= i)]


def actions_of(cell):
    """A cell as actions (kind, stage, micro-batch): two of a pair, none of an idle slot or an action of parameters."""
    pair = PAIR.match(cell)
    if pair:
        return [actions_of(half)[0] for half in pair.groups()]
    one = CELL.match(cell)
    return [(one[2], int(one[1]), int(one[3]))] if one else []


class Run:
    """The rows of a table, run rank by rank as far as each can go."""

    def __init__(self, rows, placement, micro_batches, transport):
        self.rows = [[a for a in map(actions_of, row) if a] for row in rows]
        self.ranks, self.m = len(rows), micro_batches
        largest = max((a[1] for row in self.rows for cell in row for a in cell), default=0)
        self.stages = (largest // self.ranks + 1) * self.ranks
        self.rank_of = [self.rank(s, placement) for s in range(self.stages)]
        self.kind, _, buffers = transport.partition("=")
        self.buffers = int(buffers or 0)
        self.done, self.sent, self.received = set(), set(), set()
        self.under_way = collections.Counter()

    def rank(self, stage, placement):
        there, place = divmod(stage, self.ranks)
        return self.ranks - 1 - place if placement == "v" and there % 2 == 1 else place

    def message(self, action):
        """A transfer as (sending stage, micro-batch, letter) and its ranks; None where no message goes there."""
        kind, stage, k = action
        way, letter = kind.split("_")
        other = stage + (1 if (way == "SEND") == (letter == "F") else -1)
        if not 0 <= other < self.stages or self.rank_of[other] == self.rank_of[stage]:
            return None
        ends = (stage, other) if way == "SEND" else (other, stage)
        return (ends[0], k, letter), (self.rank_of[ends[0]], self.rank_of[ends[1]])

    def is_complete(self):
        """Each stage and micro-batch has F, and B or I and W, once and on its rank."""
        count = collections.Counter()
        for r, row in enumerate(self.rows):
            for cell in row:
                for kind, stage, k in cell:
                    if self.rank_of[stage] != r or k >= self.m:
                        return False
                    count[kind, stage, k] += 1
        for stage in range(self.stages):
            for k in range(self.m):
                f, i, w, b = (count[kind, stage, k] for kind in "FIWB")
                if (f, i, w, b) not in ((1, 1, 1, 0), (1, 0, 0, 1)):
                    return False
        return True

    def messages_meet(self):
        """Each hop has one send and one receive, and a pair of ranks lists both in one order."""
        sends, receives = collections.defaultdict(list), collections.defaultdict(list)
        for row in self.rows:
            for cell in row:
                for action in cell:
                    if "_" not in action[0]:
                        continue
                    found = self.message(action)
                    if found is None:
                        return False
                    (sends if action[0].startswith("SEND") else receives)[found[1]].append(found[0])
        hops = set()
        for stage in range(self.stages):
            for letter, other in (("F", stage + 1), ("B", stage - 1)):
                if 0 <= other < self.stages and self.rank_of[other] != self.rank_of[stage]:
                    hops |= {(stage, k, letter) for k in range(self.m)}
        listed = [one for order in sends.values() for one in order]
        return sorted(listed) == sorted(hops) and sends == receives

    def arrived(self, producer, consumer, message):
        if self.kind == "unbounded" or self.rank_of[producer[1]] == self.rank_of[consumer]:
            return self.is_done(producer)
        return message in self.sent and message in self.received

    def is_done(self, action):
        kind, stage, k = action
        return (kind, stage, k) in self.done or (kind in "IW" and ("B", stage, k) in self.done)

    def can_compute(self, action):
        kind, stage, k = action
        if kind == "F":
            return stage == 0 or self.arrived(("F", stage - 1, k), stage, (stage - 1, k, "F"))
        if kind == "W":
            return self.is_done(("I", stage, k))
        follows = stage + 1 == self.stages or self.arrived(("I", stage + 1, k), stage, (stage + 1, k, "B"))
        return self.is_done(("F", stage, k)) and follows

    def can_send(self, message):
        stage, k, letter = message
        return self.is_done(("F" if letter == "F" else "I", stage, k))

    def step(self, r, at):
        """Runs the cell at which rank r stands; false: it waits."""
        cell = self.rows[r][at[r]]
        if "_" not in cell[0][0]:
            if not all(map(self.can_compute, cell)):
                return False
            self.done.update(cell)
        elif self.kind != "unbounded":
            message, pair = self.message(cell[0])
            sends = cell[0][0].startswith("SEND")
            if sends and not self.can_send(message):
                return False
            if self.kind == "buffered":
                if self.under_way[pair] == self.buffers if sends else message not in self.sent:
                    return False
                self.under_way[pair] += 1 if sends else -1
            if self.kind == "blocking":
                peer = pair[1] if sends else pair[0]
                other = self.rows[peer][at[peer]][0] if at[peer] < len(self.rows[peer]) else ("", 0, 0)
                if "_" not in other[0] or self.message(other)[0] != message or not self.can_send(message):
                    return False
                at[peer] += 1
                self.sent.add(message)
                self.received.add(message)
            (self.sent if sends else self.received).add(message)
        at[r] += 1
        return True

    def ends(self):
        at = [0] * self.ranks
        moved = True
        while moved:
            moved = False
            for r in range(self.ranks):
                while at[r] < len(self.rows[r]) and self.step(r, at):
                    moved = True
        return all(at[r] == len(row) for r, row in enumerate(self.rows))


def is_safe(rows, placement, micro_batches, transport):
    run = Run(rows, placement, micro_batches, transport)
    return run.is_complete() and (transport == "unbounded" or run.messages_meet()) and run.ends()


# Changes: each takes rows, a random source and what it needs of the table, and returns other rows or none.


def places(rows, wanted):
    return [(r, i) for r, row in enumerate(rows) for i, cell in enumerate(row) if wanted(cell)]


def transfers(cell):
    return "_" in cell and not cell.startswith("(")


def computes(cell):
    return not transfers(cell)


def swap_neighbours(rows, random_, wanted=lambda cell: True):
    r, i = random_.choice([(r, i) for r, i in places(rows, wanted) if i + 1 < len(rows[r])])
    rows[r][i], rows[r][i + 1] = rows[r][i + 1], rows[r][i]
    return rows


def swap_transfers(rows, random_):
    return swap_neighbours(rows, random_, transfers)


def swap_far(rows, random_):
    r = random_.below(len(rows))
    i, j = random_.two(range(len(rows[r])))
    rows[r][i], rows[r][j] = rows[r][j], rows[r][i]
    return rows


def drop(wanted):
    def change(rows, random_):
        r, i = random_.choice(places(rows, wanted))
        del rows[r][i]
        return rows

    return change


def double(wanted):
    def change(rows, random_):
        r, i = random_.choice(places(rows, wanted))
        rows[r].insert(random_.below(len(rows[r]) + 1), rows[r][i])
        return rows

    return change


def move_to_another_rank(rows, random_):
    r, i = random_.choice(places(rows, computes))
    cell = rows[r].pop(i)
    to = (r + random_.below(len(rows), 1)) % len(rows)
    rows[to].insert(random_.below(len(rows[to]) + 1), cell)
    return rows


def rename(part):
    def change(rows, random_):
        r, i = random_.choice(places(rows, CELL.match))
        stage, kind, k = CELL.match(rows[r][i]).groups()
        numbers = [int(stage), int(k)]
        numbers[part] += random_.choice([1, len(rows)] if part == 0 else [1, 2])
        rows[r][i] = f"{numbers[0]}{kind}{numbers[1]}"
        return rows

    return change


def cross_sends(rows, random_):
    """Two sends of a rank change places, their receives do not."""
    r = random_.below(len(rows))
    sends = [i for i, cell in enumerate(rows[r]) if "SEND" in cell]
    i, j = random_.two(sends)
    rows[r][i], rows[r][j] = rows[r][j], rows[r][i]
    return rows


def send_early(rows, random_):
    r, i = random_.choice([(r, i) for r, i in places(rows, lambda c: "SEND" in c) if i > 0])
    rows[r].insert(random_.below(i), rows[r].pop(i))
    return rows


def receive_late(rows, random_):
    r, i = random_.choice([(r, i) for r, i in places(rows, lambda c: "RECV" in c) if i + 1 < len(rows[r])])
    cell = rows[r].pop(i)
    rows[r].insert(random_.below(min(i + 4, len(rows[r]) + 1), i + 1), cell)
    return rows


def exchange_rows(rows, random_):
    i, j = random_.two(range(len(rows)))
    rows[i], rows[j] = rows[j], rows[i]
    return rows


def exchange_ends(rows, random_):
    """What two ranks do from some action on."""
    i, j = random_.two(range(len(rows)))
    at, to = random_.below(len(rows[i])), random_.below(len(rows[j]))
    rows[i][at:], rows[j][to:] = rows[j][to:], rows[i][at:]
    return rows


def receive_where_used(rows, random_=None, all_of_them=True):
    """Each receive, or some, right before the action that uses it, so that sends pile up."""
    out = []
    for row in rows:
        waiting, new = {}, []
        for cell in row:
            if "RECV" in cell and (all_of_them or random_.below(2)):
                stage, kind, k = CELL.match(cell).groups()
                waiting[kind[-1], stage, k] = cell
                continue
            for kind, stage, k in actions_of(cell):
                needed = ("F" if kind == "F" else "B", str(stage), str(k))
                if kind in "FIB" and needed in waiting:
                    new.append(waiting.pop(needed))
            new.append(cell)
        out.append(new)
    return out


def receive_some_where_used(rows, random_):
    return receive_where_used(rows, random_, all_of_them=False)


def same(rows, random_=None):
    return rows


ALL = ["ordered", "buffered=1", "buffered=2", "blocking"]
CLASSES = {
    "unchanged": (same, ["unbounded"], ALL),
    "swapped neighbours": (swap_neighbours, ["unbounded"], ALL),
    "swapped far": (swap_far, ["unbounded"], ALL),
    "dropped action": (drop(computes), ["unbounded"], ALL),
    "doubled action": (double(computes), ["unbounded"], ALL),
    "action on a wrong rank": (move_to_another_rank, ["unbounded"], ALL),
    "action of a wrong stage": (rename(0), ["unbounded"], ALL),
    "action of a wrong micro-batch": (rename(1), ["unbounded"], ALL),
    "rows of two ranks exchanged": (exchange_rows, ["unbounded"], ALL),
    "ends of two rows exchanged": (exchange_ends, ["unbounded"], ALL),
    "swapped transfers": (swap_transfers, [], ALL),
    "dropped transfer": (drop(transfers), [], ALL),
    "doubled transfer": (double(transfers), [], ALL),
    "crossed sends": (cross_sends, [], ALL),
    "send before its turn": (send_early, [], ALL),
    "receive after its turn": (receive_late, [], ALL),
    "receives where used": (receive_where_used, [], ALL),
    "some receives where used": (receive_some_where_used, [], ALL),
}
FIXED = {"unchanged", "rows of two ranks exchanged", "receives where used"}  # classes of few different tables
BUFFERS = "one buffer too few"


def bases(longest):
    """Published tables of so many characters: (name, rows, placement, micro-batches), without transfers and with them."""
    without, having = [], []
    for line in (FOLDER / "pipeline.jsonl").read_text().splitlines():
        row = json.loads(line)
        field = {"torch_csv": "compute_only", "torch_csv_comms": "compute_comms"}.get(row["kind"])
        if field is None or len(row[field]) > longest:
            continue
        cells = [[c for c in r.split(",") if actions_of(c)] for r in row[field].split("\n")]
        into = without if field == "compute_only" else having
        into.append((row["schedule"], cells, row["placement"], row["microbatches"]))
    return without, having


def with_transfers(base):
    """The table with a send behind what makes each message, and at that moment its receive."""
    name, rows, placement, m = base
    run = Run(rows, placement, m, "unbounded")
    out, at = [[] for _ in rows], [0] * run.ranks
    while any(at[r] < len(row) for r, row in enumerate(run.rows)):
        for r, row in enumerate(run.rows):
            if at[r] == len(row) or not run.step(r, at):
                continue
            out[r].append([cell for cell in rows[r] if actions_of(cell)][at[r] - 1])
            for kind, stage, k in row[at[r] - 1]:
                letter, other = ("F", stage + 1) if kind == "F" else ("B", stage - 1)
                if kind == "W" or run.message((f"SEND_{letter}", stage, k)) is None:
                    continue
                out[r].append(f"{stage}SEND_{letter}{k}")
                out[run.rank_of[other]].append(f"{other}RECV_{letter}{k}")
    return name, out, placement, m


def sends_first(m):
    """Two ranks: the first one sends all forwards before it receives a gradient."""
    first = [cell for k in range(m) for cell in (f"0F{k}", f"0SEND_F{k}")]
    first += [cell for k in range(m) for cell in (f"0RECV_B{k}", f"0B{k}")]
    last = [cell for k in range(m) for cell in (f"1RECV_F{k}", f"1F{k}", f"1B{k}", f"1SEND_B{k}")]
    return "GPipe", [first, last], "loop", m


def two_ranks(random_):
    """Two ranks, each with its forwards and its backwards in turns drawn at random."""
    m = random_.below(11, 3)
    rows = []
    for r, (forward, backward) in enumerate((("{0}F{1} {0}SEND_F{1}", "{0}RECV_B{1} {0}B{1}"),
                                             ("{0}RECV_F{1} {0}F{1}", "{0}B{1} {0}SEND_B{1}"))):
        row, done = [], [0, 0]
        while done[1] < m:
            back = done[0] == m or (done[1] < done[0] and random_.below(2) == 1)
            row += (backward if back else forward).format(r, done[back]).split()
            done[back] += 1
        rows.append(row)
    return "two ranks", rows, "loop", m


def vector(kind, base, rows, transport, number):
    name, _, placement, m = base
    verdict = "safe" if is_safe(rows, placement, m, transport) else "unsafe"
    return {
        "kind": "pipeline_mutant",
        "id": f"{kind.replace(' ', '_')}/{number:02}",
        "class": kind,
        "schedule": name,
        "placement": placement,
        "micro_batches": m,
        "transport": transport,
        "table": "\n".join(",".join(row) for row in rows),
        "verdict": verdict,
    }


def mutants_of(kind, without, having, attempts):
    """Different tables of one class, as many as its changes and bases give within the attempts made."""
    change, plain, lowered = CLASSES[kind]
    random_ = Source(kind)
    groups = [[(b, t) for b in without for t in plain], [(b, t) for b in having for t in lowered]]
    groups = [group for group in groups if group]
    seen = set()
    for attempt in range(attempts):
        base, transport = random_.choice(groups[attempt % len(groups)])
        rows = change([list(row) for row in base[1]], random_)
        key = (str(rows), transport)
        if key in seen or not all(rows):
            continue
        seen.add(key)
        yield vector(kind, base, rows, transport, len(seen))


def around_enough_buffers(bases_, change):
    """Lists with as many buffers as they need, and with one fewer."""
    seen = set()
    for base in bases_:
        rows = change(base[1])
        safe = (k for k in [2 * base[3], *range(1, 2 * base[3])] if is_safe(rows, base[2], base[3], f"buffered={k}"))
        enough = next(safe, 0) and next(safe, 2 * base[3])
        for buffers in range(max(1, enough - 1), enough + 1):
            if (str(rows), buffers) not in seen:
                seen.add((str(rows), buffers))
                yield vector(BUFFERS, base, rows, f"buffered={buffers}", len(seen))


def mutants():
    without, having = bases(longest=1100)
    for kind in CLASSES:
        yield from itertools.islice(mutants_of(kind, without, having, 20 * ROWS_OF_A_CLASS), ROWS_OF_A_CLASS)
    yield from around_enough_buffers(having + [sends_first(m) for m in range(3, 15)], receive_where_used)


def unsafe_mutants(count):
    """`count` unsafe tables of each class that has so many; fails where a class has fewer."""
    without, having = bases(longest=4000)
    having = [with_transfers(base) for base in without]
    random_ = Source(BUFFERS)
    endless = (two_ranks(random_) for _ in range(100 * count))
    classes = {kind: mutants_of(kind, without, having, 100 * count) for kind in CLASSES if kind not in FIXED}
    classes[BUFFERS] = around_enough_buffers(endless, same)
    for kind, rows in classes.items():
        found = list(itertools.islice((row for row in rows if row["verdict"] == "unsafe"), count))
        if len(found) < count:
            sys.exit(f"{kind}: only {len(found)} unsafe tables")
        yield from found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail where the file differs from what would be written")
    parser.add_argument("--unsafe", nargs=2, metavar=("N", "FILE"), help="write N unsafe tables of each class to FILE")
    options = parser.parse_args()
    path = FOLDER / "pipeline_mutants.jsonl"
    chosen = unsafe_mutants(int(options.unsafe[0])) if options.unsafe else mutants()
    text = "".join(json.dumps(v) + "\n" for v in chosen)
    if options.unsafe:
        path = pathlib.Path(options.unsafe[1])
    if options.check:
        sys.exit(0 if path.read_text() == text else f"{path.name} is not what its tool writes")
    path.write_text(text)


if __name__ == "__main__":
    main()
