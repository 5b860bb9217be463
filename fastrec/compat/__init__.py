# SPDX-License-Identifier: Apache-2.0
"""Programs written for other libraries, with one line changed.

``import fastrec.compat.v1 as tf`` is for graphs, sessions and queue runners,
``import fastrec.compat.v2 as tf`` for ``tf.data`` and ``tf.io``, and ``fastrec.compat.tfrecord``
for the ``tfrecord`` package. Nothing else in fastrec imports any of them.
"""

from __future__ import annotations
