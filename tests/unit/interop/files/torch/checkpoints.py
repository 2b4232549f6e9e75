# SPDX-License-Identifier: MIT
"""Checkpoints as people save them, of random models: checkpoints.py PROGRAM FOLDER [COUNT] writes COUNT of them, one
after the other, and compares what PROGRAM (matrix.cpp) reads with what is in them. Models are torchvision's, timm's and
transformers', where they can be imported, of at most MOST parameters."""

import collections
import inspect
import itertools
import pathlib
import sys
import time
import warnings

import torch

MOST = 20_000_000
warnings.filterwarnings("ignore")


class Block(torch.nn.Module):
    """A small transformer, with tied weights, a buffer and a parameter that is a view."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(50, 16)
        self.layers = torch.nn.ModuleList(
            torch.nn.TransformerEncoderLayer(16, 2, 32, batch_first=True) for _ in range(2))
        self.norm = torch.nn.LayerNorm(16)
        self.head = torch.nn.Linear(16, 50, bias=False)
        self.head.weight = self.words.weight
        self.turned = torch.nn.Parameter(torch.randn(4, 3).t())
        self.register_buffer("mask", torch.ones(8, 8, dtype=torch.bool).tril())
        self.register_buffer("steps", torch.tensor(7))


def hand_made():
    """Small modules without a library."""
    yield "transformer", Block
    yield "convolutions", lambda: torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.Conv2d(8, 4, 1),
    ).to(memory_format=torch.channels_last)
    yield "recurrent", lambda: torch.nn.LSTM(4, 8, num_layers=2, bidirectional=True)
    yield "attention", lambda: torch.nn.MultiheadAttention(8, 2)


def torchvision_models():
    try:
        import torchvision.models as models
    except ImportError:
        return
    for name in models.list_models():
        if name.startswith("quantized"):
            continue
        # Else some fetch the weights of a part.
        names = inspect.signature(models.get_model_builder(name)).parameters
        options = {n: None for n in ("weights", "weights_backbone") if n in names}
        yield "torchvision." + name, lambda n=name, o=options: models.get_model(n, **o)


def timm_models():
    try:
        import timm
    except ImportError:
        return
    for name in timm.list_models()[::4]:
        yield "timm." + name, lambda n=name: timm.create_model(n, pretrained=False)


def transformers_models():
    try:
        import transformers
        from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    except ImportError:
        return

    def make(kind):
        config = CONFIG_MAPPING[kind]()
        for part in (config, *(getattr(config, n, None) for n in ("text_config", "vision_config", "encoder", "decoder"))):
            for name in ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers"):
                if isinstance(getattr(part, name, None), int):
                    setattr(part, name, 2)
        model = transformers.AutoModel.from_config(config)
        return model

    for kind in list(CONFIG_MAPPING):
        yield "transformers." + kind, lambda k=kind: make(k)


def materialize(make):
    """A model with random values, without the time of its own initialization."""
    with torch.device("meta"):
        model = make()
    total = sum(p.numel() for p in model.parameters())
    if total > MOST or total == 0:
        raise ValueError(f"{total} parameters")
    model = model.to_empty(device="cpu")
    if hasattr(model, "tie_weights"):
        model.tie_weights()
    with torch.no_grad():
        for tensor in itertools.chain(model.parameters(), model.buffers()):
            if tensor.is_floating_point():
                tensor.uniform_(-1, 1)
            elif tensor.is_complex():
                torch.view_as_real(tensor).uniform_(-1, 1)
            else:
                tensor.random_(0, 2)
    return model


def trained(model, optimizer):
    """A checkpoint in the middle of training."""
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 0.25)
    optimizer.step()
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5)
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": schedule.state_dict(),
            "epoch": 3, "best": 0.5, "args": {"lr": 1e-3, "names": ["a", "b"], "sizes": (3, 4), "resume": None}}


def lightning(model):
    """As PyTorch Lightning's .ckpt."""
    adam = torch.optim.AdamW(model.parameters())
    made = trained(model, adam)
    return {"epoch": 2, "global_step": 100, "pytorch-lightning_version": "2.4.0",
            "state_dict": collections.OrderedDict(("model." + k, v) for k, v in made["model"].items()),
            "loops": {"fit_loop": {"state_dict": {}, "epoch_progress": {"total": {"ready": 3, "completed": 2}}}},
            "callbacks": {"ModelCheckpoint{'monitor': None}": {"best_model_score": torch.tensor(0.5), "dirpath": "/x"}},
            "optimizer_states": [made["optimizer"]], "lr_schedulers": [made["scheduler"]],
            "hparams_name": "kwargs", "hyper_parameters": {"hidden": 8, "dropout": 0.1}}


# How each is saved: a name, what is saved of a model, and torch.save's options.
FORMS = (
    ("state_dict", lambda m: m.state_dict(), {}),
    ("half", lambda m: m.half().state_dict(), {}),
    ("bfloat16", lambda m: m.bfloat16().state_dict(), {}),
    ("training", lambda m: trained(m, torch.optim.Adam(m.parameters(), amsgrad=True)), {}),
    ("legacy", lambda m: m.state_dict(), {"_use_new_zipfile_serialization": False}),
    ("parameters", lambda m: dict(m.named_parameters()), {}),
    ("lightning", lightning, {}),
    ("protocol5", lambda m: m.state_dict(), {"pickle_protocol": 5}),
    ("legacy_training", lambda m: trained(m, torch.optim.SGD(m.parameters(), 0.1, momentum=0.9)),
     {"_use_new_zipfile_serialization": False, "pickle_protocol": 4}),
    ("double", lambda m: {"ema": m.double().state_dict(), "list": [p for p in m.parameters()][:3]},
     {"pickle_protocol": 3}),
    ("buffers", lambda m: {"buffers": dict(m.named_buffers()), "model": m.state_dict()}, {"pickle_protocol": 4}),
)


def alternate(*sources):
    """One of each in turns, until all are used up."""
    sources = [iter(source) for source in sources]
    while sources:
        for source in list(sources):
            try:
                yield next(source)
            except StopIteration:
                sources.remove(source)


def main(program, folder, count=200):
    from test_matrix import compare_file

    path = pathlib.Path(folder) / "checkpoint.pt"
    done, tensors, nbytes, skipped, wrong = 0, 0, 0, collections.Counter(), []
    forms = itertools.cycle(FORMS)
    begin = time.monotonic()
    kinds = collections.Counter()
    for name, make in alternate(hand_made(), torchvision_models(), timm_models(), transformers_models()):
        if done == count:
            break
        torch.manual_seed(done)
        try:
            model = materialize(make)
        except Exception as error:  # another library is missing, or the model is too large
            skipped[f"{name.split('.')[0]}: {type(error).__name__}"] += 1
            continue
        form, take, options = next(forms)
        saved = take(model)
        torch.save(saved, path, **options)
        nbytes += path.stat().st_size
        try:
            tensors += compare_file(program, path, saved)
        except AssertionError as error:
            wrong.append(f"{name} {form}: {str(error)[:300]}")
            print("WRONG", wrong[-1], flush=True)
        done += 1
        kinds[name.split(".")[0] if "." in name else "hand-made"] += 1
        path.unlink()
        if done % 10 == 0:
            print(f"{done} checkpoints, {time.monotonic() - begin:.0f} s", flush=True)
    print(f"{done} checkpoints {dict(kinds)}, {tensors} tensors, {nbytes} bytes, {len(wrong)} wrong; "
          f"left out: {dict(skipped)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3], *map(int, sys.argv[3:])))
