// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/document_limits.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace ncclprobe::base {
namespace {

tl::unexpected<Error> too_deep(const std::string& name) {
  return fail(Errc::invalid_argument, "{} is nested more than {} levels deep, which is the limit",
              name, k_most_levels);
}

tl::unexpected<Error> too_many(const std::string& name) {
  return fail(Errc::invalid_argument, "{} has more than {} values, which is the limit", name,
              k_most_values);
}

// --- TOML ---

// Iterates over a TOML text, skipping strings and comments.
class TomlWalk {
public:
  explicit TomlWalk(std::string_view text) : text_(text) {}

  // The deepest level, as far as the text is well-formed.
  std::size_t deepest() {
    while (at_ < text_.size() && deepest_ <= k_most_levels)
      step();
    return deepest_;
  }

private:
  void step() {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      return;
    }
    if (c == '"' || c == '\'') {
      skip_string(c);
      return;
    }
    ++at_;
    if (c == '.') {
      ++parts_;
      deepest_ = std::max(deepest_, levels_above_ + parts_);
    } else if (c == ',' || c == '\n') {
      parts_ = 0;
    } else if (c == '[' || c == '{') {
      parts_above_.push_back(parts_);
      levels_above_ += parts_ + 1;
      parts_ = 0;
      deepest_ = std::max(deepest_, levels_above_);
    } else if ((c == ']' || c == '}') && !parts_above_.empty()) {
      parts_ = parts_above_.back();
      levels_above_ -= parts_ + 1;
      parts_above_.pop_back();
    }
  }

  // `quote` is " or '; three of them enclose several lines, and may follow up to two of its
  // content.
  void skip_string(char quote) {
    const std::string three(3, quote);
    const bool many_lines = text_.substr(at_).starts_with(three);
    at_ += many_lines ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\' && quote == '"') {
        ++at_;
      } else if (!many_lines && (text_[at_] == quote || text_[at_] == '\n')) {
        ++at_;
        return;
      } else if (many_lines && text_.substr(at_).starts_with(three)) {
        at_ += 3;
        for (int more = 0; more < 2 && at_ < text_.size() && text_[at_] == quote; ++more)
          ++at_;
        return;
      }
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t parts_ = 0;                // dots of the key that is open here
  std::vector<std::size_t> parts_above_; // the same at the opening of each bracket
  std::size_t levels_above_ = 0;
  std::size_t deepest_ = 0;
};

// --- CBOR ---

struct CborHead {
  unsigned kind = 0; // major type
  std::uint64_t number = 0;
};

// Reads the head of the next item; nothing if it is truncated or has no length.
std::optional<CborHead> take_head(std::string_view& bytes) {
  if (bytes.empty())
    return std::nullopt;
  const auto first = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  CborHead head{static_cast<unsigned>(first >> 5), static_cast<std::uint64_t>(first & 31)};
  if (head.number < 24)
    return head;
  if (head.number > 27)
    return std::nullopt;
  const std::size_t size = std::size_t{1} << (head.number - 24);
  if (bytes.size() < size)
    return std::nullopt;
  head.number = 0;
  for (std::size_t i = 0; i < size; ++i)
    head.number = head.number << 8 | static_cast<unsigned char>(bytes[i]);
  bytes.remove_prefix(size);
  return head;
}

} // namespace

Result<void> check_json_limits(std::string_view text, const std::string& name) {
  std::size_t level = 0;
  std::size_t values = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        at += text[at] == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      ++values;
      if (++level > k_most_levels)
        return too_deep(name);
    } else if (c == ']' || c == '}') {
      level -= level > 0 ? 1 : 0;
    } else if (c == ',' && ++values > k_most_values) {
      return too_many(name);
    }
  }
  return {};
}

Result<void> check_cbor_limits(std::string_view bytes, const std::string& name) {
  enum Kind : unsigned { byte_string = 2, text_string = 3, list = 4, map = 5, tag = 6 };
  std::vector<std::uint64_t> missing{1}; // items, at each level
  std::size_t values = 0;
  while (!missing.empty()) {
    if (missing.back() == 0) {
      missing.pop_back();
      continue;
    }
    --missing.back();
    const std::optional<CborHead> head = take_head(bytes);
    if (!head || head->kind == tag)
      return fail(Errc::invalid_argument, "{} is not CBOR as ncclprobe writes it", name);
    if (++values > k_most_values)
      return too_many(name);
    if (head->kind == byte_string || head->kind == text_string) {
      if (head->number > bytes.size())
        return fail(Errc::invalid_argument, "{} ends in the middle of a text", name);
      bytes.remove_prefix(head->number);
    } else if (head->kind == list || head->kind == map) {
      if (head->number > bytes.size())
        return fail(Errc::invalid_argument, "{} claims {} values in {} bytes", name, head->number,
                    bytes.size());
      missing.push_back(head->kind == map ? 2 * head->number : head->number);
      if (missing.size() > k_most_levels)
        return too_deep(name);
    }
  }
  return {};
}

Result<void> check_toml_limits(std::string_view text, const std::string& name) {
  if (text.size() > k_most_toml_bytes)
    return fail(Errc::invalid_argument, "{} has more than {} MiB, which is the limit for TOML",
                name, k_most_toml_bytes >> 20);
  if (TomlWalk(text).deepest() > k_most_levels)
    return too_deep(name);
  return {};
}

} // namespace ncclprobe::base
