# SPDX-License-Identifier: Apache-2.0
"""The examples of native programs do what they say."""

from __future__ import annotations

import importlib.util
import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_table_in_numpy(tmp_path: Path) -> None:
    assert load("tabular_numpy").main(tmp_path) > 0.97


def test_images_in_pytorch(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    assert load("image_classifier_torch").main(tmp_path, count=1000, epochs=2) > 0.9


def test_packed_tokens_in_pytorch_have_the_same_losses_on_any_processes(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    program = subprocess.run(
        [sys.executable, str(EXAMPLES / "packed_tokens_torch.py")],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    lines = [line.split()[-12:] for line in program.stdout.splitlines()]
    alone, *others = [[float(loss) for loss in losses] for losses in lines]
    assert alone[-1] < 0.8 * alone[0]
    assert len(others) == 2
    for losses in others:
        assert losses == pytest.approx(alone, abs=0.002)


def test_ranks_of_ddp_train_together(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed")
    program = subprocess.run(
        [sys.executable, str(EXAMPLES / "ddp_torch.py")],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    lines = [line.split() for line in program.stdout.splitlines()]
    losses = [float(words[3].rstrip(",")) for words in lines]
    assert losses[-1] < 0.5 * losses[0]
    assert {int(words[4]) for words in lines} == {62}  # 31 batches for each rank


def test_tokens_in_jax(tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="jax is not installed")
    losses = load("token_model_jax").main(tmp_path, count=2000)
    assert losses[-1] < 0.5 < losses[0]


PROCESS = """
import json, sys
import jax
rank, port, files, example = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
jax.config.update("jax_cpu_collectives_implementation", "gloo")
jax.distributed.initialize(f"127.0.0.1:{port}", 2, rank)
sys.path.insert(0, example)
import token_model_jax
print(json.dumps(token_model_jax.train(files, batch_size=32, epochs=1)))
"""


def test_tokens_in_two_processes_of_jax(tmp_path: Path) -> None:
    pytest.importorskip("jax", reason="jax is not installed")
    files = tmp_path / "tokens.tfrecord"
    load("token_model_jax").write(files, 1001)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-c", PROCESS]
    running = [
        subprocess.Popen(
            [*command, str(rank), port, str(files), str(EXAMPLES)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    results = [process.communicate(timeout=240) for process in running]
    assert [process.returncode for process in running] == [0, 0], results
    losses = [json.loads(out.splitlines()[-1]) for out, _ in results]
    assert losses[0] == losses[1]  # one program over both
    assert len(losses[0]) == 1000 // 2 // 32
