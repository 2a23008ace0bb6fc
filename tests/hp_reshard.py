#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""hp_reshard.py HP: `hp reshard` held against files that this script writes and reads by itself, from the published format.

  format    whole -> Megatron-LM -> whole, with bytes read by struct and json alone; fused rows by the published order
  scales    8-bit weights with a scale for 128 x 128 elements, as DeepSeek-V3 is published, to bf16 and f32
  kills     SIGKILL at random moments, then the same command to the end: the bytes of a run that nobody stopped, and no target before
            (8 kills, with HYPERPARALLEL_EXHAUSTIVE 200)
  refusals  one line on the error stream, exit status 2, nothing written over
"""
import fcntl
import json
import os
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HP = sys.argv[1]
FAILED = []


def hold(condition, what):
    if not condition:
        FAILED.append(what)
        print("broken:", what)


def write(path, tensors):
    header, data, at = {}, [], 0
    for name, (dtype, shape, content) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [at, at + len(content)]}
        data.append(content)
        at += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))


def read(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    begin = 8 + length
    return {name: (t["dtype"], t["shape"], content[begin + t["data_offsets"][0]:begin + t["data_offsets"][1]])
            for name, t in header.items()}


def read_all(folder):
    tensors = {}
    for path in sorted(folder.rglob("*.safetensors")):
        tensors.update(read(path))
    return tensors


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def run(*arguments, limit=None, ordinary=False):
    def before():
        if ordinary and os.geteuid() == 0:
            os.setegid(65534)
            os.seteuid(65534)  # root writes everywhere
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    return subprocess.run([HP, "reshard", *map(str, arguments)], capture_output=True, text=True, preexec_fn=before)


def refused(what, part, *arguments, **more):
    done = run(*arguments, **more)
    lines = done.stderr.splitlines()
    hold(done.returncode == 2 and len(lines) == 1 and part in lines[0],
         f"{what}: status {done.returncode}, {done.stderr!r}, expected {part!r}")


def model(rng, layers, hidden, vocabulary):
    def tensor(*shape):
        n = 2
        for extent in shape:
            n *= extent
        return ("BF16", list(shape), rng.randbytes(n))
    tensors = {"model.embed_tokens.weight": tensor(vocabulary, hidden), "lm_head.weight": tensor(vocabulary, hidden),
               "model.norm.weight": tensor(hidden)}
    for layer in range(layers):
        at = f"model.layers.{layer}."
        tensors[at + "self_attn.q_proj.weight"] = tensor(2 * hidden, hidden)
        tensors[at + "self_attn.k_proj.weight"] = tensor(hidden, hidden)
        tensors[at + "self_attn.v_proj.weight"] = tensor(hidden, hidden)
        tensors[at + "self_attn.o_proj.weight"] = tensor(hidden, 2 * hidden)
        tensors[at + "mlp.gate_proj.weight"] = tensor(3 * hidden, hidden)
        tensors[at + "mlp.up_proj.weight"] = tensor(3 * hidden, hidden)
        tensors[at + "mlp.down_proj.weight"] = tensor(hidden, 3 * hidden)
        tensors[at + "input_layernorm.weight"] = tensor(hidden)
        tensors[at + "post_attention_layernorm.weight"] = tensor(hidden)
    return tensors, {"hidden_size": hidden, "head_dim": hidden // 4, "num_attention_heads": 8, "num_key_value_heads": 4,
                     "vocab_size": vocabulary, "tie_word_embeddings": False}


def put_model(folder, rng, layers, hidden, vocabulary):
    tensors, config = model(rng, layers, hidden, vocabulary)
    write(folder / "model.safetensors", tensors)
    (folder / "config.json").write_text(json.dumps(config))
    return tensors


def rows(tensor, begin, end):
    width = len(tensor[2]) // tensor[1][0]
    return tensor[2][begin * width:end * width]


def check_format(at, rng):
    tensors = put_model(at / "whole", rng, 4, 32, 100)
    for to in ("tp=2,pp=2", "tp=4", "whole"):
        done = run(at / "whole", at / "m", "--to", to, "--to-map", "megatron", "--quiet")
        hold(done.returncode == 0 and done.stderr == "", f"to {to}: {done.stderr}")
        done = run(at / "m", at / "back", "--to-map", "hf", "--quiet")
        hold(done.returncode == 0, f"from {to}: {done.stderr}")
        hold(read_all(at / "back") == tensors, f"there and back by {to}")
        if to == "tp=2,pp=2":
            # "the query heads of a group, its key, its value", group by group; rank 1 has groups 2 and 3, stage 1 layers 2 and 3.
            fused = read(at / "m/mp_rank_01_001/model.safetensors")["decoder.layers.0.self_attention.linear_qkv.weight"]
            parts = {x: tensors[f"model.layers.2.self_attn.{x}_proj.weight"] for x in "qkv"}
            expected = b"".join(rows(parts["q"], g * 16, g * 16 + 16) + rows(parts["k"], g * 8, g * 8 + 8) + rows(parts["v"], g * 8, g * 8 + 8)
                                for g in (2, 3))
            hold(fused == ("BF16", [64, 32], expected), "rows of linear_qkv")
        shutil.rmtree(at / "m")
        shutil.rmtree(at / "back")
    done = run(at / "whole", at / "m", "--to", "tp=2", "--to-map", "megatron", "--dry-run", "--json")
    certificate = json.loads(done.stdout)["certificate"]
    bytes_of_all = sum(len(t[2]) for t in tensors.values())
    hold(certificate["read_bytes"] == bytes_of_all, "each byte is read once")
    hold(certificate["proved_tensors"] == certificate["target_tensors"] > 0, "every tensor is proved")
    hold(not (at / "m").exists(), "a dry run writes nothing")


def check_scales(at, rng):
    rows_of, columns_of = 300, 200
    stored = bytes(b if b & 0x7f != 0x7f else 1 for b in rng.randbytes(rows_of * columns_of))
    scales = [rng.uniform(1e-4, 2e-2) for _ in range(3 * 2)]
    name = "model.layers.0.mlp.up_proj.weight"
    write(at / "v3/model.safetensors", {name: ("F8_E4M3", [rows_of, columns_of], stored),
                                        name + "_scale_inv": ("F32", [3, 2], struct.pack("<6f", *scales))})
    (at / "v3/config.json").write_text(json.dumps({"hidden_size": 200, "quantization_config": {"weight_block_size": [128, 128]}}))
    def number(b):
        exponent, fraction = b >> 3 & 15, b & 7
        value = fraction / 512 if exponent == 0 else (8 + fraction) / 8 * 2.0 ** (exponent - 7)
        return -value if b & 128 else value
    single = lambda x: struct.unpack("<f", struct.pack("<f", x))[0]
    products = [single(number(b) * single(scales[i // columns_of // 128 * 2 + i % columns_of // 128])) for i, b in enumerate(stored)]
    def narrow(x):
        bits = struct.unpack("<I", struct.pack("<f", x))[0]
        return (bits + 0x7fff + (bits >> 16 & 1)) >> 16
    wide = {"f32": struct.pack(f"<{len(products)}f", *products), "bf16": struct.pack(f"<{len(products)}H", *map(narrow, products))}
    for dtype, expected in wide.items():
        done = run(at / "v3", at / dtype, "--dtype", dtype, "--quiet", "--json", "--max-memory", "20K")
        hold(done.returncode == 0 and json.loads(done.stdout)["certificate"]["applied_scales"] == 1, f"scales to {dtype}: {done.stderr}")
        hold(read_all(at / dtype) == {name: (dtype.upper(), [rows_of, columns_of], expected)}, f"numbers as {dtype}")
        hold(json.loads((at / dtype / "config.json").read_text()) == {"hidden_size": 200}, "the configuration says nothing of scales")
    refused("a cut within a block", "within a block of 128 with one scale", at / "v3", at / "cut", "--to", "tp=2")
    write(at / "v3/model.safetensors", {name: ("F8_E4M3", [rows_of, columns_of], stored)})
    refused("no scales", "has no scales", at / "v3", at / "cut", "--dtype", "bf16")


def check_kills(at, rng):
    put_model(at / "whole", rng, 6, 512, 4096)
    command = ["--to", "tp=2,pp=2", "--to-map", "megatron", "--quiet", "--max-memory", "1M", "--threads", "2"]
    begin = time.monotonic()
    hold(run(at / "whole", at / "expected", *command).returncode == 0, "a run that nobody stops")
    seconds = time.monotonic() - begin
    expected = files(at / "expected")
    kills = 200 if "HYPERPARALLEL_EXHAUSTIVE" in os.environ else 8
    killed = resumed = 0
    while killed < kills:
        while True:
            child = subprocess.Popen([HP, "reshard", str(at / "whole"), str(at / "m"), *command], stdout=subprocess.DEVNULL,
                                     stderr=subprocess.PIPE, text=True)
            try:
                child.wait(timeout=rng.uniform(0, seconds))
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.wait()
            told = child.stderr.read()
            child.stderr.close()
            if child.returncode != -signal.SIGKILL:
                hold(child.returncode == 0, f"a run that goes on: {told}")
                break
            killed += 1
            if (at / "m").exists():
                break  # killed when all was done
            resumed += (at / ".m.reshard/journal").exists()
            if rng.random() < 0.3:
                done = run(at / "whole", at / "m", *command)
                hold(done.returncode == 0, f"a run that goes on: {done.stderr}")
                break
        hold((at / "m").exists() and files(at / "m") == expected, "the bytes of a run that nobody stopped")
        shutil.rmtree(at / "m", ignore_errors=True)
        shutil.rmtree(at / ".m.reshard", ignore_errors=True)
        if FAILED:
            return
    print(f"{killed} kills, {resumed} with a journal to go on from")


def check_refusals(at, rng):
    tensors = put_model(at / "whole", rng, 2, 32, 100)
    (at / "there").mkdir()
    refused("a target that is there", "nothing is overwritten", at / "whole", at / "there")
    refused("no parent", "No such file", at / "whole", at / "none/set")
    refused("no source", "No such file", at / "none", at / "set")
    refused("a layout that divides nothing", "do not divide", at / "whole", at / "set", "--to", "tp=7")
    refused("a layout that is none", "is no axis", at / "whole", at / "set", "--to", "tp=two")
    refused("a map that is none", "there is no such map", at / "whole", at / "set", "--to-map", "other")
    refused("a type that is none", "is no type", at / "whole", at / "set", "--dtype", "int4")
    refused("a size that is none", "is no size", at / "whole", at / "set", "--sizes", "heads")
    refused("a cap that is none", "--max-memory", at / "whole", at / "set", "--max-memory", "much")
    refused("a full disk", "File too large", at / "whole", at / "set", "--quiet", limit=20000)
    hold(not (at / "set").exists(), "no target after a full disk")
    shutil.rmtree(at / ".set.reshard", ignore_errors=True)
    (at / "closed").mkdir()
    for folder in (at, at / "whole", at / "closed"):
        folder.chmod(0o555 if folder.name == "closed" else 0o755)
    refused("a folder that cannot be written", "Permission denied", at / "whole", at / "closed/set", ordinary=True)
    hold(not list((at / "closed").iterdir()), "nothing in a folder that cannot be written")
    os.makedirs(at / ".two.reshard")
    lock = os.open(at / ".two.reshard", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    refused("two at a time", "another process writes it", at / "whole", at / "two", "--quiet")
    os.close(lock)
    shutil.copytree(at / "whole", at / "lost")
    tensors["model.rotary.inv_freq"] = ("F32", [1], b"1234")
    write(at / "lost/model.safetensors", tensors)
    refused("a tensor that would be lost", "'model.rotary.inv_freq' is not carried over", at / "lost", at / "set", "--to-map", "megatron")
    (at / "p").mkdir()
    (at / "p/pytorch_model.bin").write_bytes(b"x")
    refused("a pickle", "a pickle, which is not read", at / "p", at / "set")
    held = run(at / "whole", at / "set", "--quiet")
    hold(held.returncode == 0, held.stderr)


def main():
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    seed = int(os.environ.get("HYPERPARALLEL_SEED", "1"))
    for check in (check_format, check_scales, check_kills, check_refusals):
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            check(Path(folder), random.Random(seed))
    print(f"{len(FAILED)} failed")
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
