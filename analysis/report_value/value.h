// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/statistics/inference.h"
#include "base/described.h"
#include "base/enum_names.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// A value in a report: a number, a text, a list, an object or a table.
namespace ncclprobe::analysis {

struct Table;
using TablePtr = std::shared_ptr<const Table>;
class Value;
using List = std::vector<Value>;
using Object = std::vector<std::pair<std::string, Value>>; // in the order in which they are written

// The value of a field. Made from the standard library's numbers and texts, and from enumerations
// with names; an absent optional is null. A table is the list of its rows.
class Value {
public:
  using Held = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string,
                            List, Object, TablePtr>;

  Value() = default;
  template <typename T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, Value>)
      Value(T&& value); // NOLINT(google-explicit-constructor): values are written in lists
  Value(std::nullptr_t) {}

  const Held& held() const { return held_; }
  bool is_null() const { return held_.index() == 0; }
  friend bool operator==(const Value&, const Value&) = default;

private:
  Held held_;
};

// Six digits: logarithms, t distributions and others differ in their last digits between machines.
double six_digits(double value);
std::optional<double> six_digits(const std::optional<double>& value);
// [low, high] in units of `unit`, with six digits; null if absent.
Value interval_value(const std::optional<Interval>& interval, double unit = 1);

// Any value that describes its fields (base/described.h), with sorted keys.
class ValueWriter final : public base::Writer {
public:
  bool has_names() const override { return true; }
  void boolean(bool value) override { put(value); }
  void integer(std::int64_t value) override { put(value); }
  void natural(std::uint64_t value) override { put(value); }
  void real(double value) override { put(value); }
  void text(std::string_view value) override { put(value); }
  void choice(std::uint64_t, std::string_view name) override { put(name); }
  void optional(bool present) override {
    if (!present)
      put(nullptr);
  }
  void list(std::size_t) override { open_.push_back({List{}, key_}); }
  void object() override { open_.push_back({Object{}, key_}); }
  void key(const char* name) override { key_ = name; }
  void end() override;
  Value take() { return std::move(root_); }

private:
  struct Open {
    std::variant<List, Object> what;
    const char* key;
  };
  void put(Value value);

  Value root_;
  std::vector<Open> open_;
  const char* key_ = "";
};
template <typename T>
Value described(const T& value) {
  ValueWriter writer;
  write_value(writer, value);
  return writer.take();
}

// For a type with fields; then `more`.
template <typename T>
Object described_with(const T& value, Object more) {
  Object all = std::get<Object>(described(value).held());
  std::move(more.begin(), more.end(), std::back_inserter(all));
  return all;
}

template <typename T>
requires(!std::is_same_v<std::remove_cvref_t<T>, Value>) Value::Value(T&& value) {
  using Plain = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<Plain, bool>)
    held_ = value;
  else if constexpr (std::is_enum_v<Plain>)
    held_ = std::string(base::to_string(value));
  else if constexpr (std::is_floating_point_v<Plain>)
    held_ = static_cast<double>(value);
  else if constexpr (std::is_unsigned_v<Plain>)
    held_ = static_cast<std::uint64_t>(value);
  else if constexpr (std::is_integral_v<Plain>)
    held_ = static_cast<std::int64_t>(value);
  else if constexpr (std::is_same_v<Plain, TablePtr> || std::is_same_v<Plain, List> ||
                     std::is_same_v<Plain, Object>)
    held_ = std::forward<T>(value);
  else if constexpr (std::is_convertible_v<Plain, std::string_view>)
    held_ = std::string(std::string_view(value));
  else if constexpr (std::is_same_v<Plain, Interval>)
    *this = interval_value(value);
  else if constexpr (base::Described<Plain> || base::WrittenAs<Plain>)
    *this = described(value);
  else if constexpr (requires { value.has_value(); })
    *this = value.has_value() ? Value(*value) : Value();
  else if constexpr (base::Described<Plain> || base::WrittenAs<Plain>)
    *this = described(value);
  else {
    List list;
    for (const auto& one : value)
      list.emplace_back(one);
    held_ = std::move(list);
  }
}

} // namespace ncclprobe::analysis
