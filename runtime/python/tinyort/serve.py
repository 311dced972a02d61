"""An ONNX model as an application of Ray Serve (pip install "tinyort[serve]"):

    from ray import serve
    import tinyort.serve

    handle = serve.run(tinyort.serve.app("model.onnx", providers="cuda,cpu", require="cuda", actor={"num_gpus": 1}))
    outputs = handle.run.remote({"x": array}).result()  # arrays by name of the output

    serve run tinyort.serve:build model=model.onnx replicas=2
    curl -d '{"x": [[1, 2, 3]]}' localhost:8000/run  # lists by input name; the answer has lists by output name
    curl localhost:8000/ready                        # 200, or 503 with the reason
    curl localhost:8000/placement                    # where every node runs, and why

The application has two deployments. Replicas of `Model` run the model; those of one machine map one saved plan, so that
they share its weights. `Ingress` speaks HTTP and sends a request again if the replica that has accepted it dies: Serve
itself retries only what no replica has accepted, as it cannot know that running a model twice does no harm. (What an
ingress replica was doing when it died itself is the client's to repeat.) Options of each deployment, such as the number
of ingress replicas, can be set by these names in a Serve config, with app's arguments as `args`.
"""

import asyncio
import fcntl
import hashlib
import json
import os
import stat
import tempfile
import time
from typing import Any, Optional, Union

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
PATIENCE = 5  # seconds that a request waits before the reason is looked for
SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]
api = fastapi.FastAPI(title="tinyort")


# ---- the plan that replicas share ------------------------------------------------------------------------------------


def _own_folder():
    folder = os.path.join(tempfile.gettempdir(), f"tinyort-{os.getuid()}")
    os.makedirs(folder, 0o700, exist_ok=True)
    found = os.lstat(folder)  # a link of another user may lead to a folder of ours
    if found.st_uid != os.getuid() or not stat.S_ISDIR(found.st_mode):
        raise PermissionError(f"{folder} belongs to another user: name a folder for plans with plans=...")
    return folder


def _identity(model):
    if isinstance(model, bytes):
        return hashlib.sha256(model).hexdigest()
    found = os.stat(model)
    return os.path.realpath(model), found.st_size, found.st_mtime_ns


def shared_session(model, chain, plans=None, **options):
    """A session of the machine's one saved plan of the model, which the first process to ask for it makes.

    The plan's name stands for the model's file, the options, and the state and kind of each device: a model that was
    written again, or a device that came back, is planned anew."""
    devices = [(p["name"], p["status"], p["description"]) for p in _core.probe(chain=chain)]
    name = hashlib.sha256(repr((_identity(model), chain, sorted(options.items()), devices)).encode()).hexdigest()[:32]
    path = os.path.join(plans or _own_folder(), f"{name}.plan")
    with open(f"{path}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return tinyort.load_plan(path, map=True)
        except Error:  # there is none yet, or another version wrote it
            tinyort.InferenceSession(model, chain=chain, **options).save_plan(path)  # an old one stays mapped
            return tinyort.load_plan(path, map=True)


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


def run_batch(session, feeds):
    """A result or an exception for each request. Those of one kind run together; none fails for another's sake."""
    kinds, answers = {}, [None] * len(feeds)
    for at, feed in enumerate(feeds):
        kinds.setdefault(_kind(feed) or at, []).append(at)
    for members in kinds.values():
        try:
            results = _run_together(session, [feeds[at] for at in members])
        except Exception as error:  # noqa: BLE001 - the client is told
            results = [error] if len(members) == 1 else [run_batch(session, [feeds[at]])[0] for at in members]
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

    async def run(self, feed):
        """Outputs by name, for arrays or lists by name."""
        begin = time.perf_counter()
        (answer,) = await self._batched({name: self._array(name, value) for name, value in feed.items()})
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
        placement = self.session.placement()
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
        return str(self.session.placement())


class NotReady(Exception):
    """No replica of the model runs; the message has the reason."""


def _failure(error):
    """What HTTP says of an exception."""
    cause = getattr(error, "cause", error)
    status = 503 if isinstance(cause, NotReady) else 400 if isinstance(cause, (InvalidArgument, ValueError)) else 500
    return fastapi.HTTPException(status, str(cause))


@serve.ingress(api)
class Ingress:
    """HTTP, and repetition of what a replica did not finish."""

    def __init__(self, model):
        self._model = model

    async def _insist(self, feed):
        for left in reversed(range(ATTEMPTS)):
            try:
                return await self._model.run.remote(feed)
            except RayActorError:  # the replica died; a model has no effect but its results, so another may run it
                if not left:
                    raise

    async def run(self, feed):
        """Outputs by name, for arrays or lists by name."""
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

    @api.post("/run")
    async def _post(self, request: fastapi.Request):
        try:
            feed = json.loads(await request.body())
            if not isinstance(feed, dict):
                raise ValueError("it is no object")
        except ValueError as error:
            raise fastapi.HTTPException(400, f'expected JSON as {{"input": [[1, 2, 3]]}}: {error}') from None
        try:
            results = await self.run(feed)
        except Exception as error:  # noqa: BLE001 - the client is told
            raise _failure(error) from None
        text = json.dumps(results, default=lambda value: value.tolist())
        return fastapi.Response(text, media_type="application/json")

    async def _check_ready(self):
        """Raises NotReady if no replica of the model runs."""
        application = serve.get_replica_context().app_name
        status = (await asyncio.to_thread(serve.status)).applications[application].deployments[Model.__name__]
        if not status.replica_states.get("RUNNING"):
            raise NotReady((status.message.strip() or "no replica runs yet").splitlines()[-1])

    @api.get("/ready")
    async def _ready(self):
        try:
            await self._check_ready()
        except NotReady as error:
            raise _failure(error) from None
        return fastapi.responses.PlainTextResponse("ready")

    @api.get("/placement")
    async def _placement(self):
        await self._ready()
        return fastapi.responses.PlainTextResponse(await self._model.placement.remote())


# ---- the application -------------------------------------------------------------------------------------------------


@pydantic.validate_call
def app(model: Union[str, bytes], providers: Union[str, list] = "cpu:threads=1", replicas: int = 1,
        max_batch_size: int = 32, batch_wait_s: float = 0.0, require: Union[str, list, None] = None,
        plans: Optional[str] = None, actor: Optional[dict] = None, replica: Any = Model, **options: Any):
    """A Serve application of a model.

    model           a path that each machine has, or bytes
    providers       a chain as the command line has it, or a list as InferenceSession has it. The default has one thread
                    a replica: more replicas use the other processors
    replicas        how many processes run the model
    max_batch_size  most requests in one run, if inputs and outputs have the same symbolic first dimension
    batch_wait_s    how long a batch waits for more requests. 0: what came during a run is the next batch
    require         providers without which a replica is not healthy: "cuda", or a list
    plans           the folder of saved plans; None: one of this user's, where temporary files are
    actor           Ray's resources for a replica. One that is to use a GPU says {"num_gpus": 1}, or a fraction, as Ray
                    may hide GPUs from all others
    options         as for InferenceSession
    """
    chain = providers if isinstance(providers, str) else Chain(providers, None, 0, None).text
    require = ",".join(require) if isinstance(require, list) else require
    deployment = serve.deployment(replica, name=Model.__name__, num_replicas=replicas, ray_actor_options=actor,
                                  max_ongoing_requests=2 * max_batch_size)  # a batch that runs, and the next one
    front = serve.deployment(Ingress, max_ongoing_requests=10000, ray_actor_options={"num_cpus": 0})
    return front.bind(deployment.bind(model, chain, max_batch_size, batch_wait_s, require, plans, options))


def build(arguments: dict):
    """app, of a dict: for `serve run tinyort.serve:build model=model.onnx` and for `args` of a Serve config."""
    return app(**arguments)
