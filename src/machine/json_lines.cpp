// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "machine/json_lines.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <iterator>
#include <vector>

namespace ncclprobe::topology {

namespace {

using nlohmann::json;

// Iterates over a text and counts the lines before the current character. A parser also reads the
// character after a number, which may end the line.
class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, std::size_t* line) : at_(at), line_(line) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    *line_ += line_ends_ ? 1 : 0;
    line_ends_ = *at_++ == '\n';
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

private:
  const char* at_;
  std::size_t* line_;
  bool line_ends_ = false; // before `at_`
};

// A parser's event handler that stops at the requested element.
class Listener final : public nlohmann::json_sax<json> {
public:
  Listener(const std::string& wanted, const std::size_t& line) : wanted_(wanted), line_(line) {}
  std::size_t found() const { return found_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return begin(false); }
  bool start_array(std::size_t) override { return begin(true); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    open_.back().key = name;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

private:
  struct Open {
    bool array = false;
    std::size_t next = 0; // of an array
    std::string key;      // of an object
    std::size_t path_size = 0;
  };

  // An element begins here; returns true to continue.
  bool value() {
    path_.resize(open_.empty() ? 0 : open_.back().path_size);
    if (!open_.empty())
      path_ += "/" + (open_.back().array ? std::to_string(open_.back().next++) : open_.back().key);
    if (wanted_ == path_ || wanted_.starts_with(path_ + "/"))
      found_ = line_;
    return wanted_ != path_;
  }
  bool begin(bool array) {
    bool go_on = value();
    open_.push_back({array, 0, {}, path_.size()});
    return go_on;
  }
  bool end() {
    open_.pop_back();
    return true;
  }

  const std::string& wanted_;
  const std::size_t& line_; // where the parser is
  std::size_t found_ = 1;
  std::string path_;
  std::vector<Open> open_;
};

} // namespace

std::size_t json_line_of(std::string_view text, const std::string& pointer) {
  std::size_t line = 1;
  Listener listener(pointer, line);
  json::sax_parse(CountingIterator(text.data(), &line),
                  CountingIterator(text.data() + text.size(), &line), &listener);
  return listener.found();
}

} // namespace ncclprobe::topology
