// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/families.h"
#include "workload/models/model_builder.h"

#include <fmt/format.h>

#include <array>

namespace ncclprobe::workload {
namespace {

constexpr std::uint64_t k_classes = 1000;

// A convolution without bias, followed by batch norm.
struct ConvolutionSize {
  std::uint64_t in = 0, out = 0, kernel = 0;
  std::uint64_t side = 0; // of the output
};
void add_convolution(ModelBuilder& builder, const std::string& convolution, const std::string& norm,
                     const ConvolutionSize& size) {
  const std::uint64_t pixels = size.side * size.side;
  Layer layer = builder.layer(convolution, LayerKind::convolution, pixels * size.out);
  builder.convolution(layer, convolution, pixels, size.in, size.out, size.kernel, Bias::no);
  builder.norm(layer, norm, size.out);
  builder.append(std::move(layer));
}

} // namespace

ModelSpec make_resnet50(const std::string& name) {
  struct Stage {
    int blocks = 0;
    std::uint64_t width = 0;
    std::uint64_t side = 0; // of its output
  };
  constexpr std::array<Stage, 4> k_stages{{{3, 64, 56}, {4, 128, 28}, {6, 256, 14}, {3, 512, 7}}};
  constexpr std::uint64_t k_expansion = 4;

  ModelBuilder builder(name, 0);
  add_convolution(builder, "conv1", "bn1", {3, 64, 7, 112});
  std::uint64_t channels = 64;
  std::uint64_t side = 56; // after the pooling
  for (std::size_t stage = 0; stage < k_stages.size(); ++stage) {
    const auto& [blocks, width, out_side] = k_stages[stage];
    for (int block = 0; block < blocks; ++block) {
      const std::string at = fmt::format("layer{}.{}", stage + 1, block);
      const std::uint64_t out = width * k_expansion;
      builder.begin_block();
      // The second convolution has the stride, as in torchvision's ResNet v1.5.
      add_convolution(builder, at + ".conv1", at + ".bn1", {channels, width, 1, side});
      add_convolution(builder, at + ".conv2", at + ".bn2", {width, width, 3, out_side});
      add_convolution(builder, at + ".conv3", at + ".bn3", {width, out, 1, out_side});
      if (block == 0)
        add_convolution(builder, at + ".downsample.0", at + ".downsample.1",
                        {channels, out, 1, out_side});
      builder.end_block();
      channels = out;
      side = out_side;
    }
  }
  Layer head = builder.layer("fc", LayerKind::head, k_classes);
  builder.linear(head, "fc", 1, channels, k_classes, Bias::yes);
  builder.append(std::move(head));
  return builder.finish();
}

ModelSpec make_vit(const std::string& name, const VitSize& size) {
  constexpr std::uint64_t k_patch = 16;
  constexpr std::uint64_t k_patches = (224 / k_patch) * (224 / k_patch);
  const std::uint64_t tokens = k_patches + 1; // the class token comes first
  const std::uint64_t width = size.width;
  const std::uint64_t stream = tokens * width;

  ModelBuilder builder(name, tokens);
  Layer patches = builder.layer("conv_proj", LayerKind::embedding, stream);
  Layer positions = builder.layer("encoder.pos_embedding", LayerKind::embedding, stream);
  builder.parameter(positions, "class_token", width);
  builder.convolution(patches, "conv_proj", k_patches, 3, width, k_patch, Bias::yes);
  builder.parameter(positions, "encoder.pos_embedding", stream);
  builder.append(std::move(patches));
  builder.append(std::move(positions));

  auto add_norm = [&](const std::string& module) {
    Layer norm = builder.layer(module, LayerKind::other, stream);
    builder.norm(norm, module, width);
    builder.append(std::move(norm));
  };
  for (int block = 0; block < size.blocks; ++block) {
    const std::string at = fmt::format("encoder.layers.encoder_layer_{}", block);
    builder.begin_block();
    add_norm(at + ".ln_1");
    Layer attention = builder.layer(at + ".self_attention", LayerKind::attention, stream);
    // One product for queries, keys and values, with nn.MultiheadAttention's parameter names.
    builder.parameter(attention, attention.name + ".in_proj_weight", 3 * width * width);
    builder.parameter(attention, attention.name + ".in_proj_bias", 3 * width);
    attention.products.push_back({.rows = tokens, .n = 3 * width, .k = width});
    add_attention(attention, tokens, size.heads, width / size.heads);
    builder.linear(attention, attention.name + ".out_proj", tokens, width, width, Bias::yes);
    builder.append(std::move(attention));
    add_norm(at + ".ln_2");
    Layer mlp = builder.layer(at + ".mlp", LayerKind::mlp, stream);
    builder.linear(mlp, mlp.name + ".0", tokens, width, 4 * width, Bias::yes);
    builder.linear(mlp, mlp.name + ".3", tokens, 4 * width, width, Bias::yes);
    builder.append(std::move(mlp));
    builder.end_block();
  }
  add_norm("encoder.ln");
  Layer head = builder.layer("heads.head", LayerKind::head, k_classes);
  builder.linear(head, "heads.head", 1, width, k_classes, Bias::yes);
  builder.append(std::move(head));
  return builder.finish();
}

} // namespace ncclprobe::workload
