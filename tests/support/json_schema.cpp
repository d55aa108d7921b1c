// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "support/json_schema.h"

#include "base/split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace ncclprobe::support {
namespace {

constexpr std::size_t k_line = 150;

std::string as_json(const nlohmann::json& value) {
  return value.dump();
}

} // namespace

void JsonSchema::add(std::string_view json) {
  add(root_, nlohmann::json::parse(json));
}

void JsonSchema::add_at(std::string_view place, std::string_view json) {
  Node* node = &root_;
  for (std::string_view step : base::split(place, '/')) {
    if (step != "*")
      node = &node->fields.at(std::string(step));
    else if (node->element)
      node = node->element.get();
  }
  add(*node, nlohmann::json::parse(json));
}

void JsonSchema::add(Node& node, const nlohmann::json& value) {
  node.types.insert(value.is_number_integer() ? "integer" : value.type_name());
  if (value.is_object()) {
    ++node.objects;
    for (const auto& [key, field] : value.items()) {
      if (auto names = names_.find(key); names != names_.end() && field.is_string() &&
                                         !names->second.contains(field.get<std::string>()))
        base::raise(base::Errc::protocol, "\"{}\": {} is no name of it", key, field.dump());
      ++node.seen[key];
      add(node.fields[key], field);
    }
  } else if (value.is_array() && !value.empty()) {
    if (!node.element)
      node.element = std::make_unique<Node>();
    for (const auto& one : value)
      add(*node.element, one);
  }
}

std::string JsonSchema::text(std::string_view title) const {
  return fmt::format("{{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
                     " \"title\": {},\n {}}}\n",
                     as_json(title), written(root_, "", 1));
}

std::string JsonSchema::written(const Node& node, const std::string& field, int indent) const {
  std::set<std::string> types = node.types;
  if (types == std::set<std::string>{"null"})
    return ""; // no document has a value: it may be of any type
  if (types.contains("number"))
    types.erase("integer"); // an integer is a number, too
  // In another run a figure or a list may be unknown, even if every example knows it.
  if (types.contains("number") || types.contains("array"))
    types.insert("null");
  std::string out = "\"type\": " + (types.size() == 1 ? as_json(*types.begin()) : as_json(types));
  if (auto names = names_.find(field); names != names_.end() && types.contains("string")) {
    nlohmann::json all = names->second;
    if (types.contains("null"))
      all.push_back(nullptr);
    out += ", \"enum\": " + as_json(all);
  }
  const bool is_free = field == "values" || field.ends_with("_values");
  if (node.element)
    out += ", \"items\": {" + written(*node.element, is_free ? "" : field, indent) + "}";
  if (node.fields.empty() || is_free)
    return out;

  std::vector<std::string> required;
  for (const auto& [key, count] : node.seen)
    if (count == node.objects)
      required.push_back(key);
  out += ", \"required\": " + as_json(required) + ", \"properties\": {";
  std::vector<std::string> fields;
  for (const auto& [key, one] : node.fields)
    fields.push_back(fmt::format("{}: {{{}}}", as_json(key), written(one, key, -1)));
  if (const std::string line = fmt::format("{}{}}}", out, fmt::join(fields, ", "));
      indent < 0 || line.size() <= k_line)
    return line;
  fields.clear();
  for (const auto& [key, one] : node.fields)
    fields.push_back(fmt::format("\n{:{}}{}: {{{}}}", "", indent + 1, as_json(key),
                                 written(one, key, indent + 1)));
  return fmt::format("{}{}}}", out, fmt::join(fields, ","));
}

} // namespace ncclprobe::support
