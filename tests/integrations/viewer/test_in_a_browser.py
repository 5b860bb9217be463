# SPDX-License-Identifier: Apache-2.0
"""The viewer in Chromium: it opens, pages, searches, shows images, and runs nothing of a record."""

from __future__ import annotations

import base64
import io
import os
import shutil
import threading
import time
import wave
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from object_server import Objects, ObjectServer
from pets import png, write_pets
from verbs import write_examples

import fastrec
from fastrec import cli
from fastrec.viewer.model import Model
from fastrec.viewer.server import Server

webdriver = pytest.importorskip("selenium.webdriver")
By = pytest.importorskip("selenium.webdriver.common.by").By
Keys = pytest.importorskip("selenium.webdriver.common.keys").Keys

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="no chromium and chromedriver here",
)
# With this in the environment the images of docs/viewer.md are made anew.
UPDATE = "FASTREC_UPDATE_PAGE"
DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    autoplay = "--autoplay-policy=no-user-gesture-required"  # tests play sounds without a click
    for each in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", autoplay):
        options.add_argument(each)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(DRIVER)
    with webdriver.Chrome(options=options, service=service) as driver:
        yield driver


@contextmanager
def opened(browser: Any, *files: str | Path, url: str | None = None) -> Iterator[Any]:
    with Server(Model([str(each) for each in files])) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            browser.get(server.url)
            until(lambda: text(browser, "where-am-i"))
            yield browser
            complaints = [each["message"] for each in browser.get_log("browser")]
            assert complaints == []
        finally:
            browser.get("about:blank")
            server.shutdown()
            thread.join()


def until(what: Callable[[], Any]) -> None:
    end = time.monotonic() + 20
    while not what():
        assert time.monotonic() < end
        time.sleep(0.02)


def text(browser: Any, name: str) -> str:
    return str(browser.find_element(By.ID, name).text)


def click(browser: Any, name: str) -> None:
    before = text(browser, "where-am-i")
    browser.find_element(By.ID, name).click()
    until(lambda: text(browser, "where-am-i") != before)


def search(browser: Any, condition: str) -> None:
    field = browser.find_element(By.ID, "where")
    field.clear()
    field.send_keys(condition)
    browser.find_element(By.CSS_SELECTOR, "#search button").click()


def places(browser: Any) -> list[str]:
    script = "return [...document.querySelectorAll('.card .place')].map((each) => each.textContent)"
    return list(browser.execute_script(script))  # in one step, while the page may change


def test_it_opens_pages_and_shows_images(browser: Any, tmp_path: Path) -> None:
    write_pets(tmp_path)
    with opened(browser, tmp_path / "pets.tfrecord"):
        assert "60 records" in text(browser, "about")
        assert len(browser.find_elements(By.CSS_SELECTOR, "#features tbody tr")) == 7
        assert len(browser.find_elements(By.CSS_SELECTOR, ".bars")) == 7
        assert text(browser, "where-am-i") == "1 to 24 of 60"
        image = browser.find_element(By.CSS_SELECTOR, ".card img")
        browser.execute_script("arguments[0].scrollIntoView()", image)
        until(lambda: image.get_property("naturalWidth") == 24)
        click(browser, "next")
        assert places(browser)[0].startswith("24: record 24 of ")
        click(browser, "last")
        assert text(browser, "where-am-i") == "49 to 60 of 60"
        assert not browser.find_element(By.ID, "next").is_enabled()
        click(browser, "first")
        browser.find_element(By.CSS_SELECTOR, ".card .place").click()
        until(lambda: browser.find_element(By.ID, "detail").get_attribute("open"))
        assert "0.984375" in text(browser, "detail")


def test_it_searches(browser: Any, tmp_path: Path) -> None:
    write_pets(tmp_path)
    with opened(browser, tmp_path / "pets.tfrecord"):
        search(browser, "name == 'Luna' and label == 2")
        until(lambda: text(browser, "where-am-i") == "1 to 2 of 2 found")
        search(browser, "weight >")
        until(lambda: "expected" in text(browser, "message"))
        browser.get_log("browser")  # the refusal above
        browser.find_element(By.ID, "clear").click()
        until(lambda: text(browser, "where-am-i") == "1 to 24 of 60")
        assert text(browser, "message") == ""


def test_a_gallery_shows_many_images_in_a_row(browser: Any, tmp_path: Path) -> None:
    write_pets(tmp_path)
    browser.set_window_size(1200, 900)
    with opened(browser, tmp_path / "pets.tfrecord"):
        assert browser.find_element(By.ID, "where").get_attribute("placeholder") == "id == 0"
        browser.find_element(By.ID, "gallery").click()
        tiles = browser.find_elements(By.CSS_SELECTOR, ".tile")
        assert len(tiles) == 24
        first_row = [each for each in tiles if each.location["y"] == tiles[0].location["y"]]
        assert len(first_row) >= 6
        assert tiles[0].text == "id 0, label 0, Ada"
        script = "arguments[0].value = 320; arguments[0].dispatchEvent(new Event('input'))"
        browser.execute_script(script, browser.find_element(By.ID, "size"))
        until(lambda: tiles[0].size["width"] >= 320)
        browser.set_window_size(400, 800)
        until(lambda: browser.execute_script("return document.body.scrollWidth") <= 400)
        browser.set_window_size(1200, 900)


def test_records_are_sorted_shuffled_and_browsed_by_keyboard(browser: Any, tmp_path: Path) -> None:
    write_pets(tmp_path)
    with opened(browser, tmp_path / "pets.tfrecord"):
        body = browser.find_element(By.TAG_NAME, "body")
        chosen = browser.find_element(By.ID, "order")
        options = {each.text: each for each in chosen.find_elements(By.TAG_NAME, "option")}
        before = places(browser)
        options["id \u2193"].click()
        until(lambda: places(browser) and places(browser)[0].startswith("59: "))
        options["file"].click()
        until(lambda: places(browser) == before)
        body.send_keys("r")
        until(lambda: places(browser) and places(browser) != before)
        assert text(browser, "where-am-i") == "1 to 24 of 60"
        options["file"].click()
        until(lambda: places(browser) == before)
        body.send_keys(Keys.ARROW_RIGHT)
        until(lambda: text(browser, "where-am-i") == "25 to 48 of 60")
        body.send_keys(Keys.HOME)
        until(lambda: text(browser, "where-am-i") == "1 to 24 of 60")
        browser.find_element(By.CSS_SELECTOR, ".card .place").click()
        until(lambda: browser.find_element(By.ID, "detail").get_attribute("open"))
        until(lambda: "0: record 0 " in text(browser, "detail"))
        browser.find_element(By.ID, "later").send_keys(Keys.ARROW_RIGHT)
        until(lambda: "1: record 1 " in text(browser, "detail"))


def test_episodes_are_strips_that_play_and_boxes_are_drawn(browser: Any, tmp_path: Path) -> None:
    images = [png(16, 12, shade) for shade in (0, 90, 200)]
    sides = {"xmin": 0.25, "ymin": 0.25, "xmax": 0.5, "ymax": 0.75}
    box_of = {f"object/bbox/{side}": [value] for side, value in sides.items()}
    rows: list[dict[str, Any]] = [{"frames": images}, {"image": images[0], **box_of}]
    with opened(browser, write_examples(tmp_path / "a.tfrecord", rows)):
        assert len(browser.find_elements(By.CSS_SELECTOR, ".strip img")) == 3
        first = browser.find_element(By.CSS_SELECTOR, ".strip img")
        before = first.get_property("src")
        [play] = browser.find_elements(By.CSS_SELECTOR, ".card button")
        play.click()
        assert play.text == "Stop"
        until(lambda: first.get_property("src") != before)
        play.click()
        assert not browser.find_element(By.ID, "detail").get_attribute("open")
        [box] = browser.find_elements(By.CSS_SELECTOR, ".boxes rect")
        assert [box.get_attribute(name) for name in ("x", "y", "width", "height")] == [
            "4", "3", "4", "6",
        ]  # fmt: skip


def test_masks_lie_on_their_image(browser: Any, tmp_path: Path) -> None:
    rows = [{"image": png(16, 12, 90), "image/mask": png(16, 12, 200), "small_mask": png(4, 4, 1)}]
    with opened(browser, write_examples(tmp_path / "a.tfrecord", rows)):
        [mask] = browser.find_elements(By.CSS_SELECTOR, ".picture img.mask")
        assert "mask" in mask.get_property("src")
        [picture] = [each for each in browser.find_elements(By.CSS_SELECTOR, ".picture")
                     if each.find_elements(By.CSS_SELECTOR, ".mask")]  # fmt: skip
        until(lambda: mask.get_property("naturalWidth") == 16)
        image = picture.find_element(By.CSS_SELECTOR, "img")
        until(lambda: image.get_property("naturalWidth") == 16)
        assert mask.size == image.size


def test_actions_of_an_episode_are_lines(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    actions = [[float(step), -float(step), 0.5] for step in range(40)]
    with fastrec.Writer(path) as writer:
        record = fastrec.encode_sequence_example({"id": 1}, {"steps/action": actions})
        writer.write(record)
    with opened(browser, path):
        lines = browser.find_elements(By.CSS_SELECTOR, ".plot polyline")
        assert len(lines) == 3
        assert "0 to 39" in browser.find_element(By.CLASS_NAME, "card").text


CLIP = """
    const done = arguments[0], canvas = document.createElement('canvas');
    canvas.width = 64; canvas.height = 48;
    const context = canvas.getContext('2d'), parts = [];
    const recorder = new MediaRecorder(canvas.captureStream(25), {mimeType: 'video/webm'});
    recorder.ondataavailable = (event) => parts.push(event.data);
    recorder.onstop = () => {
      const reader = new FileReader();
      reader.onload = () => done(reader.result.split(',')[1]);
      reader.readAsDataURL(new Blob(parts));
    };
    recorder.start();
    let count = 0;
    const timer = setInterval(() => {
      context.fillStyle = `hsl(${(count * 24) % 360}, 80%, 50%)`;
      context.fillRect(0, 0, 64, 48);
      if (++count > 15) { clearInterval(timer); recorder.stop(); }
    }, 40);
"""


def wav(seconds: float) -> bytes:
    """Return a WAV file of silence."""
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(bytes(2 * int(8000 * seconds)))
    return buffer.getvalue()


def exceeds(element: Any, name: str, least: float) -> bool:
    """Return whether a property of an element of the page is a greater number."""
    return bool(element.get_property(name) > least)


def test_sounds_and_videos_play_and_cannot_be_filtered(browser: Any, tmp_path: Path) -> None:
    browser.get("about:blank")
    browser.set_script_timeout(60)
    clip = base64.b64decode(browser.execute_async_script(CLIP))
    rows = [{"a": wav(2), "clip": clip, "label": i, "text": "x"} for i in range(2)]
    with opened(browser, write_examples(tmp_path / "a.tfrecord", rows)):
        for kind in ("audio", "video"):
            element = browser.find_elements(By.CSS_SELECTOR, f".card {kind}")[1]
            browser.execute_script("arguments[0].scrollIntoView()", element)
            until(partial(exceeds, element, "readyState", 0))  # the length is known
            browser.execute_script("arguments[0].muted = true; arguments[0].play()", element)
            until(partial(exceeds, element, "currentTime", 0.1))
            if kind == "audio":
                assert element.get_property("duration") == 2
            else:
                assert element.get_property("videoWidth") == 64
            browser.execute_script("arguments[0].pause()", element)
        assert not browser.find_element(By.ID, "detail").get_attribute("open")
        names = [each.text for each in browser.find_elements(By.CSS_SELECTOR, "#feature option")]
        assert names == ["label", "text"]
        terms = browser.find_elements(By.CSS_SELECTOR, ".card:first-child dt")
        assert [each.text for each in terms] == ["a", "clip", "label", "text"]


def test_records_of_a_server_are_shown(browser: Any, tmp_path: Path) -> None:
    pytest.importorskip("obstore")
    write_pets(tmp_path)
    objects = Objects()
    objects.put("train-0.tfrecord", (tmp_path / "pets.tfrecord").read_bytes())
    with ObjectServer(objects) as server, opened(browser, f"{server.url}/train-0.tfrecord"):
        assert "60 records" in text(browser, "about")
        image = browser.find_element(By.CSS_SELECTOR, ".card img")
        browser.execute_script("arguments[0].scrollIntoView()", image)
        until(lambda: image.get_property("naturalWidth") == 24)
        search(browser, "name == 'Luna' and label == 2")
        until(lambda: text(browser, "where-am-i") == "1 to 2 of 2 found")
        assert places(browser)[0].endswith(" bytes")
        assert "of train-0.tfrecord" in places(browser)[0]


def test_an_episode_in_one_example_has_plots_and_its_instruction_once(
    browser: Any, tmp_path: Path
) -> None:
    rows = [
        {
            "episode_metadata/file_path": "/a/very/long/folder/name/of/a/robot/episode_00001.hdf5",
            "steps/action": np.arange(140, dtype=np.float32),
            "steps/is_first": [1] + [0] * 19,
            "steps/language_instruction": ["pick up the block"] * 20,
            "steps/observation/image": [png(16, 12, 10 * i) for i in range(20)],
        }
    ]
    with opened(browser, write_examples(tmp_path / "a.tfrecord", rows)):
        card = browser.find_element(By.CLASS_NAME, "card")
        assert card.find_element(By.TAG_NAME, "dt").text == "steps/observation/image"
        assert len(card.find_elements(By.CSS_SELECTOR, ".plot polyline")) == 8  # with is_first
        assert card.text.count("pick up the block") == 1
        assert "20 equal values" in card.text


def test_widgets_filter_by_the_features_of_the_dataset(browser: Any, tmp_path: Path) -> None:
    write_pets(tmp_path)
    with opened(browser, tmp_path / "pets.tfrecord"):
        names = [each.text for each in browser.find_elements(By.CSS_SELECTOR, "#feature option")]
        assert names == ["id", "label", "name", "weight"]

        def choose(name: str, comparison: str, value: str) -> None:
            options = browser.find_elements(By.CSS_SELECTOR, "#feature option")
            next(each for each in options if each.text == name).click()
            options = browser.find_elements(By.CSS_SELECTOR, "#comparison option")
            next(each for each in options if each.text == comparison).click()
            browser.find_element(By.ID, "value").send_keys(value)
            browser.find_element(By.CSS_SELECTOR, "#filter button").click()

        choose("name", "==", "Luna")
        until(lambda: text(browser, "where-am-i") == "1 to 6 of 6 found")
        choose("label", "==", "2")
        until(lambda: text(browser, "where-am-i") == "1 to 2 of 2 found")
        where = browser.find_element(By.ID, "where").get_property("value")
        assert where == 'name == "Luna" and label == 2'


def test_damage_is_shown(browser: Any, tmp_path: Path) -> None:
    write_pets(tmp_path)
    with opened(browser, tmp_path / "damaged.tfrecord"):
        assert "record 7 at offset" in text(browser, "damage")
        assert "record 40 at offset" in text(browser, "damage")


def test_nothing_of_a_hostile_file_runs(browser: Any, tmp_path: Path) -> None:
    evil = "</script><script>window.hit=1</script><img src=x onerror='window.hit=2'>"
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.hit=3'></svg>"
    rows = [{evil: 1, "x": evil, "many": [evil] * 3, "svg": svg}] * 3
    path = write_examples(tmp_path / "<img src=x onerror=window.hit=4>.tfrecord", rows)
    with opened(browser, path):
        search(browser, f"x == {evil!r}")
        time.sleep(0.5)
        assert len(browser.find_elements(By.CLASS_NAME, "card")) == 3
        assert evil in browser.find_element(By.CLASS_NAME, "card").text
        browser.find_element(By.CSS_SELECTOR, ".card .place").click()
        until(lambda: browser.find_element(By.ID, "detail").get_attribute("open"))
        assert browser.execute_script("return window.hit") is None
        assert browser.find_elements(By.CSS_SELECTOR, "main img") == []
    page = tmp_path / "page.html"
    assert cli.main(["view", str(path), "--html", str(page)]) == 0
    browser.get(page.as_uri())
    until(lambda: text(browser, "where-am-i"))
    assert browser.execute_script("return window.hit") is None
    assert len(browser.find_elements(By.CLASS_NAME, "card")) == 3
    assert browser.get_log("browser") == []


def test_a_policy_holds_even_if_the_page_would_not(browser: Any, tmp_path: Path) -> None:
    write_pets(tmp_path)
    with opened(browser, tmp_path / "pets.tfrecord"):
        browser.execute_script(
            "const s = document.createElement('script'); s.textContent = 'window.hit = 1';"
            "document.body.append(s)"
        )
        assert browser.execute_script("return window.hit") is None
        assert "Content Security Policy" in browser.get_log("browser")[0]["message"]


@pytest.mark.slow
def test_ten_million_records_stay_quick(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "many.tfrecord"
    with fastrec.Writer(path, fsync=False) as writer:
        for begin in range(0, 10_000_000, 1_000_000):
            ids = np.arange(begin, begin + 1_000_000)
            writer.write_batch({"id": ids})
    began = time.monotonic()
    with opened(browser, path):
        assert time.monotonic() - began < 15
        assert "10000000 records" in text(browser, "about")
        for name in ("last", "previous", "first", "next"):
            began = time.monotonic()
            click(browser, name)
            assert time.monotonic() - began < 2
        search(browser, "id == 4000000")
        until(lambda: "looked at" in text(browser, "where-am-i"))
        before = text(browser, "where-am-i")
        until(lambda: text(browser, "where-am-i") != before)


@pytest.mark.parametrize(
    ("name", "width", "height", "scheme"),
    [("light", 1100, 1160, "light"), ("dark", 1100, 1160, "dark"), ("phone", 390, 800, "dark")],
)
def test_it_fits_the_screen(
    browser: Any, tmp_path: Path, name: str, width: int, height: int, scheme: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    write_pets(tmp_path)
    monkeypatch.chdir(tmp_path)
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    with opened(browser, "damaged.tfrecord"):
        wide = browser.execute_script("return document.documentElement.scrollWidth")
        assert wide <= width
        ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        dark = sum(map(int, ground.strip("rgb()").split(","))) < 200
        assert dark == (scheme == "dark")
        if os.environ.get(UPDATE):
            browser.save_screenshot(str(DOCS / f"viewer-{name}.png"))
