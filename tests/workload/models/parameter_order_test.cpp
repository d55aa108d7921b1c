// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/models/catalogue.h"
#include "workload/models/parameter_order.h"

namespace ncclprobe::workload {
namespace {

using Names = std::vector<std::string>;

ModelSpec known_model(std::string_view name) {
  return base::value_or_throw(make_model(name));
}

// The first `count`, less the path of a block that they share.
Names names(const ModelSpec& spec, const std::vector<ParameterAt>& order, std::size_t from,
            std::size_t count, const std::string& path = "") {
  Names result;
  for (std::size_t i = from; i < from + count; ++i) {
    std::string name = parameter_at(spec, order[i]).name;
    result.push_back(name.starts_with(path) ? name.substr(path.size()) : name);
  }
  return result;
}

TEST_CASE("parameters are registered in PyTorch's order") {
  ModelSpec llama = known_model("llama2-7b");
  CHECK(names(llama, registration_order(llama), 0, 10, "model.layers.0.") ==
        Names{"model.embed_tokens.weight", "self_attn.q_proj.weight", "self_attn.k_proj.weight",
              "self_attn.v_proj.weight", "self_attn.o_proj.weight", "mlp.gate_proj.weight",
              "mlp.up_proj.weight", "mlp.down_proj.weight", "input_layernorm.weight",
              "post_attention_layernorm.weight"});

  ModelSpec vit = known_model("vit-b16");
  CHECK(names(vit, registration_order(vit), 0, 10, "encoder.layers.encoder_layer_0.") ==
        Names{"class_token", "conv_proj.weight", "conv_proj.bias", "encoder.pos_embedding",
              "ln_1.weight", "ln_1.bias", "self_attention.in_proj_weight",
              "self_attention.in_proj_bias", "self_attention.out_proj.weight",
              "self_attention.out_proj.bias"});

  ModelSpec bert = known_model("bert-base");
  CHECK(names(bert, registration_order(bert), 0, 7, "encoder.layer.0.attention.") ==
        Names{"embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight",
              "embeddings.token_type_embeddings.weight", "embeddings.LayerNorm.weight",
              "embeddings.LayerNorm.bias", "self.query.weight", "self.query.bias"});

  ModelSpec resnet = known_model("resnet50");
  CHECK(names(resnet, registration_order(resnet), 0, 4) ==
        Names{"conv1.weight", "bn1.weight", "bn1.bias", "layer1.0.conv1.weight"});
  CHECK(names(resnet, registration_order(resnet), 9, 4, "layer1.0.") ==
        Names{"conv3.weight", "bn3.weight", "bn3.bias", "downsample.0.weight"});

  ModelSpec mixtral = known_model("mixtral-8x7b");
  CHECK(names(mixtral, registration_order(mixtral), 5, 4, "model.layers.0.block_sparse_moe.") ==
        Names{"gate.weight", "experts.0.w1.weight", "experts.0.w2.weight", "experts.0.w3.weight"});
}

TEST_CASE("gradients arrive in the order in which autograd has them") {
  ModelSpec llama = known_model("llama2-7b");
  CHECK(names(llama, arrival_order(llama), 0, 11, "model.layers.31.") ==
        Names{"lm_head.weight", "model.norm.weight", "mlp.down_proj.weight", "mlp.up_proj.weight",
              "mlp.gate_proj.weight", "post_attention_layernorm.weight", "self_attn.o_proj.weight",
              "self_attn.v_proj.weight", "self_attn.k_proj.weight", "self_attn.q_proj.weight",
              "input_layernorm.weight"});

  ModelSpec gpt2 = known_model("gpt2-124m");
  CHECK(names(gpt2, arrival_order(gpt2), 0, 6, "transformer.h.11.") ==
        Names{"transformer.ln_f.weight", "transformer.ln_f.bias", "mlp.c_proj.bias",
              "mlp.c_proj.weight", "mlp.c_fc.bias", "mlp.c_fc.weight"});
  CHECK(parameter_at(gpt2, arrival_order(gpt2).back()).name == "transformer.wte.weight");

  ModelSpec resnet = known_model("resnet50");
  CHECK(names(resnet, arrival_order(resnet), 0, 5, "layer4.2.") ==
        Names{"fc.bias", "fc.weight", "bn3.weight", "bn3.bias", "conv3.weight"});

  ModelSpec vit = known_model("vit-b16");
  std::vector<ParameterAt> order = arrival_order(vit);
  CHECK(names(vit, order, order.size() - 4, 4) ==
        Names{"encoder.pos_embedding", "class_token", "conv_proj.weight", "conv_proj.bias"});
}

TEST_CASE("a known_model that does not number its parameters is taken as it stands") {
  ModelSpec spec;
  spec.layers = {{.name = "a", .parameters = {{"a.weight", 1}, {"a.bias", 1}}},
                 {.name = "b"},
                 {.name = "c", .parameters = {{"c.weight", 1}}}};

  CHECK(names(spec, registration_order(spec), 0, 3) == Names{"a.weight", "a.bias", "c.weight"});
  CHECK(names(spec, arrival_order(spec), 0, 3) == Names{"c.weight", "a.bias", "a.weight"});
}

} // namespace
} // namespace ncclprobe::workload
