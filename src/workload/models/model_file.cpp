// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "workload/models/model_file.h"

#include "base/atomic_file.h"
#include "base/document_limits.h"
#include "base/parse_enum.h"
#include "workload/models/toml_as_json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>

namespace ncclprobe::workload {
namespace {

using nlohmann::json;

// Prevents overflow of all sums and products of sizes.
constexpr std::uint64_t k_most = std::uint64_t{1} << 40;
constexpr double k_most_multiplications = 1e18;
constexpr std::size_t k_most_bytes = std::size_t{64} << 20;

// A value of the document and its path, "layers[2].products".
class Node {
public:
  Node(const json& value, std::string path) : value_(&value), path_(std::move(path)) {}

  [[noreturn]] void wrong(const std::string& what, std::string hint = "") const {
    throw Exception(
        {Errc::invalid_argument, path_.empty() ? what : path_ + ": " + what, std::move(hint)});
  }

  void expect_object(std::initializer_list<const char*> keys) const {
    if (!value_->is_object())
      wrong("expected an object with keys");
    for (const auto& [key, ignored] : value_->items())
      if (std::ranges::none_of(keys, [&name = key](const char* one) { return name == one; }))
        wrong(fmt::format("'{}' is not a valid key here", key),
              fmt::format("keys are {}", fmt::join(keys, ", ")));
  }

  bool has(const char* key) const { return value_->contains(key); }
  Node at(const char* key) const {
    auto found = value_->find(key);
    if (found == value_->end())
      wrong(fmt::format("'{}' is missing", key));
    return {*found, path_.empty() ? key : path_ + "." + key};
  }

  std::vector<Node> elements() const {
    if (!value_->is_array())
      wrong("expected a list");
    std::vector<Node> all;
    for (std::size_t i = 0; i < value_->size(); ++i)
      all.emplace_back((*value_)[i], fmt::format("{}[{}]", path_, i));
    return all;
  }

  std::uint64_t number(std::uint64_t least, std::uint64_t most = k_most) const {
    if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() < least ||
        value_->get<std::uint64_t>() > most)
      wrong(fmt::format("expected a whole number from {} to {}", least, most));
    return value_->get<std::uint64_t>();
  }
  std::uint64_t number_or(const char* key, std::uint64_t least, std::uint64_t otherwise) const {
    return has(key) ? at(key).number(least) : otherwise;
  }
  int small_number_or(const char* key, int otherwise) const {
    return has(key) ? static_cast<int>(at(key).number(0, 1'000'000)) : otherwise;
  }

  std::string text() const {
    if (!value_->is_string() || value_->get_ref<const std::string&>().empty())
      wrong("expected a text that is not empty");
    return value_->get<std::string>();
  }
  template <typename T>
  T one_of(const char* what) const {
    auto value = base::parse_enum<T>(text(), what);
    if (!value)
      wrong(value.error().message, value.error().hint);
    return *value;
  }
  bool flag() const {
    if (!value_->is_boolean())
      wrong("expected true or false");
    return value_->get<bool>();
  }

private:
  const json* value_;
  std::string path_;
};

struct ReadParameter {
  Parameter parameter;
  std::vector<std::uint64_t> shape; // empty: unknown, or a scalar
};

class Reader {
public:
  ModelSpec read(const Node& document) {
    document.expect_object({"name", "sequence", "layers", "parameters"});
    const Node name = document.at("name");
    spec_.name = name.text();
    if (spec_.name.find_first_of(" \t\r\n") != std::string::npos)
      name.wrong("the name of a model must not contain blanks", "write a '-' instead");
    spec_.sequence = document.number_or("sequence", 1, 0);
    if (document.has("layers") == document.has("parameters"))
      document.wrong("give either layers or a list of parameters");
    if (document.has("layers"))
      for (const Node& node : document.at("layers").elements())
        spec_.layers.push_back(layer(node));
    else
      layers_of_modules(document.at("parameters"));
    if (parameters_ == 0)
      document.wrong("this model has no parameters, so there is nothing to synchronise");
    if (spec_.parameter_count() > k_most)
      document.wrong(fmt::format("a model of more than {} parameters", k_most));
    double multiplications = 0;
    for (const Layer& one : spec_.layers)
      for (const Product& product : one.products)
        multiplications += static_cast<double>(product.rows) * static_cast<double>(product.n) *
                           static_cast<double>(product.k) * static_cast<double>(product.count);
    if (multiplications > k_most_multiplications)
      document.wrong(fmt::format("{:.3g} multiplications per sample, more than can be counted here",
                                 multiplications));
    return std::move(spec_);
  }

private:
  Layer layer(const Node& node) {
    node.expect_object({"name", "kind", "block", "output", "experts", "experts_per_token",
                        "parameters", "products"});
    Layer made;
    made.name = node.at("name").text();
    if (node.has("kind"))
      made.kind = node.at("kind").one_of<LayerKind>("kind of layer");
    made.block = node.small_number_or("block", -1);
    made.experts = node.small_number_or("experts", 0);
    made.experts_per_token = node.small_number_or("experts_per_token", 0);
    if (node.has("parameters"))
      for (const Node& one : node.at("parameters").elements())
        add(made, parameter(one), node.has("products"));
    if (node.has("products"))
      for (const Node& one : node.at("products").elements())
        made.products.push_back(product(one));
    made.output_elements = node.number_or("output", 0, output_of(made));
    return made;
  }

  // Neighbours belong to one module if their names differ only after the last dot.
  void layers_of_modules(const Node& list) {
    for (const Node& node : list.elements()) {
      ReadParameter read = parameter(node);
      const std::string& name = read.parameter.name;
      const std::size_t dot = name.rfind('.');
      const std::string module = dot == std::string::npos ? name : name.substr(0, dot);
      if (spec_.layers.empty() || spec_.layers.back().name != module) {
        spec_.layers.emplace_back();
        spec_.layers.back().name = module;
      }
      add(spec_.layers.back(), std::move(read), false);
      spec_.layers.back().output_elements = output_of(spec_.layers.back());
    }
  }

  ReadParameter parameter(const Node& node) {
    node.expect_object({"name", "shape", "elements", "place"});
    ReadParameter read;
    read.parameter.name = node.at("name").text();
    read.parameter.place = node.number_or("place", 0, parameters_++);
    if (node.has("shape") == node.has("elements"))
      node.wrong("give either the shape of a parameter or its number of elements");
    if (node.has("elements")) {
      read.parameter.elements = node.at("elements").number(1);
      return read;
    }
    read.parameter.elements = 1;
    for (const Node& one : node.at("shape").elements()) {
      read.shape.push_back(one.number(1));
      if (read.shape.back() > k_most / read.parameter.elements)
        node.wrong(fmt::format("a parameter of more than {} elements", k_most));
      read.parameter.elements *= read.shape.back();
    }
    return read;
  }

  void add(Layer& layer, ReadParameter read, bool products_are_given) {
    if (!products_are_given && read.shape.size() == 2)
      layer.products.push_back({.rows = std::max<std::uint64_t>(spec_.sequence, 1),
                                .n = read.shape[0],
                                .k = read.shape[1]});
    layer.parameters.push_back(std::move(read.parameter));
  }

  static Product product(const Node& node) {
    node.expect_object({"rows", "n", "k", "count", "kind", "input_gradient"});
    Product made;
    made.rows = node.at("rows").number(1);
    made.n = node.at("n").number(1);
    made.k = node.at("k").number(1);
    if (node.has("count"))
      made.count = node.at("count").number(1, 1'000'000);
    if (node.has("kind"))
      made.kind = node.at("kind").one_of<Product::Kind>("kind of product");
    if (node.has("input_gradient"))
      made.input_gradient = node.at("input_gradient").flag();
    return made;
  }

  static std::uint64_t output_of(const Layer& layer) {
    return layer.products.empty() ? 0 : layer.products.back().rows * layer.products.back().n;
  }

  ModelSpec spec_;
  std::uint64_t parameters_ = 0;
};

Result<ModelSpec> read_document(const json& document, const std::string& file) {
  try {
    return Reader().read(Node(document, ""));
  } catch (const Exception& wrong) {
    return with_context(wrong.error(), file);
  }
}

json as_json(const Layer& layer) {
  json out{{"name", layer.name}, {"kind", std::string(base::to_string(layer.kind))}};
  if (layer.block >= 0)
    out["block"] = layer.block;
  if (layer.experts > 0) {
    out["experts"] = layer.experts;
    out["experts_per_token"] = layer.experts_per_token;
  }
  out["output"] = layer.output_elements;
  out["parameters"] = json::array();
  for (const Parameter& one : layer.parameters)
    out["parameters"].push_back(
        {{"name", one.name}, {"elements", one.elements}, {"place", one.place}});
  out["products"] = json::array();
  for (const Product& one : layer.products) {
    json product{{"rows", one.rows}, {"n", one.n}, {"k", one.k}};
    if (one.kind != Product::Kind::weights)
      product["kind"] = std::string(base::to_string(one.kind));
    if (one.count != 1)
      product["count"] = one.count;
    if (!one.input_gradient)
      product["input_gradient"] = false;
    out["products"].push_back(std::move(product));
  }
  return out;
}

} // namespace

Result<ModelSpec> parse_model_json(const std::string& text, const std::string& file) {
  NCCLPROBE_TRY(base::check_json_limits(text, file));
  try {
    return read_document(json::parse(text), file);
  } catch (const json::parse_error& error) {
    const auto line =
        std::count(text.begin(),
                   text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, text.size())),
                   '\n') +
        1;
    return fail(Errc::invalid_argument, "{}:{}: this is not JSON: {}", file, line, error.what());
  }
}

Result<ModelSpec> parse_model_toml(const std::string& text, const std::string& file) {
  NCCLPROBE_TRY_ASSIGN(const json document, toml_as_json(text, file));
  return read_document(document, file);
}

Result<ModelSpec> read_model_file(const std::filesystem::path& path) {
  if (path.extension() != ".json" && path.extension() != ".toml")
    return fail(Error{Errc::unsupported, path.string() + ": not a model file",
                      "they end in .json or .toml"});
  NCCLPROBE_TRY_ASSIGN(const std::string text, base::read_text(path, k_most_bytes));
  return path.extension() == ".json" ? parse_model_json(text, path.string())
                                     : parse_model_toml(text, path.string());
}

std::string write_model_json(const ModelSpec& spec) {
  // One layer a line: short enough to read, and to compare.
  std::string out = "{\n\"name\": " + json(spec.name).dump() + ",\n";
  if (spec.sequence > 0)
    out += fmt::format("\"sequence\": {},\n", spec.sequence);
  out += "\"layers\": [";
  for (std::size_t i = 0; i < spec.layers.size(); ++i)
    out += (i == 0 ? "\n" : ",\n") + as_json(spec.layers[i]).dump();
  return out + "\n]\n}\n";
}

bool is_model_file(const std::string& name_or_file) {
  const std::string ending = std::filesystem::path(name_or_file).extension();
  return ending == ".json" || ending == ".toml";
}

Result<ModelSpec> find_model(const std::string& name_or_file, const ModelOptions& options) {
  if (!is_model_file(name_or_file))
    return make_model(name_or_file, options);
  if (options.sequence > 0 || options.blocks > 0)
    return fail(Errc::invalid_argument,
                "{}: the file itself gives the sequence length and the blocks", name_or_file);
  return read_model_file(name_or_file);
}

} // namespace ncclprobe::workload
