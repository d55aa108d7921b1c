// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/stored_value.h"

#include <charconv>

namespace ncclprobe::store {

std::size_t bytes_of(Number number) {
  switch (number) {
  case Number::u8:
    return 1;
  case Number::i32:
  case Number::u32:
    return 4;
  default:
    return 8;
  }
}

std::string list_text(const std::vector<int>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

std::vector<int> parse_list(const std::string& text) {
  std::vector<int> values;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end) {
    int value = 0;
    auto [next, error] = std::from_chars(at, end, value);
    if (error != std::errc{} || (next != end && (*next != ',' || next + 1 == end)))
      raise(Errc::failed, "'{}' is not a list of ranks", text);
    values.push_back(value);
    at = next == end ? end : next + 1;
  }
  return values;
}

void Loading::charge(std::uint64_t bytes) {
  if (bytes > bytes_left_)
    raise(Errc::failed, "a record asks for more memory than such a file may");
  bytes_left_ -= bytes;
}

const std::string& Loading::text(std::uint32_t number) {
  const std::string& text = strings_->at(number);
  charge(text.size());
  return text;
}

void Loading::parse(const std::string& words, base::Readable value) {
  if (auto read = base::read_json_or_cbor(words, value); !read)
    raise(Errc::failed, "a document cannot be read: {}", read.error().text());
}

} // namespace ncclprobe::store
