// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/document.h"

#include <nlohmann/json_fwd.hpp>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>

namespace ncclprobe::support {

// A reader that makes up a document: lists of none or one, values that are there or not, defaults
// or others, "SYS" (a path label) as text. The same for the same seed.
class MadeUpReader final : public base::Reader {
public:
  explicit MadeUpReader(unsigned seed) : random_(seed) {}
  bool has_names() const override { return true; }
  bool boolean() override { return flip(); }
  std::int64_t integer() override { return flip(); }
  std::uint64_t natural() override { return flip(); }
  double real() override { return flip() ? 0.5 : 0; }
  std::string text() override { return "SYS"; }
  std::uint64_t choice(std::span<const base::EnumName> names) override {
    return names[random_() % names.size()].number;
  }
  bool optional() override { return flip(); }
  std::size_t list() override { return flip(); }
  void element() override {}
  void object() override {}
  bool key(const char*, IfMissing) override { return true; }
  void end() override {}
  bool is_object() const override { return true; }

private:
  bool flip() { return random_() % 2 == 0; }
  std::mt19937 random_;
};
template <typename T>
T made_up(unsigned seed) {
  T value{};
  MadeUpReader reader(seed);
  base::read_value(reader, value);
  return value;
}

// The JSON Schema of some documents: their fields, the types of each, and which fields each
// document has. Objects in fields that are called values, or end in _values, hold anything: each
// kind of finding or reason has its own.
class JsonSchema {
public:
  void add(std::string_view json);
  // A value that a place in the documents may hold: "run/hosts/*".
  void add_at(std::string_view place, std::string_view json);
  // Whatever a value of this type may be at this place.
  template <typename T>
  void add_all(std::string_view place) {
    for (unsigned seed = 0; seed < 1000; ++seed)
      add_at(place, base::write_json(made_up<T>(seed)));
  }
  // Every text in a field of this name is one of these, or add() throws.
  template <typename Enum>
  void add_names(const std::string& field, Enum) {
    using base::enum_names; // where the type has none of its own
    for (const auto& [value, name] : enum_names(Enum{}))
      names_[field].insert(std::string(name));
  }

  // Fields in the order of their names, small objects on one line.
  std::string text(std::string_view title) const;

private:
  struct Node {
    std::set<std::string> types;
    std::size_t objects = 0;
    std::map<std::string, Node> fields;
    std::map<std::string, std::size_t> seen; // objects that have the field
    std::unique_ptr<Node> element;           // of lists that are not empty
  };
  void add(Node& node, const nlohmann::json& value);
  // What stands between the braces. `indent` < 0: on one line.
  std::string written(const Node& node, const std::string& field, int indent) const;

  Node root_;
  std::map<std::string, std::set<std::string>> names_;
};

} // namespace ncclprobe::support
