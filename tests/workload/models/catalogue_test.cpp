// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "workload/models/catalogue.h"

#include <cmath>
#include <map>
#include <set>

namespace ncclprobe::workload {
namespace {

ModelSpec model(std::string_view name, const ModelOptions& options = {}) {
  return base::value_or_throw(make_model(name, options));
}

std::string error_of(std::string_view name, const ModelOptions& options = {}) {
  auto made = make_model(name, options);
  REQUIRE(!made);
  return made.error().text();
}

const Layer& layer_named(const ModelSpec& spec, const std::string& name) {
  for (const Layer& layer : spec.layers)
    if (layer.name == name)
      return layer;
  throw std::runtime_error("no layer " + name);
}

TEST_CASE("every model has its published number of parameters") {
  // torchvision: the tables of weights in its documentation (ResNet50_Weights, ViT_B_16_Weights,
  // ViT_L_16_Weights). Hugging Face: num_parameters() of BertModel and GPT2LMHeadModel, and the
  // sizes of the safetensors on the model cards of meta-llama and mistralai. DLRM: its layers, see
  // the test below.
  const std::map<std::string, std::uint64_t> published{
      {"resnet50", 25'557'032},       {"vit-b16", 86'567'656},
      {"vit-l16", 304'326'632},       {"bert-base", 109'482'240},
      {"bert-large", 335'141'888},    {"gpt2-124m", 124'439'808},
      {"gpt2-1.5b", 1'557'611'200},   {"llama2-7b", 6'738'415'616},
      {"llama2-13b", 13'015'864'320}, {"llama3-8b", 8'030'261'248},
      {"llama3-70b", 70'553'706'496}, {"mixtral-8x7b", 46'702'792'704},
      {"dlrm", 171'392 + 2'197'505},
  };
  std::set<std::string> seen;
  for (const KnownModel& known : known_models()) {
    CAPTURE(known.name);
    REQUIRE(published.contains(known.name));
    CHECK(model(known.name).parameter_count() == published.at(known.name));
    CHECK(known.parameters == published.at(known.name));
    CHECK(!known.source.empty());
    seen.insert(known.name);
  }
  CHECK(seen.size() == published.size());
}

TEST_CASE("parameters are numbered without gaps and have names of their own") {
  for (const KnownModel& known : known_models()) {
    CAPTURE(known.name);
    std::set<std::uint64_t> places;
    std::set<std::string> names;
    std::size_t parameters = 0;
    for (const Layer& layer : model(known.name).layers)
      for (const Parameter& one : layer.parameters) {
        places.insert(one.place);
        names.insert(one.name);
        ++parameters;
      }
    CHECK(names.size() == parameters);
    REQUIRE(places.size() == parameters);
    CHECK(*places.rbegin() == parameters - 1);
  }
}

TEST_CASE("models of images multiply as often as torchvision says") {
  // Its tables give billions with three decimals.
  auto millions = [](std::string_view name) {
    return std::llround(static_cast<double>(model(name).forward_flops()) / 2e6);
  };
  CHECK(millions("resnet50") == 4'089);
  CHECK(millions("vit-b16") == 17'564);
  CHECK(millions("vit-l16") == 61'555);
}

// Two operations for every weight of a product and every token, plus attention: 4 x tokens x tokens
// x width per block. Published: Kaplan et al. 2020, table 1.
std::uint64_t text_flops(std::uint64_t weights, std::uint64_t tokens, std::uint64_t width,
                         std::uint64_t blocks) {
  return 2 * weights * tokens + 4 * tokens * tokens * width * blocks;
}

TEST_CASE("models of text compute two operations for each weight and token, and attention") {
  const std::uint64_t gpt2_blocks = 12 * 12 * 768 * 768;
  CHECK(model("gpt2-124m").forward_flops() == text_flops(gpt2_blocks + 50257 * 768, 1024, 768, 12));
  CHECK(model("gpt2-124m", {.sequence = 256}).forward_flops() ==
        text_flops(gpt2_blocks + 50257 * 768, 256, 768, 12));
  // The pooler looks at one token.
  CHECK(model("bert-base").forward_flops() ==
        text_flops(gpt2_blocks, 512, 768, 12) + 2 * 768 * 768);
  // Everything but the looked up embedding and the 65 norms is a factor.
  CHECK(model("llama2-7b").forward_flops() ==
        text_flops(6'738'415'616ull - 32000 * 4096 - 65 * 4096, 4096, 4096, 32));
  CHECK(model("llama3-70b").forward_flops() ==
        text_flops(70'553'706'496ull - 128256ull * 8192 - 161 * 8192, 8192, 8192, 80));
  // Six of the eight experts are not for this token.
  CHECK(model("mixtral-8x7b").forward_flops() ==
        text_flops(46'702'792'704ull - 32000 * 4096 - 65 * 4096 - 32ull * 6 * 3 * 4096 * 14336,
                   4096, 4096, 32));
}

TEST_CASE("a tied head has a product and no parameters") {
  ModelSpec gpt2 = model("gpt2-124m");

  CHECK(gpt2.layers.back().name == "lm_head");
  CHECK(gpt2.layers.back().parameters.empty());
  CHECK(gpt2.layers.back().products == std::vector<Product>{{.rows = 1024, .n = 50257, .k = 768}});
}

TEST_CASE("dlrm is the two perceptrons of MLPerf with the interaction between them") {
  ModelSpec dlrm = model("dlrm");
  const std::uint64_t macs = 13 * 512 + 512 * 256 + 256 * 128 + 27 * 27 * 128 + 479 * 1024 +
                             1024 * 1024 + 1024 * 512 + 512 * 256 + 256;

  CHECK(dlrm.forward_flops() == 2 * macs);
  CHECK(layer_named(dlrm, "emb_l").output_elements == 26 * 128);
  CHECK(layer_named(dlrm, "bot_l.4").parameters.front().elements == 256 * 128);
}

TEST_CASE("only products with the model's input have no gradient for it") {
  for (const KnownModel& known : known_models()) {
    CAPTURE(known.name);
    std::vector<std::string> without;
    for (const Layer& layer : model(known.name).layers)
      for (const Product& product : layer.products)
        if (!product.input_gradient)
          without.push_back(layer.name);
    const std::map<std::string, std::string> first{{"resnet50", "conv1"},
                                                   {"vit-b16", "conv_proj"},
                                                   {"vit-l16", "conv_proj"},
                                                   {"dlrm", "bot_l.0"}};
    auto expected = first.find(known.name);
    CHECK(without == (expected == first.end() ? std::vector<std::string>{}
                                              : std::vector<std::string>{expected->second}));
  }
}

TEST_CASE("blocks are numbered in the order of the forward pass") {
  ModelSpec resnet = model("resnet50");
  CHECK(layer_named(resnet, "conv1").block == -1);
  CHECK(layer_named(resnet, "layer1.0.downsample.0").block == 0);
  CHECK(layer_named(resnet, "layer4.2.conv3").block == 15);

  ModelSpec llama = model("llama3-8b");
  CHECK(layer_named(llama, "model.layers.31.mlp").block == 31);
  CHECK(layer_named(llama, "lm_head").block == -1);
}

TEST_CASE("a layer says what the next one gets") {
  CHECK(layer_named(model("resnet50"), "layer4.2.conv3").output_elements == 2048 * 7 * 7);
  CHECK(layer_named(model("llama3-8b"), "model.layers.0.mlp").output_elements == 8192 * 4096);
  CHECK(layer_named(model("vit-b16"), "encoder.ln").output_elements == 197 * 768);
}

TEST_CASE("key heads make narrower products") {
  const Layer attention = layer_named(model("llama3-8b"), "model.layers.0.self_attn");

  CHECK(attention.products[1] == Product{.rows = 8192, .n = 1024, .k = 4096});
  CHECK(
      attention.products[3] ==
      Product{.kind = Product::Kind::activations, .rows = 8192, .n = 8192, .k = 128, .count = 32});
}

TEST_CASE("fewer blocks make a smaller model that says so in its name") {
  const std::uint64_t block = (70'553'706'496ull - 2 * 128256ull * 8192 - 8192) / 80;
  ModelSpec slice = model("llama3-70b", {.blocks = 4});

  CHECK(slice.name == "llama3-70b:4");
  CHECK(slice.parameter_count() == 2 * 128256ull * 8192 + 8192 + 4 * block);
  CHECK(model("llama3-70b:4") == slice);
  CHECK(model("llama3-70b:80").name == "llama3-70b");
}

TEST_CASE("a stack of Linear layers is made from its name") {
  ModelSpec stack = model("linear:4096x16");

  CHECK(stack.name == "linear:4096x16");
  CHECK(stack.layers.size() == 16);
  CHECK(stack.parameter_count() == 16 * (4096 * 4096 + 4096));
  CHECK(stack.forward_flops() == 2ull * 16 * 4096 * 4096);
  CHECK(stack.layers[3].parameters ==
        std::vector<Parameter>{{"3.weight", 4096 * 4096, 6}, {"3.bias", 4096, 7}});
  CHECK(!stack.layers[0].products[0].input_gradient);
  CHECK(stack.layers[1].products[0].input_gradient);
  CHECK(model("linear:4096x16", {.sequence = 128}).forward_flops() == 128 * stack.forward_flops());
}

TEST_CASE("what no model can be is refused with what can be done") {
  CHECK_THAT(error_of("resnet51"), ContainsSubstring("'resnet51' is not a known model") &&
                                       ContainsSubstring("resnet50") &&
                                       ContainsSubstring("linear:WIDTHxDEPTH"));
  CHECK_THAT(error_of("resnet50", {.sequence = 8}), ContainsSubstring("no sequence length"));
  CHECK_THAT(error_of("vit-b16", {.sequence = 8}), ContainsSubstring("197 tokens"));
  CHECK_THAT(error_of("gpt2-124m", {.sequence = 1025}),
             ContainsSubstring("positions for 1024 tokens, not 1025"));
  CHECK_THAT(error_of("llama2-7b:33"), ContainsSubstring("has 32 blocks, not 33"));
  CHECK_THAT(error_of("llama2-7b:x"), ContainsSubstring("a number of blocks"));
  CHECK_THAT(error_of("llama2-7b:4", {.blocks = 5}), ContainsSubstring("5 were requested too"));
  CHECK_THAT(error_of("resnet50", {.blocks = 1}), ContainsSubstring("no blocks"));
  CHECK_THAT(error_of("linear:4096x16", {.blocks = 2}), ContainsSubstring("gives its depth"));
  for (const char* bad : {"linear", "linear:", "linear:4096", "linear:x4", "linear:0x4",
                          "linear:4x4x4", "linear:9999999x1", "linear:1x999999"})
    CHECK_THAT(error_of(bad), ContainsSubstring("write linear:WIDTHxDEPTH"));
}

} // namespace
} // namespace ncclprobe::workload
