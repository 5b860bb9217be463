# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch as values and as columns, where PyTorch is installed."""

from __future__ import annotations

from typing import Any

import pytest

from fastrec import encode_example, encode_examples

torch = pytest.importorskip("torch")


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(6).reshape(3, 2),
        lambda: torch.arange(3, dtype=torch.int32),
        lambda: torch.arange(12, dtype=torch.uint8).reshape(3, 4),
        lambda: torch.rand(3, 4),
        lambda: torch.rand(3, dtype=torch.float64),
        lambda: torch.rand(3).half(),
        lambda: torch.tensor([True, False, True]),
        lambda: torch.arange(12.0).reshape(4, 3).t(),
    ],
)
def test_a_tensor_is_what_its_array_is(make: Any) -> None:
    tensor = make()
    expected = encode_examples({"a": tensor.numpy()}).to_list()
    assert encode_examples({"a": tensor}).to_list() == expected
    assert [encode_example({"a": row}) for row in tensor] == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.rand(3).bfloat16(),
        lambda: torch.rand(3, requires_grad=True),
        lambda: torch.empty(3, device="meta"),
        lambda: torch.eye(3).to_sparse(),
        lambda: torch.zeros(3, dtype=torch.complex64),
    ],
)
def test_a_tensor_that_is_no_array_is_refused_by_name(make: Any) -> None:
    for encode in (encode_example, encode_examples):
        with pytest.raises(TypeError, match="feature 'a'"):
            encode({"a": make()})
