"""Threads, interpreters, and memory over many runs."""

import gc
import os
import sys
import threading
import time

import models
import numpy as np
import pytest
import tinyort

PAGE = os.sysconf("SC_PAGE_SIZE")


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * PAGE


def test_threads_on_one_session():
    """Each run has its own memory, and the library's errors stay with their run."""
    session = tinyort.InferenceSession(models.reshape())
    wrong = []

    def work(seed):
        for i in range(300):
            x = np.array([seed * 1000 + i], np.float32)
            if session.run(None, {"x": x, "s": np.array([1, 1])})[0][0, 0] != x[0]:
                wrong.append((seed, i))
            if i % 10 == 0:
                with pytest.raises(tinyort.errors.Fail):
                    session.run(None, {"x": x, "s": np.array([7, 1])})

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_run_lets_go_of_the_lock():
    """Another thread goes on while a run lasts: its longest pause is shorter than the run."""
    session = tinyort.InferenceSession(models.product(1024, 1024, 1024), chain="cpu:threads=1")
    x = np.ones((1024, 1024), np.float32)
    session.run(None, {"x": x})
    done, pauses = threading.Event(), []

    def tick():
        last = time.perf_counter()
        while not done.is_set():
            now = time.perf_counter()
            pauses.append(now - last)
            last = now

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    session.run(None, {"x": x})
    lasted = time.perf_counter() - begin
    done.set()
    thread.join()
    assert max(pauses) < 0.9 * lasted


def test_sessions_made_and_dropped_by_threads():
    def work():
        for _ in range(20):
            session = tinyort.InferenceSession(models.two())
            session.run(None, {"x": np.ones((1, 3), np.float32), "k": np.array(1)})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def grows(work, times):
    """Bytes by which the process grows over `times` calls, after as many that warm up."""
    for _ in range(times // 4):
        work()
    gc.collect()
    before = resident()
    for _ in range(times):
        work()
    gc.collect()
    return resident() - before


def test_no_leak_in_runs():
    session = tinyort.InferenceSession(models.two())
    feed = {"x": np.ones((100, 3), np.float32), "k": np.array(1)}
    assert grows(lambda: session.run(None, feed), 100_000) < 1 << 20  # 12 bytes a run would be seen


@pytest.mark.parametrize("make, feed", [
    (models.sequence, {"x": [np.ones(64, np.float32)] * 3}),
    (models.maps, {"x": np.ones((2, 3), np.float32)}),
    (lambda: models.identity(8), {"x": ["a text of some length"] * 20}),
    (models.two, {"x": [[1, 2, 3]] * 10, "k": 3}),
])  # fmt: skip
def test_no_leak_in_values(make, feed):
    session = tinyort.InferenceSession(make())
    assert grows(lambda: session.run(None, feed), 4_000) < 1 << 20


def test_no_leak_in_failures():
    session = tinyort.InferenceSession(models.two())
    bad = [{}, {"x": np.ones(3)}, {"x": np.ones((1, 3), np.float32), "k": np.array(1), "w": 0}, {"x": "a", "k": "b"}]

    def work():
        for feed in bad:
            with pytest.raises((ValueError, tinyort.Error)):
                session.run(None, feed)

    assert grows(work, 2_000) < 1 << 20


def test_no_leak_in_sessions():
    def work():
        session = tinyort.InferenceSession(models.product())
        session.run(None, {"x": np.ones((64, 64), np.float32)})
        session.placement()

    assert grows(work, 300) < 2 << 20


def test_another_interpreter():
    """The module has its state for itself in each interpreter (numpy is in one only)."""
    interpreters = pytest.importorskip("_xxsubinterpreters" if sys.version_info < (3, 13) else "_interpreters")
    code = f"""
import sys
sys.path[:] = {sys.path!r}
sys.modules["numpy"] = None
import tinyort
session = tinyort.InferenceSession({models.two()!r})
assert memoryview(session.run(["y"], {{"x": [[1, -2, 3]], "k": 3}})[0]._value).tolist() == [[1.0, 0.0, 3.0]]
try:
    session.run(None, {{}})
except ValueError:
    pass
"""
    for _ in range(3):
        new = interpreters.create()
        interpreters.run_string(new, code)
        interpreters.destroy(new)
    session = tinyort.InferenceSession(models.two())
    assert session.run(["z"], {"x": np.ones((1, 3), np.float32), "k": np.array(1)})[0] == 1


@pytest.mark.filterwarnings("ignore:This process")
def test_a_forked_child():
    """A child runs its parent's session, without its threads, and frees it; as servers do that load before they fork."""
    import signal

    session = tinyort.InferenceSession(models.product(256, 256, 256), chain="cpu:threads=4")
    x = np.ones((256, 256), np.float32)
    expected = session.run(None, {"x": x})[0]
    time.sleep(0.05)  # the workers sleep
    child = os.fork()
    if not child:
        signal.alarm(30)
        status = 1
        try:
            if np.array_equal(session.run(None, {"x": x})[0], expected):
                del session
                again = tinyort.InferenceSession(models.product(256, 256, 256), chain="cpu:threads=4")
                status = 0 if np.array_equal(again.run(None, {"x": x})[0], expected) else 2
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert np.array_equal(session.run(None, {"x": x})[0], expected)
