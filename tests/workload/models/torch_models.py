# SPDX-FileCopyrightText: The ncclprobe authors
# SPDX-License-Identifier: Apache-2.0
"""The architectures of the catalogue as PyTorch modules, with the names and the order of registration that torchvision
and Hugging Face transformers give their parameters. Only the graph counts: what is computed makes no sense as a model.

make(name, width, blocks) returns (module, inputs of a sample or two). A width of None is the real one.
"""
import torch
from torch import nn
from torch.nn import functional as F


class Namespace(nn.Module):
    """Holds children under names."""

    def __init__(self, /, **children):
        super().__init__()
        for name, child in children.items():
            self.add_module(name, child)


# torchvision

class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        out = 4 * width
        self.conv1 = nn.Conv2d(channels, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, out, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out)
        self.downsample = None
        if stride != 1 or channels != out:
            self.downsample = nn.Sequential(nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet50(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        channels = width
        for stage, blocks in enumerate((3, 4, 6, 3)):
            inner = width << stage
            layers = []
            for block in range(blocks):
                layers.append(Bottleneck(channels, inner, 2 if stage > 0 and block == 0 else 1))
                channels = 4 * inner
            self.add_module(f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(channels, 1000)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        for stage in (self.layer1, self.layer2, self.layer3, self.layer4):
            x = stage(x)
        return self.fc(x.mean((2, 3)))


class VitBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Dropout(0.0),
                                 nn.Linear(4 * width, width), nn.Dropout(0.0))

    def forward(self, x):
        y = self.ln_1(x)
        y, _ = self.self_attention(y, y, y, need_weights=False)
        x = y + x
        return x + self.mlp(self.ln_2(x))


class VitEncoder(nn.Module):
    def __init__(self, width, heads, blocks):
        super().__init__()
        self.pos_embedding = nn.Parameter(torch.zeros(1, 197, width))
        self.layers = Namespace(**{f"encoder_layer_{i}": VitBlock(width, heads) for i in range(blocks)})
        self.ln = nn.LayerNorm(width)

    def forward(self, x):
        x = x + self.pos_embedding
        for block in self.layers.children():
            x = block(x)
        return self.ln(x)


class Vit(nn.Module):
    def __init__(self, width, heads, blocks):
        super().__init__()
        self.conv_proj = nn.Conv2d(3, width, 16, 16)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.encoder = VitEncoder(width, heads, blocks)
        self.heads = Namespace(head=nn.Linear(width, 1000))

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).permute(0, 2, 1)
        x = torch.cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1)
        return self.heads.head(self.encoder(x)[:, 0])


# Hugging Face

def attend(q, k, v):
    """Softmax attention of (batch, heads, tokens, width)."""
    return F.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, -1) @ v


def split(x, heads):
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def join(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


class BertBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.split_into = heads
        self.attention = Namespace(
            self=Namespace(query=nn.Linear(width, width), key=nn.Linear(width, width), value=nn.Linear(width, width)),
            output=Namespace(dense=nn.Linear(width, width), LayerNorm=nn.LayerNorm(width)))
        self.intermediate = Namespace(dense=nn.Linear(width, 4 * width))
        self.output = Namespace(dense=nn.Linear(4 * width, width), LayerNorm=nn.LayerNorm(width))

    def forward(self, x):
        part = getattr(self.attention, "self")
        q, k, v = (split(linear(x), self.split_into) for linear in (part.query, part.key, part.value))
        output = self.attention.output
        x = output.LayerNorm(output.dense(join(attend(q, k, v))) + x)
        return self.output.LayerNorm(self.output.dense(F.gelu(self.intermediate.dense(x))) + x)


class Bert(nn.Module):
    def __init__(self, width, heads, blocks):
        super().__init__()
        self.embeddings = Namespace(word_embeddings=nn.Embedding(30522, width, padding_idx=0),
                                    position_embeddings=nn.Embedding(512, width),
                                    token_type_embeddings=nn.Embedding(2, width), LayerNorm=nn.LayerNorm(width))
        self.encoder = Namespace(layer=nn.ModuleList(BertBlock(width, heads) for _ in range(blocks)))
        self.pooler = Namespace(dense=nn.Linear(width, width))

    def forward(self, words):
        e = self.embeddings
        x = e.word_embeddings(words) + e.token_type_embeddings(torch.zeros_like(words))
        x = e.LayerNorm(x + e.position_embeddings(torch.arange(words.shape[1])))
        for block in self.encoder.layer:
            x = block(x)
        return x, torch.tanh(self.pooler.dense(x[:, 0]))


class Conv1D(nn.Module):
    """A Linear with transposed weights."""

    def __init__(self, into, out):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(into, out) * 0.02)
        self.bias = nn.Parameter(torch.zeros(out))

    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, x.shape[-1]), self.weight).view(*x.shape[:-1], -1)


class Gpt2Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.split_into = heads
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Namespace(c_attn=Conv1D(width, 3 * width), c_proj=Conv1D(width, width))
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Namespace(c_fc=Conv1D(width, 4 * width), c_proj=Conv1D(4 * width, width))

    def forward(self, x):
        q, k, v = (split(part, self.split_into) for part in self.attn.c_attn(self.ln_1(x)).chunk(3, -1))
        x = x + self.attn.c_proj(join(attend(q, k, v)))
        return x + self.mlp.c_proj(F.gelu(self.mlp.c_fc(self.ln_2(x))))


class Gpt2(nn.Module):
    def __init__(self, width, heads, blocks):
        super().__init__()
        self.transformer = Namespace(wte=nn.Embedding(50257, width), wpe=nn.Embedding(1024, width),
                                     h=nn.ModuleList(Gpt2Block(width, heads) for _ in range(blocks)),
                                     ln_f=nn.LayerNorm(width))
        self.lm_head = nn.Linear(width, 50257, bias=False)
        self.lm_head.weight = self.transformer.wte.weight

    def forward(self, words):
        t = self.transformer
        x = t.wte(words) + t.wpe(torch.arange(words.shape[1]))
        for block in t.h:
            x = block(x)
        return self.lm_head(t.ln_f(x))


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


class LlamaAttention(nn.Module):
    def __init__(self, width, heads, key_heads):
        super().__init__()
        self.counts = heads, key_heads
        key_width = width // heads * key_heads
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, key_width, bias=False)
        self.v_proj = nn.Linear(width, key_width, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, x):
        heads, key_heads = self.counts
        q = split(self.q_proj(x), heads)
        k = split(self.k_proj(x), key_heads)
        v = split(self.v_proj(x), key_heads)
        q, k = (y * 0.9 + y.roll(1, -1) * 0.1 for y in (q, k))  # in place of a rotation
        k, v = (y.repeat_interleave(heads // key_heads, 1) for y in (k, v))
        return self.o_proj(join(attend(q, k, v)))


class LlamaMlp(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class MixtralExpert(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.w1 = nn.Linear(width, inner, bias=False)
        self.w2 = nn.Linear(inner, width, bias=False)
        self.w3 = nn.Linear(width, inner, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class MixtralMoe(nn.Module):
    def __init__(self, width, inner):
        super().__init__()
        self.gate = nn.Linear(width, 8, bias=False)
        self.experts = nn.ModuleList(MixtralExpert(width, inner) for _ in range(8))

    def forward(self, x):
        shares = F.softmax(self.gate(x), -1)
        # All tokens go to all experts, so that every expert has a gradient.
        result = torch.zeros_like(x)
        for i, expert in enumerate(self.experts):
            result = result + expert(x) * shares[..., i:i + 1]
        return result


class LlamaBlock(nn.Module):
    def __init__(self, width, inner, heads, key_heads, experts):
        super().__init__()
        self.self_attn = LlamaAttention(width, heads, key_heads)
        self.inner = "block_sparse_moe" if experts else "mlp"
        self.add_module(self.inner, (MixtralMoe if experts else LlamaMlp)(width, inner))
        self.input_layernorm = RmsNorm(width)
        self.post_attention_layernorm = RmsNorm(width)

    def forward(self, x):
        x = x + self.self_attn(self.input_layernorm(x))
        return x + getattr(self, self.inner)(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, width, inner, heads, key_heads, words, blocks, experts=False):
        super().__init__()
        self.model = Namespace(
            embed_tokens=nn.Embedding(words, width),
            layers=nn.ModuleList(LlamaBlock(width, inner, heads, key_heads, experts) for _ in range(blocks)),
            norm=RmsNorm(width))
        self.lm_head = nn.Linear(width, words, bias=False)

    def forward(self, words):
        x = self.model.embed_tokens(words)
        for block in self.model.layers:
            x = block(x)
        return self.lm_head(self.model.norm(x))


# facebookresearch/dlrm

class Dlrm(nn.Module):
    def __init__(self):
        super().__init__()
        self.bot_l = self.perceptron(13, 512, 256, 128)
        self.top_l = self.perceptron(479, 1024, 1024, 512, 256, 1)

    @staticmethod
    def perceptron(*widths):
        return nn.Sequential(*(module for into, out in zip(widths, widths[1:])
                               for module in (nn.Linear(into, out), nn.ReLU())))

    def forward(self, dense):
        x = self.bot_l(dense)
        vectors = torch.cat([x.unsqueeze(1), torch.ones(x.shape[0], 26, 128)], 1)
        rows, columns = torch.tril_indices(27, 27, offset=-1)
        pairs = torch.bmm(vectors, vectors.transpose(1, 2))[:, rows, columns]
        return self.top_l(torch.cat([x, pairs], 1))


def make(name, narrow, blocks, tokens=8):
    """The model `name` of the catalogue with so many blocks; narrow: with a small width of everything that only costs
    memory (names and orders stay)."""
    images, words = torch.randn(2, 3, 224, 224), torch.randint(1, 100, (2, tokens))

    def width(real, heads):
        return 4 * heads if narrow else real

    if name.startswith("linear:"):
        size, depth = (int(number) for number in name.split(":")[1].split("x"))
        return nn.Sequential(*(nn.Linear(size, size) for _ in range(depth))), torch.randn(2, size)
    if name == "resnet50":
        return ResNet50(8 if narrow else 64), images
    if name in ("vit-b16", "vit-l16"):
        real, heads = (768, 12) if name == "vit-b16" else (1024, 16)
        return Vit(width(real, heads), heads, blocks), images
    if name in ("bert-base", "bert-large"):
        real, heads = (768, 12) if name == "bert-base" else (1024, 16)
        return Bert(width(real, heads), heads, blocks), words
    if name in ("gpt2-124m", "gpt2-1.5b"):
        real, heads = (768, 12) if name == "gpt2-124m" else (1600, 25)
        return Gpt2(width(real, heads), heads, blocks), words
    if name == "dlrm":
        return Dlrm(), torch.randn(2, 13)
    real, inner, heads, key_heads, vocabulary = {
        "llama2-7b": (4096, 11008, 32, 32, 32000), "llama2-13b": (5120, 13824, 40, 40, 32000),
        "llama3-8b": (4096, 14336, 32, 8, 128256), "llama3-70b": (8192, 28672, 64, 8, 128256),
        "mixtral-8x7b": (4096, 14336, 32, 8, 32000)}[name]
    return Llama(width(real, heads), 64 if narrow else inner, heads, key_heads, 128 if narrow else vocabulary, blocks,
                 name == "mixtral-8x7b"), words
