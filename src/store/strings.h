// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

namespace ncclprobe::store {

// Every text once; its number is its row in /strings. Text 0 is empty.
class Strings {
public:
  Strings() { intern(""); }
  // Maps point into the texts, which a copy would not own.
  Strings(const Strings&) = delete;
  Strings& operator=(const Strings&) = delete;
  Strings(Strings&&) = default;
  Strings& operator=(Strings&&) = default;

  std::uint32_t intern(std::string_view text);
  // Appends a text of a file under its own number, even if it is not distinct.
  void append(std::string_view text);
  // Throws Exception (failed) if there is no such text.
  const std::string& at(std::uint32_t number) const;
  std::size_t size() const { return texts_.size(); }
  void clear();

private:
  std::deque<std::string> texts_; // elements stay where they are when it grows or moves
  std::unordered_map<std::string_view, std::uint32_t> numbers_;
};

} // namespace ncclprobe::store
