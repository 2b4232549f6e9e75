# SPDX-License-Identifier: MIT
"""Twelve architectures of CPU inference, small, with random weights from a fixed seed. A function each gives the module,
example inputs, and the dynamic dimensions for torch.export.

torchvision, timm and transformers define those that they have.
"""

import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F


def batch():
    return Dim("batch", min=1, max=16)


def resnet18():
    from torchvision.models import resnet18 as network

    return network(), (torch.randn(2, 3, 64, 64),), ({0: batch()},)


def mobilenet_v3():
    from torchvision.models import mobilenet_v3_small

    return mobilenet_v3_small(), (torch.randn(2, 3, 64, 64),), ({0: batch()},)


class Detector(nn.Module):
    """One level of anchors-free boxes, the best 100 by score, and torchvision's non-maximum suppression."""

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU()
        )
        self.head = nn.Conv2d(32, 5, 1)

    def forward(self, image):
        import torchvision

        maps = self.head(self.body(image))[0]
        height, width = maps.shape[1:]
        y, x = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        centre = torch.stack([x, y], -1).reshape(-1, 2) * 8.0 + 4
        sides = maps[:4].sigmoid().reshape(4, -1).t() * 32
        boxes = torch.cat([centre - sides[:, :2], centre + sides[:, 2:]], 1)
        scores, best = maps[4].flatten().sigmoid().topk(100)
        boxes = boxes[best]
        kept = torchvision.ops.nms(boxes, scores, 0.3)
        return boxes[kept], scores[kept]


def detector():
    return Detector(), (torch.rand(1, 3, 128, 128),), None


def vit():
    import timm

    model = timm.create_model("vit_tiny_patch16_224", img_size=64, depth=4, num_classes=10)
    return model, (torch.randn(2, 3, 64, 64),), ({0: batch()},)


class Encoder(nn.Module):
    """transformers' Bert with plain results."""

    def __init__(self):
        super().__init__()
        from transformers import BertConfig, BertModel

        self.model = BertModel(
            BertConfig(
                vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
                max_position_embeddings=64,
            )  # fmt: skip
        )

    def forward(self, ids, mask):
        found = self.model(input_ids=ids, attention_mask=mask)
        return found.last_hidden_state, found.pooler_output


def bert():
    mask = torch.ones(2, 24, dtype=torch.long)
    mask[1, 15:] = 0
    return Encoder(), (torch.randint(0, 1000, (2, 24)), mask), ({0: batch()},) * 2


class DecoderLayer(nn.Module):
    def __init__(self, width, heads, most):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.gate, self.up = nn.Linear(width, 2 * width, bias=False), nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)
        self.register_buffer("keys", torch.zeros(1, heads, most, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, most, width // heads))

    def forward(self, x, position, turn, seen):
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).unbind(-3)
        q, k = (torch.cat([-t[..., t.shape[-1] // 2 :], t[..., : t.shape[-1] // 2]], -1) * turn[1] + t * turn[0] for t in (q, k))
        self.keys.index_copy_(2, position, k.transpose(1, 2))
        self.values.index_copy_(2, position, v.transpose(1, 2))
        found = F.scaled_dot_product_attention(q.transpose(1, 2), self.keys, self.values, attn_mask=seen)
        x = x + self.out(found.transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """Llama's layers: RMS norms, rotary positions, gated products, a cache of keys and values. One token a call."""

    MOST = 64

    def __init__(self, width=64, heads=4, layers=3, words=256):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(DecoderLayer(width, heads, self.MOST) for _ in range(layers))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.register_buffer("rates", 10000.0 ** (-torch.arange(0, width // heads, 2) / (width // heads)))

    def forward(self, token, position):
        angles = (position[:, None] * self.rates).repeat(1, 2)[:, None]
        seen = (torch.arange(self.MOST) <= position)[None]
        x = self.words(token)
        for layer in self.layers:
            x = layer(x, position, (angles.cos(), angles.sin()), seen)
        return self.head(self.norm(x))


def llama():
    return Decoder(), (torch.tensor([[7]]), torch.tensor([0])), None


def whisper():
    from transformers import WhisperConfig, WhisperModel

    return WhisperModel(
        WhisperConfig(
            vocab_size=500, num_mel_bins=20, d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=4, encoder_ffn_dim=128, decoder_ffn_dim=128, max_source_positions=50,
            max_target_positions=32, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        )  # fmt: skip
    )


class WhisperEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = whisper().encoder

    def forward(self, features):
        return self.model(features).last_hidden_state


class WhisperDecoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = whisper().decoder

    def forward(self, ids, states):
        return self.model(input_ids=ids, encoder_hidden_states=states, use_cache=False).last_hidden_state


def whisper_encoder():
    return WhisperEncoder(), (torch.randn(1, 20, 100),), None


def whisper_decoder():
    inputs = (torch.randint(3, 500, (1, 6)), torch.randn(1, 50, 64))
    return WhisperDecoder(), inputs, ({1: Dim("words", min=2, max=32)}, None)


class Vad(nn.Module):
    """Speech in 512 samples: a spectrum, convolutions, an LSTM whose state goes in and out."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(256))
        self.features = nn.Sequential(
            nn.Conv1d(129, 32, 3, padding=1), nn.ReLU(), nn.Conv1d(32, 32, 3, stride=2, padding=1), nn.ReLU()
        )
        self.cell = nn.LSTM(32, 32, batch_first=True)
        self.head = nn.Linear(32, 1)

    def forward(self, samples, hidden, memory):
        spectrum = torch.stft(samples, 256, 128, window=self.window, return_complex=True).abs()
        x, (hidden, memory) = self.cell(self.features(spectrum).transpose(1, 2), (hidden, memory))
        return self.head(x).sigmoid().mean(1), hidden, memory


def vad():
    return Vad(), (torch.randn(1, 512), torch.zeros(1, 1, 32), torch.zeros(1, 1, 32)), None


class UNet(nn.Module):
    def __init__(self):
        super().__init__()

        def pair(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU())

        self.down1, self.down2, self.middle = pair(3, 16), pair(16, 32), pair(32, 64)
        self.up2, self.up1 = nn.ConvTranspose2d(64, 32, 2, 2), nn.ConvTranspose2d(32, 16, 3, 2, 1, output_padding=1)
        self.join2, self.join1, self.head = pair(64, 32), pair(32, 16), nn.Conv2d(16, 4, 1)

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(F.max_pool2d(a, 2))
        c = self.up2(self.middle(F.max_pool2d(b, 2)))
        d = self.up1(self.join2(torch.cat([b, c], 1)))
        return self.head(self.join1(torch.cat([a, d], 1))).argmax(1), F.interpolate(d, scale_factor=2, mode="bilinear")


def unet():
    return UNet(), (torch.randn(2, 3, 32, 32),), ({0: batch()},)


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(1000, 16, mode=mode) for mode in ("sum", "mean", "max"))
        self.dense = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(16 + 6, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, numbers, ids, offsets):
        x = self.dense(numbers)
        all_ = torch.stack([x] + [bag(ids, offsets) for bag in self.bags], 1)
        products = torch.bmm(all_, all_.transpose(1, 2))
        i, j = torch.tril_indices(4, 4, -1).unbind()
        return self.top(torch.cat([x, products[:, i, j]], 1)).sigmoid()


def recommender():
    return Recommender(), (torch.randn(4, 13), torch.randint(0, 1000, (11,)), torch.tensor([0, 3, 3, 9])), None


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(500, 32)
        self.cells = nn.GRU(32, 32, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Linear(64, 9)

    def forward(self, ids):
        states, _ = self.cells(self.words(ids))
        return self.head(states).argmax(-1), states


def tagger():
    return Tagger(), (torch.randint(0, 500, (2, 12)),), ({0: batch()},)


def bf16_mlp():
    layers = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 10))
    return layers.bfloat16(), (torch.randn(4, 64, dtype=torch.bfloat16),), ({0: batch()},)


NETWORKS = {
    f.__name__: f
    for f in (
        resnet18, mobilenet_v3, detector, vit, bert, llama, whisper_encoder, whisper_decoder, vad, unet, recommender, tagger,
        bf16_mlp,
    )  # fmt: skip
}


def make(name):
    """The module, its inputs and dynamic shapes, with the same weights each time."""
    torch.manual_seed(1)
    module, inputs, shapes = NETWORKS[name]()
    for layer in module.modules():  # as if it had been trained
        if isinstance(layer, nn.BatchNorm2d):
            layer.running_mean.uniform_(-0.3, 0.3)
            layer.running_var.uniform_(0.5, 2)
    return module.eval(), inputs, shapes
