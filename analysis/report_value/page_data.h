// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/report_value/report_writers.h"

#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

namespace ncclprobe::analysis {

// The page's data: one line of JSON that is also safe within an element of HTML.
class PageData {
public:
  explicit PageData(const Sink& sink) : sink_(sink) {}
  ~PageData() { sink_(out_); }
  PageData(const PageData&) = delete;
  PageData& operator=(const PageData&) = delete;

  PageData& open(char bracket) {
    separate();
    out_ += bracket;
    is_first_ = true;
    return *this;
  }
  PageData& close(char bracket) {
    out_ += bracket;
    is_first_ = false;
    return *this;
  }
  PageData& key(std::string_view name) {
    separate();
    put(name);
    out_ += ':';
    is_first_ = true;
    return *this;
  }
  PageData& add(const std::convertible_to<std::string_view> auto& text) {
    separate();
    put(std::string_view(text));
    return *this;
  }
  PageData& add(const Value& value) {
    separate();
    std::visit([&](const auto& held) { put(held); }, value.held());
    return *this;
  }
  template <typename T>
  PageData& field(std::string_view name, const T& value) {
    return key(name).add(value);
  }

private:
  void separate() {
    if (!is_first_)
      out_ += ',';
    is_first_ = false;
    if (out_.size() > k_piece_bytes) {
      sink_(out_);
      out_.clear();
    }
  }
  void put(std::string_view text);
  void put(const std::string& text) { put(std::string_view(text)); }
  void put(std::monostate) { out_ += "null"; }
  void put(bool value) { out_ += value ? "true" : "false"; }
  void put(double value) {
    out_ += std::isfinite(value) ? fmt::format("{:.{}g}", value, digits_) : "null";
  }
  template <std::integral T>
  void put(T value) {
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  // Lists are intervals, and the processes' dots, which are most of a large page: fewer digits do.
  void put(const List& list) {
    out_ += '[';
    is_first_ = true;
    digits_ = k_digits_in_lists;
    for (const Value& one : list)
      add(one);
    digits_ = k_digits;
    close(']');
  }
  void put(const Object&) { put(std::monostate()); } // no cell shows one
  void put(const TablePtr&) { put(std::monostate()); }

  static constexpr int k_digits = 6;
  static constexpr int k_digits_in_lists = 5;

  const Sink& sink_;
  std::string out_;
  int digits_ = k_digits;
  bool is_first_ = true;
};

} // namespace ncclprobe::analysis
