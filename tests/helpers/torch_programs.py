# SPDX-License-Identifier: Apache-2.0
"""Functions of worker processes and ranks in the tests of fastrec.torch, imported by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def tuple_of(sample: dict[str, Any]) -> Any:
    sample["x"] = sample["x"] * 2
    return sample["x"], int(sample["id"])


def fail_on_seven(sample: dict[str, Any]) -> Any:
    return 1 / (int(sample["id"]) - 7)


def run_rank(rank: int, ranks: int, store: str, files: str, features: Any, out: str) -> None:
    """One rank of `ranks`: the records that it sees, by number of workers and epoch."""
    import torch.distributed
    from torch.utils.data import DataLoader

    import fastrec.torch

    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{store}", rank=rank, world_size=ranks
    )
    seen: dict[str, list[list[int]]] = {}
    cases = [(workers, "fork") for workers in range(5)]
    if ranks == 2:
        cases.append((1, "spawn"))
    for workers, method in cases:
        dataset = fastrec.torch.IterableDataset(files, features, 4, shuffle=True, seed=3)
        loader = DataLoader(
            dataset,
            batch_size=None,
            num_workers=workers,
            multiprocessing_context=method if workers else None,
        )
        seen[f"{workers} {method}"] = [
            [int(i) for batch in loader for i in batch["id"]] for _ in range(2)
        ]
    torch.distributed.destroy_process_group()
    Path(out, f"{rank}.json").write_text(json.dumps(seen))


def accelerate_rank(rank: int, ranks: int, port: int, files: str, features: Any, out: str) -> None:
    """One rank of `ranks` with accelerate: what prepare() makes of either dataset."""
    import os

    environment = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": ranks}
    os.environ.update({name: str(value) for name, value in environment.items()})
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), ACCELERATE_USE_CPU="true")
    from accelerate import Accelerator
    from accelerate.utils import DataLoaderConfiguration
    from torch.utils.data import DataLoader

    import fastrec.torch

    accelerator = Accelerator(cpu=True)
    dataset = fastrec.torch.Dataset(files, features)
    loader = accelerator.prepare(DataLoader(dataset, 4, shuffle=True))
    own = fastrec.torch.IterableDataset(files, features, 4, shuffle=True, seed=3)
    refused = []
    for dispatch in (False, True):
        accelerator.dataloader_config = DataLoaderConfiguration(dispatch_batches=dispatch)
        try:
            list(accelerator.prepare(DataLoader(own, batch_size=None)))
        except fastrec.FastrecError as error:
            refused.append(str(error))
    batches = fastrec.torch.prefetch_to(own, accelerator.device)
    seen = {
        "prepared": [int(i) for batch in loader for i in batch["id"]],
        "own": [int(i) for batch in batches for i in batch["id"]],
        "refused": refused,
    }
    Path(out, f"{rank}.json").write_text(json.dumps(seen))
    accelerator.end_training()
    torch_destroy()


def torch_destroy() -> None:
    import torch.distributed

    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
