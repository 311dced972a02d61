"""A plugin of pytest, which finds it by itself: the fixture `placement`.

    def test_my_model_is_on_the_gpu(placement):
        placement.assert_on("model.onnx", "cuda", allow=["Gather"])
        placement.assert_on("model.onnx", "cuda", target="cuda:sm_87")  # for a device that is not here

A test fails with every node that is elsewhere, and the reason.
"""

import pytest


class PlacementOf:
    """What the fixture gives."""

    def of(self, model, chain="cuda,cpu", **options):
        """The Placement of a path, bytes or session."""
        import tinyort

        if isinstance(model, tinyort.InferenceSession):
            return model.placement()
        return tinyort.plan(model, chain, **options)

    def assert_on(self, model, provider, allow=(), chain=None, **options):
        """Fails the test unless `provider` runs every node but those of the operators in `allow`."""
        __tracebackhide__ = True
        chain = chain or (provider if provider == "cpu" else f"{provider},cpu")
        self.of(model, chain, **options).assert_on(provider, allow)


@pytest.fixture
def placement():
    """Where a model's nodes run: placement.assert_on(model, provider, allow=[...]), placement.of(model, chain)."""
    return PlacementOf()
