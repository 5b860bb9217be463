# SPDX-License-Identifier: Apache-2.0
"""The viewer without a browser: what it answers, and what it refuses."""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import math
import re
import sys
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pets import pet, png, write_pets
from verbs import gzipped, write, write_examples
from waiting import DEADLINE

import fastrec
from fastrec import cli
from fastrec.viewer.cells import media_of
from fastrec.viewer.model import Model
from fastrec.viewer.page import single_html
from fastrec.viewer.server import Server
from fastrec.viewer.tokens import load_tokens

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028'\"&\u202e\x1b[31m"


@pytest.fixture
def pets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_pets(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def server(pets: Path) -> Iterator[Server]:
    with Server(Model(["pets.tfrecord"])) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(
    server: Server, path: str, token: str | None = None, **headers: str
) -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(server.host, timeout=DEADLINE)
    token = server.token if token is None else token
    connection.request("GET", f"/{token}/{path}", headers={"Host": server.host, **headers})
    answer = connection.getresponse()
    data = answer.read()
    connection.close()
    return answer, data


def test_it_listens_on_this_machine_only(server: Server) -> None:
    assert server.server_address[0] == "127.0.0.1"
    assert len(server.token) >= 32
    assert server.url == f"http://127.0.0.1:{server.server_address[1]}/{server.token}/"


def test_nobody_without_the_token_or_from_another_site_gets_anything(server: Server) -> None:
    wrong = server.token[:-1] + ("a" if server.token[-1] != "a" else "b")
    for token in ("", "x", wrong, server.token + "x", "../" + server.token):
        for path in ("", "api/summary", "media?number=0&name=image&i=0", "view.js"):
            assert ask(server, path, token)[0].status == 403
    for host in ("evil.example", f"localhost:{server.server_address[1]}", ""):
        assert ask(server, "", Host=host)[0].status == 403
    assert ask(server, "")[0].status == 200


def test_every_answer_forbids_what_the_page_does_not_need(server: Server) -> None:
    for path in ("", "view.js", "view.css", "api/summary", "nothing"):
        answer, _ = ask(server, path)
        policy = answer.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_the_page_asks_nobody_else(server: Server) -> None:
    for path in ("", "view.js", "view.css"):
        text = ask(server, path)[1].decode()
        text = text.replace("http://www.w3.org/2000/svg", "")  # a name, not a place
        assert not re.search(r"https?:|//\w+\.\w+|innerHTML|eval|document\.write", text)


def test_pages_and_records_are_those_of_the_file(server: Server) -> None:
    found = json.loads(ask(server, "api/page?begin=50&count=24")[1])
    assert [row["record"] for row in found["records"]] == list(range(50, 60))
    cells = found["records"][3]["cells"]
    assert cells["name"] == {"t": "text", "n": len(pet(53)["name"]), "v": pet(53)["name"]}
    assert (cells["image"]["kind"], cells["image"]["w"], cells["image"]["h"]) == ("PNG", 40, 24)
    assert len(cells["embedding"]["plot"]["v"]) == 16
    full = json.loads(ask(server, "api/record?number=53")[1])
    assert [float(each) for each in full["cells"]["embedding"]["v"]] == pet(53)["embedding"]
    answer, data = ask(server, "media?number=53&name=image&i=0")
    assert (answer.headers["Content-Type"], data) == ("image/png", pet(53)["image"])


@pytest.mark.parametrize(
    "path",
    [
        "api/page", "api/page?begin=x&count=1", "api/record?number=60", "api/record?number=-1",
        "media?number=0&name=name&i=0", "media?number=0&name=image&i=9",
        "media?number=0&name=x&i=0",
        "media?number=99999999999999999999&name=image&i=0",
        "api/search?where=label%20=%203&begin=0&count=1",
        "../../etc/passwd", "view.py",
    ],
)  # fmt: skip
def test_what_is_not_there_is_an_error_and_no_more(server: Server, path: str) -> None:
    assert ask(server, path)[0].status in (400, 403, 404)
    assert ask(server, "api/summary")[0].status == 200


def test_a_search_goes_on_where_it_ended(pets: Path) -> None:
    model = Model(["pets.tfrecord"])
    found: list[int] = []
    begin, end = 0, False
    while not end:
        answer = model.search("label == 1", begin, 4)
        found += [row["number"] for row in answer["records"]]
        begin, end = answer["next"], answer["end"]
    assert found == [number for number in range(60) if number * 7 % 3 == 1]


def test_a_search_for_an_unknown_feature_names_the_known_ones(server: Server) -> None:
    answer, data = ask(server, "api/search?where=lable%20%3D%3D%201&begin=0&count=5")
    assert answer.status == 400
    assert json.loads(data)["error"].startswith("no record has a feature 'lable'; the features are")
    answer, data = ask(server, "api/page?begin=0&count=5&order=sort&by=lable")
    assert (answer.status, "'lable'" in json.loads(data)["error"]) == (400, True)
    answer, data = ask(server, "api/page?begin=0&count=5&order=up")
    assert (answer.status, "must be file" in json.loads(data)["error"]) == (400, True)


def test_records_are_shown_in_random_and_sorted_order(pets: Path) -> None:
    model = Model(["pets.tfrecord"])

    def numbers(**options: Any) -> list[int]:
        found = model.page(0, 100, **options)
        assert found["total"] == 60
        return [row["number"] for row in found["records"]]

    assert numbers() == [*range(60)]
    shuffled = numbers(order="random", seed=1)
    assert sorted(shuffled) == [*range(60)] != shuffled
    assert shuffled == numbers(order="random", seed=1) != numbers(order="random", seed=2)
    assert numbers(order="sort", by="id", descending=True) == [*range(59, -1, -1)]
    names = [pet(number)["name"] for number in numbers(order="sort", by="name")]
    assert names == sorted(names)
    tags = [number for number in numbers(order="sort", by="tags") if "tags" not in pet(number)]
    assert numbers(order="sort", by="tags")[-len(tags) :] == tags  # records without a value


@pytest.mark.parametrize(
    "content",
    [
        "a\nb\n\u2581c\n",
        json.dumps({"model": {"vocab": {"a": 0, "b": 1, "\u2581c": 2}}}),
        json.dumps({"model": {"vocab": [["a", 0.0], ["b", -1.0], ["\u2581c", -2.0]]}}),
        json.dumps({"a": 0, "b": 1, "\u0120c": 2}),
    ],
)
def test_tokens_are_decoded_with_a_tokenizer_file(tmp_path: Path, content: str) -> None:
    (tmp_path / "tokenizer").write_text(content, encoding="utf-8")
    tokens = load_tokens(str(tmp_path / "tokenizer"))
    rows = [{"tokens": [0, 1, 2, 0] * 100, "label": 1, "large": [0, 99], "x": [0.5, 1.5]}]
    model = Model([str(write_examples(tmp_path / "a.tfrecord", rows))], tokens)
    [row] = model.page(0, 1)["records"]
    assert row["cells"]["tokens"]["text"].startswith("ab caab ca")
    assert len(row["cells"]["tokens"]["text"]) == 400
    assert len(model.record(0)["cells"]["tokens"]["text"]) == 500
    assert "pixels" not in row["cells"]["tokens"]  # 400 ids are not an image
    assert all("text" not in row["cells"][name] for name in ("label", "large", "x"))


@pytest.mark.parametrize("content", ["{", "{}", '{"model": 3}', '{"a": "b"}', '{"a": -1}',
                                     '{"a": 99999999999}'])  # fmt: skip
def test_a_file_that_is_not_a_tokenizer_is_named(
    pets: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (pets / "t.json").write_text(content)
    words = ["view", "--tokenizer", "t.json", "--html", "a.html", "pets.tfrecord"]
    assert cli.main(words) == 2
    assert "'t.json'" in capsys.readouterr().err
    assert not (pets / "a.html").exists()


def test_the_summary_has_each_feature(pets: Path) -> None:
    found = Model(["pets.tfrecord"]).summary()
    assert (found["records"], found["looked_at"], found["damage"]) == (60, 60, [])
    features = {each["name"]: each for each in found["features"]}
    assert features["label"]["top"] == ["0: 33.3 %", "1: 33.3 %", "2: 33.3 %"]
    assert features["image"]["formats"] == {"PNG": 60}
    assert len(features["weight"]["histogram"]) + 1 == len(features["weight"]["edges"])


def test_damage_is_shown_where_it_is(pets: Path) -> None:
    data = bytearray((pets / "pets.tfrecord").read_bytes())
    offset = int(fastrec.Index.build("pets.tfrecord").offsets[5])
    data[offset + 99] ^= 1
    (pets / "one.tfrecord").write_bytes(data)
    model = Model(["one.tfrecord"])
    rows = model.page(0, 10)["records"]
    assert [("error" in row) for row in rows] == [False] * 5 + [True] + [False] * 4
    assert "data checksum mismatch" in rows[5]["error"]
    [damage] = model.summary()["damage"]
    assert (damage["record"], damage["offset"]) == (5, offset)
    model = Model(["damaged.tfrecord", "pets.tfrecord"])
    assert [each["record"] for each in model.summary()["damage"]] == [7, 40]
    assert model.source.count == 99


def test_compressed_files_and_streams_are_held_in_memory(
    pets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (pets / "a.tfrecord.gz").write_bytes(gzipped((pets / "pets.tfrecord").read_bytes()))
    rows = Model(["pets.tfrecord", "a.tfrecord.gz"]).page(58, 4)["records"]
    assert [(row["path"], row["record"]) for row in rows] == [
        ("pets.tfrecord", 58), ("pets.tfrecord", 59), ("a.tfrecord.gz", 0), ("a.tfrecord.gz", 1),
    ]  # fmt: skip
    monkeypatch.setattr("fastrec.viewer.source.MOST_IN_MEMORY", 1000)
    monkeypatch.setattr("fastrec.viewer.source._BLOCK", 8)
    model = Model(["a.tfrecord.gz"])
    assert model.source.count == 8
    assert "only the first 8 records" in model.summary()["note"]


def test_arrays_become_pixels(tmp_path: Path) -> None:
    rows = [
        {"raw": np.full((4, 6, 3), 9, np.uint8).tobytes(), "height": 4, "width": 6, "channels": 3,
         "grey": np.arange(64, dtype=np.float32),
         "odd": np.array([np.nan, np.inf] * 50, np.float32)}
    ]  # fmt: skip
    [row] = Model([str(write_examples(tmp_path / "a.tfrecord", rows))]).page(0, 1)["records"]
    pixels = row["cells"]["raw"]["pixels"]
    assert (pixels["w"], pixels["h"], pixels["c"]) == (6, 4, 3)
    assert base64.b64decode(pixels["v"]) == bytes([9]) * 72
    assert (row["cells"]["grey"]["pixels"]["w"], row["cells"]["grey"]["pixels"]["c"]) == (8, 1)
    json.dumps(row, allow_nan=False)


def test_only_features_of_steps_are_shown_by_step(tmp_path: Path) -> None:
    rows = [{
        "steps/is_first": [1] + [0] * 19,
        "steps/action": np.arange(160, dtype=np.float32),
        "steps/text": [b"go"] * 20,
        "calibration/matrix": np.arange(160, dtype=np.float32),
    }]  # fmt: skip
    [row] = Model([str(write_examples(tmp_path / "a.tfrecord", rows))]).page(0, 1)["records"]
    shown = {name: (cell["t"], cell["n"]) for name, cell in row["cells"].items()}
    assert (shown["steps/action"], shown["calibration/matrix"]) == (
        ("frames", 20),
        ("numbers", 160),
    )
    text = row["cells"]["steps/text"]
    assert (text["repeated"], [each["v"] for each in text["v"]]) == (True, ["go"])


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"RIFF\0\0\0\0WAVEfmt ", "WAV"), (b"fLaC\0", "FLAC"), (b"OggS", "Ogg"), (b"ID3\3", "MP3"),
        (b"\0\0\0\x20ftypisom", "MP4"), (b"\0\0\0\x20ftypheic", None),
        (b"\0\0\0\x20ftypM4A ", "M4A"), (b"\0\0\0\x20ftypdash", "MP4"),
        (b"\xff\xfb\x90\x00" + bytes(413) + b"\xff\xfb", "MP3"), (b"\x1aE\xdf\xa3", "WebM"),
        (png(2, 2, 0), "PNG"), (b"<svg onload=alert(1)>", None), (b"<html>", None), (b"", None),
        (b"BMx", None), (b"RIFF\0\0\0\0WEBPVP8X" + bytes(14), "WebP"),
    ],
)  # fmt: skip
def test_only_what_a_browser_cannot_run_is_media(head: bytes, kind: str | None) -> None:
    assert media_of(head) == kind


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def elements(html: str) -> list[str]:
    parser = _Elements()
    parser.feed(html)
    return parser.found


def test_a_hostile_file_puts_nothing_into_the_page(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {HOSTILE: [1, 2], "x": HOSTILE, "list": [HOSTILE] * 3},
        {"x": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"},
        {"x": b"\x89PNG\r\n\x1a\n" + HOSTILE.encode()},
    ]
    path = write_examples(tmp_path / "<script>alert(3)<.tfrecord", rows)
    model = Model([str(path)])
    data = {"summary": model.summary(), **model.page(0, 10, inline=True)}
    html = single_html(data)
    plain = single_html({"summary": {}, "records": []})
    assert elements(html) == elements(plain)
    assert "alert(1)</script>" not in html
    embedded = re.search(r'id="data">(.*?)</script>', html)
    assert embedded is not None
    assert json.loads(embedded[1]) == json.loads(json.dumps(data))


def test_the_single_page_allows_its_own_script_and_style_only(pets: Path) -> None:
    assert cli.main(["view", "pets.tfrecord", "--html", "page.html", "-n", "7"]) == 0
    html = (pets / "page.html").read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', html)
    assert policy is not None
    assert "unsafe" not in policy[1]
    for kind in ("script", "style"):
        [text] = re.findall(rf"<{kind}>(.*?)</{kind}>", html, re.DOTALL)
        found = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{found}'" in policy[1]
    assert html.count("data:image/png;base64,") == 7


def test_records_of_no_kind_are_shown_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a.tfrecord", [b"words, only words", b"\x09\xff\xfe\xfd"])
    rows = Model([str(path)]).page(0, 2)["records"]
    assert rows[0]["raw"]["v"] == "words, only words"
    assert rows[1]["raw"] == {"t": "bytes", "n": 4, "v": "09 ff fe fd"}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(("name", "status"), [("SIGINT", 0), ("SIGTERM", 143)])
def test_ctrl_c_ends_the_command_well_and_sigterm_with_its_status(
    pets: Path, name: str, status: int
) -> None:
    import signal
    import subprocess

    command = [sys.executable, "-m", "fastrec", "view", "pets.tfrecord", "--no-browser"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert re.match(r"http://127\.0\.0\.1:\d+/[\w-]{32}/\n", process.stdout.readline())
        process.send_signal(getattr(signal, name))
        assert process.wait(timeout=100) == status


def test_images_in_feature_lists_are_shown_and_unusual_numbers_are_counted(tmp_path: Path) -> None:
    images = [png(4, 3, 3), png(5, 3, 3)]
    path = tmp_path / "s.tfrecord"
    with fastrec.Writer(path) as writer:
        lists: dict[str, Any] = {"image": [[image] for image in images], "x": [[1.5], [math.nan]]}
        writer.write(fastrec.encode_sequence_example({"loss": [math.inf, 2.0]}, lists))
    model = Model([str(path)])
    found = model.record(0)["cells"]
    shown = [(each["t"], each["w"]) for each in found["image"]["v"]]
    assert shown == [("image", 4), ("image", 5)]
    assert [model.media(0, "image", number) for number in range(2)] == images
    with pytest.raises(LookupError):
        model.media(0, "image", 2)
    assert found["x"]["t"] == "frames"
    features = {each["name"]: each["unusual"] for each in model.summary()["features"]}
    assert (features["loss"], features["x"], features["image"]) == ("1 inf", "1 NaN", "")
