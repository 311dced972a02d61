"""An ONNX model as an application of Ray Serve (pip install "ray[serve]"):

    from ray import serve
    import tinyort.serve

    handle = serve.run(tinyort.serve.app("model.onnx", providers="cuda,cpu", require="cuda", actor={"num_gpus": 1}))
    outputs = handle.run.remote({"x": array}).result()  # arrays by name of the output

    serve run tinyort.serve:build model=model.onnx replicas=2
    curl -d '{"x": [[1, 2, 3]]}' localhost:8000/run  # lists by input name; the answer has lists by output name
    curl localhost:8000/ready                        # 200, or 503 with the reason
    curl localhost:8000/placement                    # where every node runs, and why

JSON has no NaN and no infinities: null stands for them in answers, and for NaN in inputs. A status other than 200 comes
with the reason: 400 a request that is wrong, 413 one that is longer than max_body, 503 no replica is ready, 504 no answer
within time_limit.

The application has two deployments. Replicas of `Model` run the model; those of one machine map one saved plan, so that
they share its weights. `Ingress` speaks HTTP and sends a request again if the replica that has accepted it dies: Serve
itself retries only what no replica has accepted, as it cannot know that running a model twice does no harm. (What an
ingress replica was doing when it died itself is the client's to repeat.) Options of each deployment, such as the number
of ingress replicas, can be set by these names in a Serve config, with app's arguments as `args`.
"""

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import stat
import tempfile
import time
from pathlib import Path
from typing import Annotated, Any, Optional, Union

import fastapi
import numpy
import pydantic
from ray import serve
from ray.exceptions import RayActorError
from ray.serve import metrics
from ray.serve.exceptions import DeploymentUnavailableError

import tinyort

from . import _core
from .chain import Chain
from .errors import EPFail, Error, InvalidArgument
from .values import NUMPY

ATTEMPTS = 3  # a request that brings replicas down itself must end
PIECE = 1 << 14  # values that become text at once
PATIENCE = 5  # seconds that a request waits before the reason is looked for
SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
api = fastapi.FastAPI(title="tinyort")


# ---- the plan that replicas share ------------------------------------------------------------------------------------


def _own_folder():
    folder = os.path.join(tempfile.gettempdir(), f"tinyort-{os.getuid()}")
    os.makedirs(folder, 0o700, exist_ok=True)
    found = os.lstat(folder)  # a link of another user may lead to a folder of ours
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode) or found.st_mode & 0o022:
        raise PermissionError(f"{folder} is another user's, or others may write there: name a folder for plans with "
                              "plans=...")
    return folder


@contextlib.contextmanager
def _locked(path):
    """Holds the lock of a file, which is made if it is not there; a link that another user laid leads nowhere."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _hash(*parts):
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def shared_session(model, chain, plans=None, time_limit=0, **options):
    """A session of the machine's one saved plan of the model, which the first process to ask for it makes.

    The plan's name stands for the model, the options, and the state and kind of each device: a device that came back is
    planned anew. So is a file that was written again; the plans of its earlier versions are then removed."""
    devices = [(p["name"], p["status"], p["description"]) for p in _core.probe(chain=chain)]
    name = _hash(model if isinstance(model, bytes) else os.path.realpath(model), chain, sorted(options.items()), devices)
    folder = Path(plans or _own_folder())
    with _locked(folder / f"{name}.lock"):
        found = None if isinstance(model, bytes) else os.stat(model)
        path = folder / f"{name}-{_hash(found and (found.st_size, found.st_mtime_ns))}.plan"
        with contextlib.suppress(Error):  # there is none yet, or another version of tinyort wrote it
            return tinyort.load_plan(path, map=True, time_limit=time_limit)
        tinyort.InferenceSession(model, chain=chain, **options).save_plan(path)
        for old in set(folder.glob(f"{name}-*.plan")) - {path}:  # replicas that map one keep it until they end
            with contextlib.suppress(OSError):  # in a folder of many users, it may be another one's
                old.unlink()
        return tinyort.load_plan(path, map=True, time_limit=time_limit)


# ---- JSON ------------------------------------------------------------------------------------------------------------


def _float(digits):
    return float(digits)


def _int(digits):
    return int(digits)


def _no_number(name):
    raise ValueError(f"{name} is no JSON: null stands for NaN")


def read_json(text):
    """A feed. Numbers are made by Python's functions, between which other threads run: json's own hold them all up."""
    try:
        feed = json.loads(text, parse_float=_float, parse_int=_int, parse_constant=_no_number)
        if not isinstance(feed, dict):
            raise ValueError("it is no object")
        return feed
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f'expected JSON as {{"input": [[1, 2, 3]]}}: {error}') from None


def _text(value):
    """JSON of a result, with null for NaN and infinities; in pieces, between which other threads run."""
    if isinstance(value, dict):
        return "{%s}" % ",".join(f"{json.dumps(str(name))}:{_text(item)}" for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return "[%s]" % ",".join(map(_text, value))
    array = numpy.asarray(value)
    if array.size > PIECE and len(array) == 1:
        return f"[{_text(array[0])}]"
    if array.size > PIECE:
        half = len(array) // 2
        return f"{_text(array[:half])[:-1]},{_text(array[half:])[1:]}"
    try:
        return json.dumps(array.tolist(), allow_nan=False)
    except ValueError:
        return json.dumps(numpy.where(numpy.isfinite(array), array, None).tolist(), allow_nan=False)


def write_json(results):
    """Results by name as JSON in bytes."""
    return _text(results).encode()


# ---- batches ---------------------------------------------------------------------------------------------------------


def can_batch(session):
    """True if inputs and outputs all have the same symbolic first dimension."""
    firsts = {port.shape[0] if port.shape else 0 for port in session.get_inputs() + session.get_outputs()}
    return len(firsts) == 1 and not isinstance(next(iter(firsts)), int)


def _kind(feed):
    """What a request must have in common with another one to run with it; None: it runs alone."""
    if not feed or not all(isinstance(array, numpy.ndarray) and array.ndim for array in feed.values()):
        return None
    if len({len(array) for array in feed.values()}) > 1:
        return None
    return tuple(sorted((name, array.dtype.str, array.shape[1:]) for name, array in feed.items()))


def _run(session, feed):
    return dict(zip([port.name for port in session.get_outputs()], session.run(None, feed)))


def _run_together(session, feeds):
    """A result for each of some requests of one kind, from one run."""
    if len(feeds) == 1:
        return [_run(session, feeds[0])]
    rows = [len(next(iter(feed.values()))) for feed in feeds]
    results = _run(session, {name: numpy.concatenate([feed[name] for feed in feeds]) for name in feeds[0]})
    if any(len(result) != sum(rows) for result in results.values()):
        raise InvalidArgument("the model's outputs have other rows than its inputs: serve it with max_batch_size=1")
    ends = numpy.cumsum(rows)
    return [{name: result[end - count : end] for name, result in results.items()} for end, count in zip(ends, rows)]


def _out_of_time(error):
    return isinstance(error, TimeoutError) or getattr(error, "code", None) == "TORT_E_CANCELLED"


def run_batch(session, feeds):
    """A result or an exception for each request. Those of one kind run together; none fails for another's sake."""
    kinds, answers = {}, [None] * len(feeds)
    for at, feed in enumerate(feeds):
        kinds.setdefault(_kind(feed) or at, []).append(at)
    for members in kinds.values():
        try:
            results = _run_together(session, [feeds[at] for at in members])
        except Exception as error:  # noqa: BLE001 - the client is told
            if len(members) == 1 or _out_of_time(error):  # then each has waited as long as it may
                results = [error] * len(members)
            else:
                results = [run_batch(session, [feeds[at]])[0] for at in members]
        for at, result in zip(members, results):
            answers[at] = result
    return answers


# ---- the deployments -------------------------------------------------------------------------------------------------


class Model:
    """A replica: a session, a queue of requests that become its batches, and its metrics."""

    def __init__(self, model, chain, max_batch_size, batch_wait_s, require, plans, options):
        self._chain, self._required, self._lost = chain, (require or "").split(","), None
        self.session = self.open(model, chain, require=require, plans=plans, **options)
        self._dtypes = {port.name: NUMPY.get(port.type[len("tensor("):-1]) for port in self.session.get_inputs()}
        self._latency = metrics.Histogram("tinyort_latency_seconds", "Time of a request in its replica", SECONDS)
        most = max_batch_size if can_batch(self.session) else 1
        self._batched = serve.batch(max_batch_size=most, batch_wait_timeout_s=batch_wait_s)(self._run_batch)

    def open(self, model, chain, **options):
        """The session."""
        return shared_session(model, chain, **options)

    async def _run_batch(self, feeds):
        answers = await asyncio.to_thread(run_batch, self.session, feeds)  # the loop takes the next batch's requests
        self._lost = next((answer for answer in answers if isinstance(answer, EPFail)), self._lost)
        return [(answer,) for answer in answers]

    def _array(self, name, value):
        if not isinstance(value, list) or not self._dtypes.get(name):
            return value
        try:
            return numpy.array(value, self._dtypes[name])
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidArgument(f"input {name!r}: no tensor of {self._dtypes[name]}: {error}") from None

    def _arrays(self, feed):
        feed = read_json(feed) if isinstance(feed, bytes) else feed
        return {name: self._array(name, value) for name, value in feed.items()}

    async def run(self, feed):
        """Outputs by name, for arrays or lists by name; JSON of them for JSON, both in bytes. What is wrong with a request
        is returned, not raised: Ray would write a traceback into the replica's log for each."""
        try:
            return await self._run(feed)
        except (InvalidArgument, ValueError) as error:
            return error

    async def _run(self, feed):
        begin = time.perf_counter()
        (answer,) = await self._batched(await asyncio.to_thread(self._arrays, feed))
        if isinstance(feed, bytes) and not isinstance(answer, Exception):
            answer = await asyncio.to_thread(write_json, answer)
        self._latency.observe(time.perf_counter() - begin)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def check_health(self):
        """Raises while a required provider is down, or after its device was lost: Serve then replaces the replica."""
        if self._lost:
            raise self._lost
        for provider in _core.probe(chain=self._chain):
            if provider["name"] in self._required and provider["status"] != "ready":
                raise EPFail(f"required provider: {provider['name']} did not open: {provider['code']}, "
                             f"{provider['message']}; {provider['cure']}")
        self.tell()

    def tell(self):
        """Sets the gauges: at each check of health, as memory grows with the batches that were run."""
        placement = self.session._brief()
        nodes = metrics.Gauge("tinyort_nodes", "Nodes that a provider runs", ("provider",))
        for provider in placement.providers:
            nodes.set(len(placement.on(provider["name"])), {"provider": provider["name"]})
        metrics.Gauge("tinyort_fallbacks", "Nodes that fell back").set(len(placement.fallbacks))
        memory = metrics.Gauge("tinyort_memory_bytes", "Bytes of a session", ("place", "what"))
        for place, parts in self.session.memory().items():
            for what, size in parts.items():
                if size is not None and what != "grows":
                    memory.set(size, {"place": place, "what": what})

    def placement(self):
        """Where every node runs, and why, as text."""
        return str(self.session._brief())


class NotReady(Exception):
    """No replica of the model runs; the message has the reason."""


class TooLong(Exception):
    """The body of a request has more bytes than it may."""


STATUSES = {NotReady: 503, TooLong: 413, InvalidArgument: 400, ValueError: 400}


def _failure(error):
    """What HTTP says of an exception."""
    cause = getattr(error, "cause", error)
    known = next((status for kind, status in STATUSES.items() if isinstance(cause, kind)), 500)
    return fastapi.HTTPException(504 if _out_of_time(cause) else known, str(cause))


@serve.ingress(api)
class Ingress:
    """HTTP, and repetition of what a replica did not finish."""

    def __init__(self, model, max_body, time_limit):
        self._model, self._max_body, self._time_limit = model, max_body, time_limit

    async def _insist(self, feed):
        for left in reversed(range(ATTEMPTS)):
            try:
                answer = await self._model.run.remote(feed)
                if isinstance(answer, Exception):
                    raise answer
                return answer
            except RayActorError:  # the replica died; a model has no effect but its results, so another may run it
                if not left:
                    raise

    async def _in_time(self, work):
        try:
            return await asyncio.wait_for(work, self._time_limit)
        except asyncio.TimeoutError:
            raise TimeoutError(f"no answer within {self._time_limit:g} s (option time_limit)") from None

    async def _answer(self, feed):
        answer = asyncio.ensure_future(self._insist(feed))
        try:
            while not answer.done():  # Serve lets a request wait for a replica for ever
                await asyncio.wait([answer], timeout=PATIENCE)
                if not answer.done():
                    await self._check_ready()
            return answer.result()
        except DeploymentUnavailableError:
            await self._check_ready()
            raise
        finally:
            answer.cancel()

    async def run(self, feed):
        """Outputs by name, for arrays or lists by name; JSON of them for JSON, both in bytes."""
        return await self._in_time(self._answer(feed))

    async def _told(self, work):
        """What comes of some work in time; otherwise what HTTP says of it."""
        try:
            return await self._in_time(work)
        except Exception as error:  # noqa: BLE001 - the client is told
            raise _failure(error) from None

    async def _body(self, request):
        too_long = TooLong(f"the body has more than {self._max_body} bytes (option max_body)")
        if int(request.headers.get("content-length", 0)) > self._max_body:
            raise too_long
        body = bytearray()  # a request that comes in chunks does not say how long it is
        async for part in request.stream():
            body += part
            if len(body) > self._max_body:
                raise too_long
        return bytes(body)

    async def _answer_json(self, request):
        return await self._answer(await self._body(request))

    @api.post("/run")
    async def _post(self, request: fastapi.Request):
        text = await self._told(self._answer_json(request))
        return fastapi.Response(text, media_type="application/json")

    async def _check_ready(self):
        """Raises NotReady if no replica of the model runs."""
        application = serve.get_replica_context().app_name
        status = (await asyncio.to_thread(serve.status)).applications[application].deployments[Model.__name__]
        if not status.replica_states.get("RUNNING"):
            raise NotReady((status.message.strip() or "no replica runs yet").splitlines()[-1])

    @api.get("/ready")
    async def _ready(self):
        await self._told(self._check_ready())
        return fastapi.responses.PlainTextResponse("ready")

    @api.get("/placement")
    async def _placement(self):
        await self._ready()
        return fastapi.responses.PlainTextResponse(await self._told(self._model.placement.remote()))


# ---- the application -------------------------------------------------------------------------------------------------


@pydantic.validate_call
def app(model: Union[str, bytes], providers: Union[str, list] = "cpu:threads=1", replicas: int = 1,
        max_batch_size: int = 32, batch_wait_s: float = 0.0, require: Union[str, list, None] = None,
        max_body: pydantic.PositiveInt = 64 << 20, time_limit: Annotated[float, pydantic.Field(gt=0, lt=1e9)] = 60.0,
        plans: Optional[str] = None, actor: Optional[dict] = None, replica: Any = Model, **options: Any):
    """A Serve application of a model.

    model           a path that each machine has, or bytes
    providers       a chain as the command line has it, or a list as InferenceSession has it. The default has one thread
                    a replica: more replicas use the other processors
    replicas        how many processes run the model
    max_batch_size  most requests in one run, if inputs and outputs have the same symbolic first dimension
    batch_wait_s    how long a batch waits for more requests. 0: what came during a run is the next batch
    require         providers without which a replica is not healthy: "cuda", or a list
    max_body        most bytes of a request's body
    time_limit      seconds that a request may take, from its arrival to its answer, and a run of the model
    plans           the folder of saved plans, on a disk of the machine; None: one of this user's, where temporary files
                    are. The plans of earlier versions of a model's file are removed, those of models in bytes are not
    actor           Ray's resources for a replica. One that is to use a GPU says {"num_gpus": 1}, or a fraction, as Ray
                    may hide GPUs from all others
    options         as for InferenceSession
    """
    chain = providers if isinstance(providers, str) else Chain(providers, None, {}).text
    require = ",".join(require) if isinstance(require, list) else require
    deployment = serve.deployment(replica, name=Model.__name__, num_replicas=replicas, ray_actor_options=actor,
                                  max_ongoing_requests=2 * max_batch_size)  # a batch that runs, and the next one
    front = serve.deployment(Ingress, max_ongoing_requests=10000, ray_actor_options={"num_cpus": 0})
    options["time_limit"] = time_limit
    bound = deployment.bind(model, chain, max_batch_size, batch_wait_s, require, plans, options)
    return front.bind(bound, max_body, time_limit)


def build(arguments: dict):
    """app, of a dict: for `serve run tinyort.serve:build model=model.onnx` and for `args` of a Serve config."""
    return app(**arguments)
