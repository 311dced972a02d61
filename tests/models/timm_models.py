"""More architectures: the smallest network of each family of the package timm, with seeded random weights. Entries are as in models.py."""

import torch
from models import batch_norms, image, vision


def measured_statistics(size):
    """BatchNormalization as after training: with the statistics of a batch, so that deep networks neither fade nor explode."""

    def settle(module):
        parts = batch_norms(module)
        for part in parts:
            part.momentum = None
            part.train()
        with torch.no_grad():
            module(image(4, size))
        for part in parts:
            part.running_var.clamp_(min=0.05)
            part.eval()

    return settle


def network(name, size=96, **options):
    """Of timm, by name, at a picture size that it takes."""

    def build(_):
        import timm

        return timm.create_model(name, pretrained=False, **options)

    return vision(build, size, settle=measured_statistics(size))


EXPORTED = {"exporters": [True]}  # the exporter of TorchScript does not take them

TIMM = {
    "halonet": network("halonet_h1", 256) | EXPORTED,
    "mobileone": network("mobileone_s0"),
    "cait": network("cait_xxs24_224", 64, img_size=64, depth=3),
    "coat": network("coat_tiny", 64, img_size=64),
    "convit": network("convit_tiny", 64, img_size=64),
    "crossvit": network("crossvit_tiny_240", 240),
    "cs3darknet": network("cs3darknet_focus_s"),
    "dla": network("dla46x_c"),
    "dpn": network("dpn48b"),
    "edgenext": network("edgenext_xx_small"),
    "efficientformer_v2": network("efficientformerv2_s0", 224),
    "efficientvit_mit": network("efficientvit_b0"),
    "efficientvit_msra": network("efficientvit_m0", 224),
    "eva": network("vit_tiny_patch16_dinov3_qkvb", 64, img_size=64, depth=3) | EXPORTED,
    "fasternet": network("fasternet_t0"),
    "fastvit": network("fastvit_t8"),
    "ghostnet": network("ghostnet_050"),
    "gmlp": network("gmlp_ti16_224", 224),
    "hgnet_v2": network("hgnetv2_b0"),
    "inception_next": network("inception_next_atto"),
    "levit": network("levit_128s", 224),
    "mambaout": network("mambaout_femto"),
    "mixer": network("mixer_s32_224", 224),
    "mobilevit_v2": network("mobilevitv2_050", 128),
    "nf_regnet": network("nf_regnet_b0"),
    "pit": network("pit_ti_224", 224),
    "poolformer": network("poolformer_s12"),
    "pvt_v2": network("pvt_v2_b0"),
    "repvit": network("repvit_m0_9"),
    "resnest": network("resnest14d"),
    "sequencer2d": network("sequencer2d_s", 224, layers=(1, 1, 1, 1)),
    "starnet": network("starnet_s1"),
    "vovnet": network("ese_vovnet19b_slim_dw"),
}
