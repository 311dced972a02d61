"""The pages of plans in headless Chromium, as a reader uses them.

Usage: run.py TINYORT PYTHON [FOLDER], from the root of the tree; PYTHON has onnx. Pictures of the pages are left in the
FOLDER, to be looked at.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

DIGITS, EDGES = "models/digits.onnx", "models/edges.onnx"
MAX_MS = 1000  # until a page of 2,000 nodes can be used: the fastest of three times


class Suite:
    def __init__(self):
        self.passed = self.failed = 0

    def check(self, good, text):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f"FAILED {text}")


def browser(width, height, dark=False):
    options = Options()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", f"--window-size={width},{height}", f"--blink-settings=preferredColorScheme={0 if dark else 1}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def rows(driver):
    return driver.find_elements(By.CSS_SELECTOR, "#nodes tbody tr")


def names(driver):
    return [row.find_elements(By.TAG_NAME, "td")[1].text for row in rows(driver)]


def open_page(suite, driver, page):
    driver.get(f"file://{page}")
    suite.check(driver.execute_script("return document.documentElement.dataset.ready") is not None, f"{page.name}: the script came to its end")
    suite.check(not driver.get_log("browser"), f"{page.name}: {driver.get_log('browser')}")


def test_use(suite, driver, pages):
    open_page(suite, driver, pages["digits"])
    suite.check(names(driver)[0] == "conv1" and len(names(driver)) == 8, f"{names(driver)}")
    suite.check(len(driver.find_elements(By.CSS_SELECTOR, "#graph .node")) == 8 and len(driver.find_elements(By.CSS_SELECTOR, "#graph path")) == 7, "nodes and edges are drawn")
    origin = driver.find_element(By.ID, "origin").text
    suite.check(all(words in origin for words in ("--ep cpu", "opset 17", "Inputs: image: tensor(float)", "by tinyort ", "UTC")), f"what the page was made for: {origin}")
    rows(driver)[0].click()
    panel = driver.find_element(By.ID, "details").text
    suite.check(all(words in panel for words in ("Inputs", "conv1.weight: float 16x1x3x3, constant", "Outputs", "relu1_out: float", "kernel_shape = [3, 3]")), f"what a node is: {panel}")
    search = driver.find_element(By.ID, "filter")
    search.send_keys("conv blocked")
    suite.check(names(driver) == ["conv1", "conv2", "conv3"], f"a filter of two words: {names(driver)}")
    suite.check("3 of 8" in driver.find_element(By.ID, "shown").text, "the count")
    suite.check(len(driver.find_elements(By.CSS_SELECTOR, "#graph .node.faint")) == 5, "the others fade in the graph")
    search.send_keys(Keys.ESCAPE)
    suite.check(len(names(driver)) == 8, "Escape shows all")
    driver.find_element(By.TAG_NAME, "body").send_keys("/")
    suite.check(driver.switch_to.active_element.get_attribute("id") == "filter", "a slash begins a filter")
    driver.find_element(By.XPATH, "//table[@id='nodes']//button[starts-with(., 'name')]").click()
    suite.check(names(driver) == sorted(names(driver)), f"sorted by name: {names(driver)}")
    driver.find_element(By.XPATH, "//table[@id='nodes']//button[starts-with(., 'name')]").click()
    suite.check(names(driver) == sorted(names(driver), reverse=True), f"and the other way: {names(driver)}")
    driver.find_element(By.XPATH, "//*[@id='legend']//label[contains(., 'host')]/input").click()
    suite.check("flatten" not in names(driver) and len(names(driver)) == 7, f"without those of the host: {names(driver)}")
    next(row for row in rows(driver) if "conv2" in row.text).click()
    details = driver.find_element(By.ID, "details").text
    suite.check("conv2" in details and "joined from conv2, relu2" in details and "conv_blocked" in details, details)
    suite.check(len(driver.find_elements(By.CSS_SELECTOR, "#graph .node.chosen")) == 1, "the row's node is marked in the graph")
    pane = driver.find_element(By.ID, "graph")
    driver.execute_script("arguments[0].focus()", pane)
    for key, name in ((Keys.ARROW_DOWN, "pool2"), (Keys.ARROW_DOWN, "conv3"), (Keys.ARROW_UP, "pool2")):
        driver.switch_to.active_element.send_keys(key)
        suite.check(driver.find_element(By.CSS_SELECTOR, "#details b").text == name, f"an arrow key goes to {name}")
    driver.find_elements(By.CSS_SELECTOR, "#graph .node")[0].click()
    suite.check(driver.find_element(By.CSS_SELECTOR, "#details b").text == "conv1" and len(driver.find_elements(By.CSS_SELECTOR, "tr.chosen")) == 1, "a click on a node marks its row")
    before = driver.find_element(By.CSS_SELECTOR, "#graph svg").size["width"]
    driver.find_element(By.CSS_SELECTOR, "button[aria-label='Zoom in']").click()
    suite.check(driver.find_element(By.CSS_SELECTOR, "#graph svg").size["width"] > before, "zoom")
    suite.check(driver.find_element(By.CSS_SELECTOR, "#memory svg").is_displayed() and not driver.find_element(By.ID, "timed").is_displayed(), "memory, and no times")
    memory = driver.find_element(By.ID, "memory")
    suite.check("arena " in memory.text and not memory.find_elements(By.CSS_SELECTOR, "svg text"), "figures stand below the bars of memory, not on them")
    suite.check(not driver.get_log("browser"), "no error on the console after all that")


def test_blocks(suite, driver, pages):
    """2,000 nodes: blocks that repeat are one box each; a node in one of them is found, opened and walked by keyboard."""
    open_page(suite, driver, pages["large"])
    boxes, blocks = (len(driver.find_elements(By.CSS_SELECTOR, f"#graph .{kind}")) for kind in ("node", "block"))
    suite.check(boxes < 150 and 40 < blocks < boxes, f"{boxes} boxes, {blocks} of them blocks")
    driver.find_element(By.TAG_NAME, "body").send_keys("/")
    driver.switch_to.active_element.send_keys("node_1415", Keys.TAB)
    suite.check(names(driver) == ["/model/layers.70/block/node_1415"], f"found by name: {names(driver)}")
    while driver.switch_to.active_element.tag_name != "tr":
        driver.switch_to.active_element.send_keys(Keys.TAB)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    suite.check("node_1415" in driver.find_element(By.CSS_SELECTOR, "#details b").text, "Enter opens it")
    more = len(driver.find_elements(By.CSS_SELECTOR, "#graph .node"))
    suite.check(boxes < more < boxes + 50 and len(driver.find_elements(By.CSS_SELECTOR, "#graph .node.chosen")) == 1, f"its block is drawn in full: {more} boxes")
    driver.execute_script("document.getElementById('graph').focus()")
    driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    suite.check("node_1416" in driver.find_element(By.CSS_SELECTOR, "#details b").text, "an arrow key goes on to the next")
    seen = driver.execute_script("const n = document.querySelector('#graph .node.chosen').getBoundingClientRect(), p = document.getElementById('graph').getBoundingClientRect(); return n.top >= p.top && n.bottom <= p.bottom && n.left >= p.left && n.right <= p.right")
    suite.check(seen, "and is in sight")
    for _ in range(60):
        if "like the first" in driver.find_element(By.ID, "details").text:
            break
        driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    suite.check("block " in driver.find_element(By.ID, "details").text, "on to the next block, which says what it holds")
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    suite.check("node_" in driver.find_element(By.CSS_SELECTOR, "#details b").text and len(driver.find_elements(By.CSS_SELECTOR, "#graph .node")) > more, "Enter opens a block")
    driver.find_element(By.XPATH, "//*[@id='legend']//button[starts-with(., 'open all')]").click()
    suite.check(len(driver.find_elements(By.CSS_SELECTOR, "#graph .node")) == 2000, "all of them opened")
    suite.check(not driver.get_log("browser"), "no error on the console after all that")


def test_contents(suite, driver, pages):
    if "edges" in pages:
        open_page(suite, driver, pages["edges"])
        suite.check("NO_TYPE" in driver.find_element(By.ID, "reasons").text, "the refusal")
        suite.check("cudasim to cpu" in driver.find_element(By.CSS_SELECTOR, "#graph svg").text and "1 fell back" in driver.find_element(By.ID, "summary").text, "the copy")
        driver.find_element(By.CSS_SELECTOR, "#nodes tbody tr:last-child").click()
        suite.check("NO_TYPE" in driver.find_element(By.ID, "details").text and "copy before it" in driver.find_element(By.ID, "details").text, "details of a refusal")
    open_page(suite, driver, pages["timed"])
    suite.check(driver.find_element(By.ID, "timed").is_displayed() and "conv2" in driver.find_element(By.ID, "times").text, "times by unit")
    suite.check("ms" in driver.find_element(By.CSS_SELECTOR, "#nodes thead").text, "and in the table of nodes")


def test_sizes(suite, pages, shots):
    for name, width, height, dark in (("wide", 1500, 1200, False), ("dark", 1500, 1200, True), ("phone", 390, 900, True)):
        driver = browser(width, height, dark)
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})  # a window has 500 pixels at least
        for which in pages:
            open_page(suite, driver, pages[which])
            overflow = driver.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
            suite.check(overflow <= 0, f"{which}, {name}: {overflow} pixels too wide")
            back, ink = driver.execute_script("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color].map(c => c.match(/\\d+/g).map(Number).reduce((a, b) => a + b))")
            suite.check((back < ink) == dark, f"{which}, {name}: background {back}, text {ink}")
            if shots:
                driver.save_screenshot(str(Path(shots) / f"{which}_{name}.png"))
        driver.quit()


def test_speed(suite, driver, pages):
    times = []
    for _ in range(3):
        open_page(suite, driver, pages["large"])
        times.append(int(driver.execute_script("return document.documentElement.dataset.ready")))
    suite.check(len(rows(driver)) == 2000, "2,000 rows")
    suite.check(min(times) < MAX_MS, f"2,000 nodes after {times} ms")


def main():
    tinyort, python, shots = sys.argv[1], sys.argv[2], (sys.argv[3:] or [None])[0]
    suite = Suite()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([python, "tests/page/models.py", folder], check=True)
        commands = {"digits": ("plan", DIGITS, "--shape", "N=1"), "edges": ("plan", EDGES, "--ep", "cudasim,cpu", "--require", "cudasim"),
                    "large": ("plan", folder / "large.onnx", "--no-fusion"), "timed": ("bench", DIGITS, "--repeat", "50", "--profile")}
        pages = {}
        for which, command in commands.items():
            page = folder / f"{which}.html"
            if subprocess.run([tinyort, *map(str, command), "--html", str(page)], capture_output=True).returncode == 0:
                pages[which] = page
            elif which == "edges":
                print("skipped: copies on a page: cudasim is not ready here")
            else:
                suite.check(False, f"{command}: no page")
        driver = browser(1500, 1200)
        test_use(suite, driver, pages)
        test_contents(suite, driver, pages)
        test_blocks(suite, driver, pages)
        test_speed(suite, driver, pages)
        driver.quit()
        test_sizes(suite, pages, shots)
    print(f"page: {suite.passed} passed, {suite.failed} failed")
    sys.exit(1 if suite.failed or not suite.passed else 0)


main()
