"""Detectors of torchvision: proposals, NonMaxSuppression, RoiAlign, and outputs as long as the picture has objects.

Weights are random, but such that every layer gives values of a deviation near one, so that scores differ. Among a hundred of them
two may still be equal but for rounding: such detections may change places. Entries are as in models.py. torch.export does not take
these modules.
"""

import numpy
import torch

SEED = 5
WIDTH = {"cls": 1.5, "logits": 1.5, "bbox": 0.3, "reg": 0.3}


def picture(height, width, seed):
    return torch.rand(1, 3, height, width, generator=torch.Generator().manual_seed(seed))


def layers(module):
    return [(name, part) for name, part in module.named_modules() if isinstance(part, (torch.nn.Conv2d, torch.nn.Linear))]


def settle(module, image):
    """Scales the weights of each layer so that what it makes of this picture has the deviation that its place wants."""
    done, hooks = set(), []

    def scale(part, inputs, output):
        if part in done or not float(output.std()) > 0:
            return None
        done.add(part)
        part.weight.data.mul_(wanted[part] / float(output.std()))
        if part.bias is not None:
            part.bias.data.zero_()
        return part.forward(*inputs)

    wanted = {part: next((v for word, v in WIDTH.items() if word in name), 1.0) for name, part in layers(module)}
    for part in wanted:
        hooks.append(part.register_forward_hook(scale))
    with torch.no_grad():
        module(image)
    for hook in hooks:
        hook.remove()


BOXES = (1e-3, 1e-3)  # corners are in pixels, differences of larger numbers: one near 0 is no more exact than one at 100


def same_order(got, want):
    """The rows of `got` in the order of `want`: to each the nearest row of the same box, score and label; as it is where one has none."""
    if [value.shape for value in got] != [value.shape for value in want]:
        return got
    rows, wanted = (numpy.column_stack([value.reshape(len(value), -1) for value in values[:3]]) for values in (got, want))
    order = []
    for index, row in enumerate(wanted):
        alike = numpy.isclose(rows, row, rtol=BOXES[0], atol=BOXES[1]).all(1).nonzero()[0]
        free = [other for other in alike if other not in order]
        if not free:
            return got
        order.append(min(free, key=lambda other: abs(other - index)))
    return [value[order] for value in got]


def detector(name, size, **options):
    """A network of five classes; pictures are resized to `size`, or to what the network has fixed."""
    import torchvision

    def make():
        torch.manual_seed(SEED)
        build = getattr(torchvision.models.detection, name)
        module = build(weights=None, weights_backbone=None, **({"num_classes": 5} | options)).eval()
        settle(module, picture(size, size * 6 // 5, SEED))
        return module

    return {
        "make": make,
        "names": ["image"],
        "example": (picture(size, size * 6 // 5, SEED),),
        "runs": [(picture(size, size * 6 // 5, SEED + 1),), (picture(size * 6 // 5, size, SEED + 2),)],
        "axes": {"image": {2: "height", 3: "width"}},
        "exporters": [False],
        "optimized": False,
        "align": same_order,
        "close": BOXES,
    }


def resized(name, size=96, **options):
    return detector(name, size, min_size=size, max_size=size * 5 // 4, **options)


DETECTORS = {
    "fasterrcnn_resnet50": resized("fasterrcnn_resnet50_fpn", box_score_thresh=0.2),
    "fasterrcnn_mobilenet": resized("fasterrcnn_mobilenet_v3_large_320_fpn", box_score_thresh=0.2),
    "maskrcnn_resnet50": resized("maskrcnn_resnet50_fpn", box_score_thresh=0.2),
    "keypointrcnn_resnet50": resized("keypointrcnn_resnet50_fpn", num_classes=2, box_score_thresh=0.2),
    "ssd300_vgg16": detector("ssd300_vgg16", 96, score_thresh=0.2),
    "ssdlite320_mobilenet": detector("ssdlite320_mobilenet_v3_large", 96, score_thresh=0.2),
    "fcos_resnet50": resized("fcos_resnet50_fpn", score_thresh=0.3),
    "retinanet_resnet50": resized("retinanet_resnet50_fpn", score_thresh=0.6),
}
