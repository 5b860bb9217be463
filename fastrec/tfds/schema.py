# SPDX-License-Identifier: Apache-2.0
"""Convert ``features.json`` to feature connectors and back."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ..records.targets import read_file
from ..storage.options import StorageOptions
from . import features as connectors
from .documents import Document, MetadataError, read_document
from .values import Connector, Shape, name_of

__all__ = ["features_to_json", "load_features"]

_MAX_LABEL_BYTES = 1 << 26  # bytes of a file of label names
_MAX_DIMENSIONS = 32  # dimensions of a tensor
# Connectors of the legacy form, by the last part of the class's name.
_LEGACY = {
    "FeaturesDict": "featuresDict",
    "Translation": "translation",
    "TranslationVariableLanguages": "translation",
    "Tensor": "tensor",
    "Scalar": "tensor",
    "ClassLabel": "classLabel",
    "Image": "image",
    "LabeledImage": "image",
    "Video": "video",
    "Audio": "audio",
    "BBoxFeature": "boundingBox",
    "Text": "text",
    "Sequence": "sequence",
    "Dataset": "sequence",
}


def load_features(directory: str, storage: StorageOptions) -> connectors.FeaturesDict | None:
    """Load the connectors of a prepared dataset, with the names of its labels.

    Returns
    -------
    FeaturesDict or None
        None if there is no ``features.json``, as before TFDS 4.

    Raises
    ------
    MetadataError
        If the file is invalid. The message names the file and the entry.
    """
    path = os.path.join(directory, "features.json")
    try:
        document = read_document(path, storage)
    except FileNotFoundError:
        return None
    found = _connector(document)
    if not isinstance(found, (connectors.FeaturesDict, connectors.Sequence)):
        raise document.error("must describe a FeaturesDict")
    if isinstance(found, connectors.Sequence):
        found = _as_dict(document, found)
    for name, labels in found.named():
        _load_names(os.path.join(directory, f"{name}.labels.txt"), labels, storage)
    return found


def _as_dict(document: Document, sequence: connectors.Sequence) -> connectors.FeaturesDict:
    """Convert a top-level sequence of a dictionary to a dictionary of sequences."""
    inner = sequence.feature
    if not isinstance(inner, connectors.FeaturesDict):
        raise document.error("must describe a FeaturesDict")
    kind = connectors.Sequence
    return connectors.FeaturesDict(
        {name: kind(each, sequence.length) for name, each in inner.items()}
    )


def _load_names(path: str, labels: Any, storage: StorageOptions) -> None:
    try:
        data = read_file(path, storage, limit=_MAX_LABEL_BYTES + 1)
    except FileNotFoundError:
        return
    whole = Document(None, path)
    if len(data) > _MAX_LABEL_BYTES:
        raise whole.error(f"must be at most {_MAX_LABEL_BYTES} bytes")
    try:
        lines = data.decode("utf-8").split("\n")
        labels.set_names([line.strip() for line in lines if line.strip()])
    except ValueError as error:
        raise whole.error(str(error)) from None


def _connector(document: Document) -> Connector:
    if document.get("type") is not None:
        return _legacy(document)
    name = document.text("pythonClassName").rpartition(".")[2]
    for key, make in _MAKERS.items():
        body = document.get(key)
        if body is not None:
            return _made(document, lambda body=body, make=make: make(name, body))
    custom = document.get("jsonFeature")
    if custom is not None:
        content = custom.get("json")
        if content is not None and name in _LEGACY:
            body = content.nested()
            make = _MAKERS[_LEGACY[name]]
            return _made(document, lambda: make(name, body))
    raise document.error(
        f"{document.text('pythonClassName')!a} is a connector that fastrec does not know; "
        "leave it out with features=[...], or read its records with fastrec.Reader"
    )


def _legacy(document: Document) -> Connector:
    """Convert the form of TFDS 4.0 to 4.4, with the entries type, content and proto_cls."""
    name = document.text("type").rpartition(".")[2]
    content = document.get("content")
    if name not in _LEGACY or content is None:
        raise document.error(f"{document.text('type')!a} is a connector that fastrec does not know")
    if isinstance(content.value, str):
        content = content.nested()
    if name == "FeaturesDict" and content.get("features") is None:
        inner = {key: _connector(each) for key, each in content.items()}
        return _made(document, lambda: connectors.FeaturesDict(inner))
    return _made(document, lambda: _MAKERS[_LEGACY[name]](name, content))


def _made(document: Document, make: Any) -> Connector:
    """Call `make`, and convert its errors to errors that name the entry of the document."""
    try:
        found: Connector = make()
    except MetadataError:
        raise
    except (ValueError, TypeError, OverflowError) as error:
        raise document.error(str(error)) from None
    found.description = _description(document)
    return found


def _description(document: Document) -> str:
    found = document.get("description")
    return found.value if found is not None and isinstance(found.value, str) else ""


def _shape(body: Document, key: str = "shape") -> Shape | None:
    found = body.get(key)
    if found is None:
        return None
    is_legacy = not isinstance(found.value, dict)
    sizes = list(found.elements()) if is_legacy else found.list_of("dimensions")
    if len(sizes) > _MAX_DIMENSIONS:
        raise found.error(f"must have at most {_MAX_DIMENSIONS} dimensions")
    return tuple(_size(size) for size in sizes)


def _size(found: Document) -> int | None:
    if found.value is None:
        return None
    size = found.integer(-1)
    return None if size < 0 else size


def _dtype(body: Document, default: str) -> str:
    name = body.text("dtype", default) or default
    return name.removeprefix("tf.").removeprefix("np.")


def _features_dict(name: str, body: Document) -> Connector:
    features = body.get("features")
    if features is None:
        return connectors.FeaturesDict({})
    return connectors.FeaturesDict({key: _connector(each) for key, each in features.items()})


def _tensor(name: str, body: Document) -> Connector:
    dtype, optional = _dtype(body, "float32"), body.flag("optional")
    if name == "Text":
        return connectors.Text(optional=optional)
    shape, encoding = _shape(body) or (), body.text("encoding", "none").lower() or "none"
    if name == "Scalar" and encoding == "none" and not shape:
        return connectors.Scalar(dtype, optional=optional)
    return connectors.Tensor(shape, dtype, encoding, optional=optional)


def _class_label(name: str, body: Document) -> Connector:
    names = body.get("names")  # The legacy form stores names here.
    count = body.integer_of("numClasses", 0, -1, 2**31)
    found = connectors.ClassLabel(None if count <= 0 and names is None else max(count, 0) or None)
    if names is not None:
        found.set_names([each.value for each in names.elements()])
    return found


def _image(name: str, body: Document) -> Connector:
    shape, dtype = _shape(body), _dtype(body, "uint8")
    encoding = body.text("encodingFormat").lower()
    if name != "LabeledImage":
        default = (None, None, 3)
        return connectors.Image(shape or default, dtype, encoding, body.flag("useColormap"))
    label = body.get("label")
    count = 0 if label is None else label.integer_of("numClasses", 0, -1, 2**31)
    return connectors.LabeledImage(count or None, shape or (None, None, 1), dtype, encoding)


def _video(name: str, body: Document) -> Connector:
    shape = _shape(body) or (None, None, None, 3)
    if len(shape) != 4:
        raise body.error(f"a video must have 4 dimensions, got {shape}")
    return connectors.Video(shape, _dtype(body, "uint8"), body.text("encodingFormat").lower())


def _audio(name: str, body: Document) -> Connector:
    return connectors.Audio(
        _shape(body) or (None,),
        _dtype(body, "int64"),
        file_format=body.text("fileFormat"),
        sample_rate=body.integer_of("sampleRate", 0, 0),
        encoding=body.text("encoding", "none").lower() or "none",
        lazy_decode=body.flag("lazyDecode"),
    )


def _bounding_box(name: str, body: Document) -> Connector:
    return connectors.BBox(body.text("bboxFormat"))


def _text(name: str, body: Document) -> Connector:
    if body.flag("useEncoder"):
        return connectors.Tensor((None,), np.int64)
    return connectors.Text(optional=body.flag("optional"))


def _translation(name: str, body: Document) -> Connector:
    languages = [each.value for each in body.list_of("languages")]
    if not all(isinstance(language, str) for language in languages):
        raise body.error("languages must be strings")
    if name == "TranslationVariableLanguages" or body.flag("variableLanguagesPerExample"):
        return connectors.TranslationVariableLanguages(languages)
    return connectors.Translation(languages)


def _sequence(name: str, body: Document) -> Connector:
    inner = body.get("feature")
    if inner is None:
        raise body.error("a sequence must have a feature")
    length = _size(body.get("length") or Document(-1, body.path))
    kind = connectors.Dataset if name == "Dataset" else connectors.Sequence
    return kind(_connector(inner), length)


_MAKERS = {
    "featuresDict": _features_dict,
    "tensor": _tensor,
    "classLabel": _class_label,
    "image": _image,
    "video": _video,
    "audio": _audio,
    "boundingBox": _bounding_box,
    "text": _text,
    "translation": _translation,
    "sequence": _sequence,
}


# --- writing ----------------------------------------------------------------------------------


def features_to_json(connector: Connector) -> dict[str, Any]:
    """Describe a connector as ``features.json`` does."""
    key, body = _body(connector)
    said = {"pythonClassName": connector.class_name, key: body}
    return {**said, "description": connector.description} if connector.description else said


def _dimensions(shape: Shape) -> dict[str, Any]:
    return {"dimensions": ["-1" if size is None else str(size) for size in shape]}


def _body(found: Any) -> tuple[str, dict[str, Any]]:
    match found:
        case connectors.Translation():
            return "translation", {"languages": list(found.features)}
        case connectors.TranslationVariableLanguages():
            said = {"languages": found.languages, "variableLanguagesPerExample": True}
            return "translation", said
        case connectors.FeaturesDict():
            inner = {name: features_to_json(each) for name, each in found.items()}
            return "featuresDict", {"features": inner}
        case connectors.Video():
            return "video", _image_body(found.frame, (found.length, *found.frame.shape))
        case connectors.Sequence():
            length = -1 if found.length is None else found.length
            return "sequence", {"feature": features_to_json(found.feature), "length": str(length)}
        case connectors.LabeledImage():
            label = {"label": {"numClasses": str(found.num_classes or 0)}}
            return "image", {**_image_body(found, found.shape), **label}
        case connectors.Image():
            return "image", _image_body(found, found.shape)
        case connectors.ClassLabel():
            return "classLabel", {"numClasses": str(found.num_classes or 0)}
        case connectors.Audio():
            return "audio", _audio_body(found)
        case connectors.BBox():
            said = {"shape": _dimensions(found.shape), "dtype": "float32"}
            return "boundingBox", {**said, "bboxFormat": found.bbox_format or ""}
        case connectors.Text() if not found.optional:
            return "text", {}
    said = {"shape": _dimensions(found.shape), "dtype": name_of(found.dtype)}
    return "tensor", {**said, "encoding": found.encoding, "optional": found.optional}


def _image_body(image: connectors.Image, shape: Shape) -> dict[str, Any]:
    body: dict[str, Any] = {"shape": _dimensions(shape), "dtype": image.dtype.name}
    if image.encoding_format:
        body["encodingFormat"] = image.encoding_format
    if image.use_colormap:
        body["useColormap"] = True
    return body


def _audio_body(audio: connectors.Audio) -> dict[str, Any]:
    return {
        "shape": _dimensions(audio.shape),
        "dtype": audio.dtype.name,
        "fileFormat": audio.file_format,
        "sampleRate": str(audio.sample_rate),
        "encoding": audio.encoding,
        "lazyDecode": audio.lazy_decode,
    }
