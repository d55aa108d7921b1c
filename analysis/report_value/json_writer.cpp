// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/report_value/report_writers.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace ncclprobe::analysis {
namespace {

// Rows go to the sink one by one: the whole tree of a long run would take a gigabyte.
class JsonText {
public:
  explicit JsonText(const Sink& sink) : sink_(sink) {}
  void add(const Value& value) {
    std::visit([&](const auto& held) { add_held(held); }, value.held());
  }
  void end() { sink_(out_ + "\n"); }

private:
  void add_held(std::monostate) { out_ += "null"; }
  void add_held(bool value) { out_ += value ? "true" : "false"; }
  void add_held(double value) { out_ += nlohmann::json(value).dump(); }
  template <std::integral T>
  void add_held(T value) {
    fmt::format_to(std::back_inserter(out_), "{}", value);
  }
  void add_held(const std::string& text) {
    const bool is_plain = std::all_of(text.begin(), text.end(), [](char c) {
      return c >= ' ' && c < '\x7f' && c != '"' && c != '\\';
    });
    out_ += is_plain ? "\"" + text + "\""
                     : nlohmann::json(text).dump(-1, ' ', false,
                                                 nlohmann::json::error_handler_t::replace);
  }
  void add_held(const List& list) {
    open('[');
    for (const Value& one : list) {
      next();
      add(one);
    }
    close(']');
  }
  void add_held(const Object& object) {
    open('{');
    for (const auto& [key, value] : object)
      add_field(key, value);
    close('}');
  }
  void add_held(const TablePtr& table) {
    open('[');
    for (std::size_t row = 0; row < table->rows; ++row) {
      next();
      open('{');
      for (const Column& column : table->columns)
        if (!column.key.empty())
          add_field(column.key, column.value(row));
      close('}');
    }
    close(']');
  }

  void add_field(const std::string& key, const Value& value) {
    next();
    add_held(key);
    out_ += ": ";
    add(value);
  }
  void open(char bracket) {
    out_ += bracket;
    ++depth_;
    empty_ = true;
  }
  void next() {
    if (out_.size() > k_piece_bytes) {
      sink_(out_);
      out_.clear();
    }
    out_ += empty_ ? "\n" : ",\n";
    out_.append(2 * depth_, ' ');
    empty_ = false;
  }
  void close(char bracket) {
    --depth_;
    if (!empty_) {
      out_ += '\n';
      out_.append(2 * depth_, ' ');
    }
    empty_ = false;
    out_ += bracket;
  }

  const Sink& sink_;
  std::string out_; // text that the sink does not have yet
  std::size_t depth_ = 0;
  bool empty_ = true;
};

} // namespace

void write_json(const Report& report, const Sink& sink) {
  Object all = report.data;
  List found;
  for (const Finding* one : findings(report))
    found.push_back(Object{{"id", one->kind->id},
                           {"severity", one->kind->severity},
                           {"values", one->values},
                           {"text", in_words(*one)}});
  if (!found.empty())
    all.emplace_back("findings", std::move(found));
  JsonText text(sink);
  text.add(all);
  text.end();
}

} // namespace ncclprobe::analysis
