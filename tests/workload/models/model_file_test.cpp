// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/catch.h"
#include "support/refusals.h"
#include "workload/models/model_file.h"

namespace ncclprobe::workload {
namespace {

ModelSpec read_json(const std::string& text) {
  return base::value_or_throw(parse_model_json(text, "m.json"));
}

std::string error_in(const std::string& text) {
  auto spec = parse_model_json(text, "m.json");
  REQUIRE(!spec);
  return spec.error().text();
}

TEST_CASE("every model of the catalogue is read back from its file as it was") {
  for (const KnownModel& known : known_models()) {
    CAPTURE(known.name);
    ModelSpec spec = base::value_or_throw(make_model(known.name));
    CHECK(read_json(write_model_json(spec)) == spec);
  }
}

TEST_CASE("a list of parameters is a model") {
  ModelSpec spec = read_json(R"({"name": "net", "sequence": 16, "parameters": [
    {"name": "fc1.weight", "shape": [32, 8]}, {"name": "fc1.bias", "shape": [32]},
    {"name": "scale", "shape": []}, {"name": "conv.weight", "shape": [4, 3, 3, 3]},
    {"name": "table", "elements": 100}]})");

  CHECK(spec.name == "net");
  CHECK(spec.sequence == 16);
  REQUIRE(spec.layers.size() == 4);
  CHECK(spec.layers[0].name == "fc1");
  CHECK(spec.layers[0].parameters ==
        std::vector<Parameter>{{"fc1.weight", 256, 0}, {"fc1.bias", 32, 1}});
  CHECK(spec.layers[0].products == std::vector<Product>{{.rows = 16, .n = 32, .k = 8}});
  CHECK(spec.layers[0].output_elements == 16 * 32);
  CHECK(spec.layers[1].parameters == std::vector<Parameter>{{"scale", 1, 2}});
  CHECK(spec.layers[2].parameters == std::vector<Parameter>{{"conv.weight", 108, 3}});
  CHECK(spec.layers[2].products.empty());
  CHECK(spec.layers[3].parameters == std::vector<Parameter>{{"table", 100, 4}});
}

TEST_CASE("without a sequence a product has one row") {
  ModelSpec spec = read_json(R"({"name": "net", "parameters": [{"name": "w", "shape": [32, 8]}]})");

  CHECK(spec.layers[0].products == std::vector<Product>{{.rows = 1, .n = 32, .k = 8}});
}

TEST_CASE("layers say what they compute, or have it derived") {
  ModelSpec spec = read_json(R"({"name": "net", "layers": [
    {"name": "words", "kind": "embedding", "output": 64, "products": [],
     "parameters": [{"name": "words.weight", "shape": [1000, 64]}]},
    {"name": "fc", "kind": "head", "block": 3,
     "parameters": [{"name": "fc.weight", "shape": [10, 64], "place": 7}]},
    {"name": "score", "products": [{"rows": 5, "n": 6, "k": 7, "kind": "activations", "count": 8,
                                    "input_gradient": false}]}]})");

  CHECK(spec.layers[0].products.empty());
  CHECK(spec.layers[0].kind == LayerKind::embedding);
  CHECK(spec.layers[0].output_elements == 64);
  CHECK(spec.layers[1].block == 3);
  CHECK(spec.layers[1].parameters[0].place == 7);
  CHECK(spec.layers[1].products == std::vector<Product>{{.rows = 1, .n = 10, .k = 64}});
  CHECK(spec.layers[2].products == std::vector<Product>{{.kind = Product::Kind::activations,
                                                         .rows = 5,
                                                         .n = 6,
                                                         .k = 7,
                                                         .count = 8,
                                                         .input_gradient = false}});
}

TEST_CASE("TOML says the same as JSON") {
  const std::string toml = R"(
name = "net"
sequence = 16

[[layers]]
name = "fc"
kind = "mlp"
parameters = [{ name = "fc.weight", shape = [32, 8] }, { name = "fc.bias", elements = 32 }]

[[layers]]
name = "score"
[[layers.products]]
rows = 16
n = 16
k = 8
kind = "activations"
)";
  const std::string json = R"({"name": "net", "sequence": 16, "layers": [
    {"name": "fc", "kind": "mlp", "parameters": [{"name": "fc.weight", "shape": [32, 8]},
                                                 {"name": "fc.bias", "elements": 32}]},
    {"name": "score", "products": [{"rows": 16, "n": 16, "k": 8, "kind": "activations"}]}]})";

  CHECK(base::value_or_throw(parse_model_toml(toml, "m.toml")) == read_json(json));
}

TEST_CASE("what is wrong in a file is said with its place") {
  support::check_refusals(
      {{"{\n\"name\": \"x\",\n\"layers\": [}\n", {"m.json:3:"}},
       {"[]", {"m.json:", "object"}},
       {R"({"name": "x"})", {"layers"}},
       {R"({"layers": []})", {"'name'"}},
       {R"({"name": "a b", "layers": []})", {"m.json: name:", "blanks"}},
       {R"({"name": "x", "layers": []})", {"parameters"}},
       {R"({"name": "x", "sequence": 0, "parameters": []})", {"sequence:", "from 1"}},
       {R"({"name": "x", "layers": [{"name": "l"}, {"name": "m", "prodcuts": []}]})",
        {"layers[1]:", "'prodcuts'"}},
       {R"({"name": "x", "layers": [{"name": "l", "kind": "dense"}]})",
        {"layers[0].kind:", "'dense'", "embedding"}},
       {R"({"name": "x", "parameters": [{"name": "w", "shape": [3, -1]}]})",
        {"parameters[0].shape[1]:"}},
       {R"({"name": "x", "parameters": [{"name": "w"}]})", {"parameters[0]:", "shape"}},
       {R"({"name": "x", "parameters": [{"name": "w", "shape": "3"}]})",
        {"parameters[0].shape:", "list"}},
       {R"({"name": "x", "parameters": [{"name": "w", "shape": [1099511627776, 2]}]})",
        {"1099511627776 elements"}},
       {R"({"name": "x", "parameters": [{"name": "w", "elements": 1099511627776},
                                        {"name": "v", "elements": 1}]})",
        {"1099511627776 parameters"}},
       {R"({"name": "x", "sequence": 1099511627776, "parameters": [
            {"name": "w", "shape": [1048576, 1048576]}]})",
        {"1.21e+24"}},
       {R"({"name": "x", "layers": [{"name": "l", "products": [{"rows": 1}]}]})",
        {"layers[0].products[0]:", "'n'"}},
       {R"({"name": "x", "layers": [{"name": "l", "products": [
            {"rows": 1, "n": 1, "k": 1, "input_gradient": 1}]}]})",
        {"input_gradient:", "true or false"}}},
      error_in);
}

TEST_CASE("what is wrong in TOML is said with its line") {
  auto broken = parse_model_toml("name = 'x'\nlayers = [\n", "m.toml");
  REQUIRE(!broken);
  CHECK_THAT(broken.error().text(), ContainsSubstring("m.toml:"));

  auto infinite = parse_model_toml("name = 'x'\nsequence = inf\n", "m.toml");
  REQUIRE(!infinite);
  CHECK_THAT(infinite.error().text(), ContainsSubstring("m.toml"));
}

TEST_CASE("a model is found by its name or its file") {
  CHECK(base::value_or_throw(find_model("bert-base", {.sequence = 128})).sequence == 128);

  auto missing = find_model("/nowhere/net.json", {});
  REQUIRE(!missing);
  CHECK(missing.error().code == base::Errc::not_found);
  auto both = find_model("net.toml", {.sequence = 128});
  REQUIRE(!both);
  CHECK_THAT(both.error().text(), ContainsSubstring("the file itself gives"));
  auto other = read_model_file("net.yaml");
  REQUIRE(!other);
  CHECK_THAT(other.error().text(), ContainsSubstring("they end in .json or .toml"));
}

} // namespace
} // namespace ncclprobe::workload
